"""Small CoNLL-U texts, written by hand."""

Row = list[str]


def row(number, form, head="_", relation="_", misc="_", upos="X", lemma="_") -> str:
    return "\t".join([str(number), form, lemma, upos, "_", "_", str(head), relation, "_", misc])


def sentence(*rows: str, comments: tuple[str, ...] = ()) -> str:
    return "\n".join([*comments, *rows, "", ""])


CATS = sentence(
    row(1, "The", 2, "det", upos="DET"),
    row(2, "cats", 3, "nsubj", upos="NOUN", lemma="cat"),
    row(3, "sleep", 0, "root", "SpaceAfter=No", upos="VERB", lemma="sleep"),
    row(4, ".", 3, "punct", upos="PUNCT"),
    comments=("# newdoc id = d1", "# sent_id = s1", "# speaker = Ann", "# text = The cats sleep."),
)

MULTIWORD = sentence(
    row(1, "I", 4, "nsubj"),
    row("2-3", "don't", misc="Typo=No"),
    row(2, "do", 4, "aux"),
    row(3, "n't", 4, "advmod"),
    row(4, "go", 0, "root"),
    row("4.1", "gone"),
    row("5-6", "au", misc="SpaceAfter=No"),
    row(5, "à", 7, "case"),
    row(6, "le", 7, "det"),
    row(7, "lit", 4, "obl"),
    comments=("# sent_id = s2",),
)

CONTINUOUS = sentence(
    row(1, "我", 2, "nsubj", "SpaceAfter=No"),
    row(2, "爱", 0, "root", "SpaceAfter=No"),
    row(3, "北京", 2, "obj", "SpaceAfter=No"),
    row(4, "。", 2, "punct", "SpaceAfter=No"),
    comments=("# text = 我爱北京。",),
)


def mentions(*misc: str, heads: tuple[int, ...] | None = None, declared: str = "eid-etype-head-other") -> str:
    """A sentence of words w1, w2, ...; every word hangs on the first unless `heads` says more."""
    heads = heads or (0, *[1] * (len(misc) - 1))
    rows = [row(i, f"w{i}", head, "dep", own or "_") for i, (own, head) in enumerate(zip(misc, heads, strict=True), 1)]
    first = (f"# global.Entity = {declared}",) if declared else ()
    return sentence(*rows, comments=("# newdoc id = d", *first))
