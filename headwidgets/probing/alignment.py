"""Which head of a translator's cross-attention aligns words? Against alignments that somebody gives."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from headwidgets.errors import InputError, UnsupportedError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.probing.adapting import adapted
from headwidgets.probing.linking.examples import Link, LinkExample
from headwidgets.probing.linking.guesses import checked_baselines
from headwidgets.probing.linking.result import Links
from headwidgets.probing.links import links
from headwidgets.text.reading import contents
from headwidgets.text.words import Span, join_words

Alignment = list[tuple[int, int]]
"""Pairs of a source word and a target word, counted from 0."""
RELATION = "aligned"
_PAIR = re.compile(r"(\d+)([-?p])(\d+)")


def read_alignments(path: Any, *, possible: bool = False) -> list[Alignment]:
    """Alignments of a file in Pharaoh's form, a sentence pair a line: ``0-0 1-2 2?1``; empty lines have none.

    Args:
        path: Of the file.
        possible: Keep links that are only possible (written with ``?`` or ``p``), else those that are sure.

    Raises:
        InputError: a file that is not of this form; the message names the line.
    """
    text, file = contents(path, "a file of alignments"), Path(path)
    return [
        _parsed(line, f"{file.name}, line {n}", possible)
        for n, line in enumerate(text.removesuffix("\n").split("\n"), start=1)
    ]


def _parsed(line: str, where: str, possible: bool) -> Alignment:
    found = []
    for item in line.split():
        match = _PAIR.fullmatch(item)
        if match is None:
            raise InputError(f"{where}: expected pairs such as 0-0, source word and target word, got {item!r}")
        if match[2] == "-" or possible:
            found.append((int(match[1]), int(match[3])))
    return found


def alignment_examples(
    pairs: Iterable[Any], alignments: Iterable[Any], *, relations: Iterable[Sequence[str]] | None = None
) -> list[LinkExample]:
    """A link from every aligned target word to the source words that it is aligned with.

    Args:
        pairs: Tuples of source and target, each a text or a list of words. Words of a text are what spaces part, as in
            the files of aligners.
        alignments: Per pair, tuples of a source word and a target word, counted from 0; or a line in Pharaoh's form.
        relations: Per pair and target word the row that its link counts in (its part of speech, say); ``aligned`` for
            all by default.

    Raises:
        InputError: not as many alignments as pairs, or words that are not there.
    """
    listed, lines = _listed(pairs, "pairs"), _listed(alignments, "alignments")
    rows = None if relations is None else _listed(relations, "relations")
    if len(listed) != len(lines) or (rows is not None and len(rows) != len(listed)):
        raise InputError(f"expected an alignment for every pair: there are {len(listed)} pairs and {len(lines)}")
    found = []
    for number, (pair, given) in enumerate(zip(listed, lines, strict=True)):
        where = f"pair {number}"
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InputError(f"{where}: expected a tuple of source and target, got {type(pair).__name__}")
        (source, source_text, source_spans), (target, target_text, target_spans) = map(_words, pair)
        if rows is not None and (not isinstance(rows[number], Sequence) or len(rows[number]) != len(target)):
            raise InputError(f"{where}: expected a relation for each of its {len(target)} target words")
        aligned = _parsed(given, where, True) if isinstance(given, str) else _checked(given, where)
        by_target: dict[int, set[int]] = {}
        for s, t in aligned:
            if s >= len(source) or t >= len(target):
                raise InputError(
                    f"{where}: {s}-{t} is no pair of words: the source has {len(source)}, the target {len(target)}, "
                    "counted from 0"
                )
            by_target.setdefault(t, set()).add(s)
        against = LinkExample(source, (), source_text, source_spans)
        made = tuple(
            Link(RELATION if rows is None else str(rows[number][t]), t, own) for t, own in sorted(by_target.items())
        )
        found.append(LinkExample(target, made, target_text, target_spans, against=against, name=where))
    return found


def _listed(given: Any, what: str) -> list[Any]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InputError(f"expected {what} as a list, one for each pair of texts, got {type(given).__name__}")
    return list(given)


def _words(text: Any) -> tuple[tuple[str, ...], str, tuple[Span, ...]]:
    if isinstance(text, str):
        spans = tuple(match.span() for match in re.finditer(r"\S+", text))
        return tuple(text[a:b] for a, b in spans), text, spans
    words = tuple(text)
    joined, placed = join_words(words)
    return words, joined, tuple(placed)


def _checked(given: Any, where: str) -> Alignment:
    try:
        found = [(int(s), int(t)) for s, t in given]
        if any(s < 0 or t < 0 for s, t in found) or any(int(place) != place for pair in given for place in pair):
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(
            f"{where}: expected an alignment as pairs of whole numbers (source word, target word) from 0 on, or a line "
            f"such as '0-0 1-2', got {given!r}"
        ) from None
    return found


@blocking
def alignment(
    model: HeadModel,
    pairs: Any,
    alignments: Any,
    *,
    choose: tuple[Any, Any] | None = None,
    relations: Any = None,
    written: bool = True,
    name: str = "word alignment",
    on_progress: Progress | None = None,
    cancel: Cancel | None = None,
    **options: Any,
) -> Links:
    """How often every head of cross-attention looks from a target word most to a source word that it is aligned with.

    The target is given to the decoder, not generated.

    Args:
        model: A HeadModel of an encoder-decoder.
        pairs: See `alignment_examples`; figures are reported on these.
        alignments: See `alignment_examples`.
        choose: Pairs and alignments on which the best head is chosen; half of `pairs` by default.
        relations: See `alignment_examples`.
        written: Ask the rows at which the decoder writes a word, else those at which it reads it, one token later.
        name: For titles.
        on_progress: Called with pairs done and pairs in all.
        cancel: Says whether to stop.
        options: Of `headwidgets.probing.links`: ``random=``, ``seed=``, ``arcs=`` ...

    Returns:
        What `headwidgets.probing.links` returns.

    Raises:
        InputError: pairs and alignments that do not fit each other.
        UnsupportedError: a model without cross-attention.
        Cancelled: told to stop.
    """
    expect_model(model)
    if "cross" not in model.kinds:
        raise UnsupportedError(
            f"{type(model.model).__name__} has no cross-attention: word alignment is measured on encoder-decoders"
        )
    if choose is not None and (not isinstance(choose, (tuple, list)) or len(choose) != 2):
        raise InputError("expected choose= as (pairs, alignments), other texts to choose the best head on")
    baselines = {
        "same place": same_place,
        "same string": same_string,
        **checked_baselines(options.pop("baselines", None)),
    }
    found = links(
        model,
        alignment_examples(pairs, alignments, relations=relations),
        choose=None if choose is None else alignment_examples(*choose),
        directions=options.pop("directions", ("forward",)),
        labels=options.pop("labels", {"forward": "target to source"}),
        baselines=baselines,
        total=options.pop("total", RELATION),
        written=written,
        name=name,
        on_progress=on_progress,
        cancel=cancel,
        **options,
    )
    return adapted(found, "alignment", written=bool(written))


def same_place(example: LinkExample, link: Link) -> int | None:
    """The source word at the same share of the sentence."""
    other = len(example.against.words) if example.against else 0
    return min(other - 1, round((link.source[0] + 0.5) / len(example.words) * other - 0.5)) if other else None


def same_string(example: LinkExample, link: Link) -> int | None:
    """The nearest source word written alike (names, numbers, punctuation); where there is none, `same_place`."""
    place = same_place(example, link)
    if example.against is None or place is None:
        return None
    own = example.words[link.source[0]].casefold()
    alike = [i for i, word in enumerate(example.against.words) if word.casefold() == own]
    return min(alike, key=lambda i: abs(i - place), default=place)
