"""Trees from a parser: a Stanza pipeline or a spaCy one, on raw text or on words already split."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headwidgets.errors import Cancelled, InputError, UnsupportedError
from headwidgets.jobs import blocking
from headwidgets.text.encoding import Segment, segments_of
from headwidgets.text.examples import as_texts
from headwidgets.text.surface import split_surface
from headwidgets.text.treebank import Sentence, Treebank, Word
from headwidgets.text.words import join_words

_CHUNK = 64
"""Texts that a pipeline gets at a time; between two of them it can be stopped."""
_NO_PARSER = "has no parser, so that its words have no heads"
_INSTALL = "pip install 'headwidgets[parse]'"


@blocking
def parse(
    texts: Any,
    pipeline: Any,
    *,
    name: str = "",
    on_progress: Callable[[int, int], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Treebank:
    """Parse texts.

    A raw text is split into sentences and words by the pipeline. Words already split are one sentence, and stay as
    they are: the pipeline's own tokenizer is not asked.

    Args:
        texts: A text, a list of texts, or a `datasets.Dataset`; words are a list of str inside the list.
        pipeline: A ``stanza.Pipeline`` with ``depparse``, or a spaCy ``nlp`` with a parser.
        name: Of the treebank; by default it says which pipeline parsed it.
        on_progress: Gets texts done and texts in all.
        cancel: Says whether to stop.

    Raises:
        InputError: an empty text, a pair, or a pipeline without a parser.
        UnsupportedError: another kind of pipeline.
        Cancelled: told to stop.
    """
    read, told = _reader(pipeline)
    segments: list[Segment] = []
    for i, text in enumerate(as_texts(texts)):
        if isinstance(text, tuple):
            raise InputError(f"text {i} is a pair, but a parser reads one text at a time: give its parts one by one")
        segment = segments_of(text, f"text {i}")[0]
        if isinstance(segment, list):
            empty = next((k for k, word in enumerate(segment) if not word.strip()), None)
            if empty is not None:
                raise InputError(f"text {i}: word {empty} is empty: expected words with at least one character")
        segments.append(segment)
    found: list[Sentence] = []
    for start in range(0, len(segments), _CHUNK):
        if cancel is not None and cancel():
            raise Cancelled("parsing was cancelled")
        for i, sentences in enumerate(read(segments[start : start + _CHUNK]), start=start):
            for number, (words, text, tokens) in enumerate(sentences):
                label = f"text {i}" if isinstance(segments[i], list) else f"text {i}, sentence {number}"
                found.append(Sentence(words, text, label, f"text {i}", tokens=tokens))
        if on_progress is not None:
            on_progress(min(start + _CHUNK, len(segments)), len(segments))
    if not found:
        raise InputError(f"expected texts with at least one sentence, but {told} found none")
    return Treebank(tuple(found), name or f"parsed by {told}", (f"The trees were made by a parser ({told}).",))


Parsed = tuple[tuple[Word, ...], str, tuple[tuple[int, int], ...]]
"""Words, text and multiword tokens of a sentence."""


def _reader(pipeline: Any) -> tuple[Callable[[Sequence[Segment]], Iterator[list[Parsed]]], str]:
    """What parses a chunk of texts, and how the pipeline is called."""
    homes = {base.__module__.split(".")[0] for base in type(pipeline).__mro__}
    if "stanza" in homes and hasattr(pipeline, "processors"):
        if "depparse" not in pipeline.processors:
            raise InputError(
                f"the Stanza pipeline ({', '.join(pipeline.processors) or 'empty'}) {_NO_PARSER}: make it with "
                'processors="tokenize,mwt,pos,lemma,depparse"'
            )
        return lambda segments: _stanza(pipeline, segments), f"Stanza, {pipeline.lang}"
    if "spacy" in homes and hasattr(pipeline, "pipe_names"):
        meta = pipeline.meta
        told = f"spaCy, {meta.get('lang', '')}_{meta.get('name', '')} {meta.get('version', '')}".strip()
        return lambda segments: _spacy(pipeline, segments), told
    raise UnsupportedError(
        f"expected a Stanza pipeline or a spaCy nlp, got {type(pipeline).__name__}: make one with stanza.Pipeline, "
        "spacy.load or hw.probing.load_stanza"
    )


def _or_none(value: Any) -> str:
    return str(value) if value else "_"


def _tidy(words: Sequence[Word], text: str, ranges: Sequence[tuple[int, int]] = ()) -> Parsed | None:
    """A sentence without words that are white space only; some pipelines make them part of the tree.

    What hung on such a word hangs on the word above it. None where no word is left.
    """
    kept = [i for i, word in enumerate(words) if word.form.strip()]
    if not kept:
        return None
    place = {i: k for k, i in enumerate(kept)}
    heads: list[int] = []
    for i in kept:
        head = words[i].head
        while head is not None and head >= 0 and head not in place:
            head = words[head].head
        heads.append(-1 if head is None or head < 0 else place[head])
    root = next((k for k, i in enumerate(kept) if words[i].head == -1), heads.index(-1))
    start, end = words[kept[0]].span[0], words[kept[-1]].span[1]
    found = []
    for k, i in enumerate(kept):
        word = words[i]
        hung = heads[k] == -1 and k != root  # the root was white space
        label = "root" if k == root else "dep" if hung else word.relation
        span = (word.span[0] - start, word.span[1] - start)
        found.append(replace(word, head=root if hung else heads[k], relation=label, span=span))
    tokens = tuple((place[a], place[a] + b - a) for a, b in ranges if all(i in place for i in range(a, b)))
    return tuple(found), text[start:end], tokens


# ---- Stanza -----------------------------------------------------------------------------------------------


def _stanza(pipeline: Any, segments: Sequence[Segment]) -> Iterator[list[Parsed]]:
    """Raw texts and words in one go each; the sentences of each text, in order."""
    raw = [segment for segment in segments if isinstance(segment, str)]
    given = [segment for segment in segments if isinstance(segment, list)]
    if raw and pipeline.config.get("tokenize_pretokenized"):
        raise InputError(
            "the Stanza pipeline takes words already split (tokenize_pretokenized=True), but the texts are not: give "
            "lists of words, or a pipeline with a tokenizer"
        )
    texts = iter(pipeline.bulk_process(raw) if raw else ())
    split = iter(_of_words(pipeline, given) if given else ())
    for segment in segments:
        if isinstance(segment, str):
            yield [found for sentence in next(texts).sentences if (found := _stanza_sentence(sentence, segment))]
        else:
            text, spans = join_words(segment)
            yield [(_from_stanza(next(split).words, spans), text, ())]


def _of_words(pipeline: Any, given: list[list[str]]) -> list[Any]:
    """Stanza's sentences for words already split, without its tokenizer."""
    from stanza.models.common.doc import Document

    rows = [[{"id": (i,), "text": word} for i, word in enumerate(words, start=1)] for words in given]
    document = Document(rows, text=" ".join(" ".join(words) for words in given))
    wanted = [name for name in pipeline.processors if name not in ("tokenize", "mwt")]
    return list(pipeline.process(document, processors=wanted).sentences)


def _stanza_sentence(sentence: Any, source: str) -> Parsed | None:
    start = sentence.tokens[0].start_char
    text = source[start : sentence.tokens[-1].end_char]
    spans: list[tuple[int, int]] = []
    ranges: list[tuple[int, int]] = []
    for token in sentence.tokens:
        begin, end = token.start_char - start, token.end_char - start
        if len(token.words) > 1:
            ranges.append((len(spans), len(spans) + len(token.words)))
            spans += split_surface(text[begin:end], [word.text for word in token.words], begin)
        else:
            spans.append((begin, end))
    return _tidy(_from_stanza(sentence.words, spans), text, ranges)


def _from_stanza(words: Sequence[Any], spans: Sequence[tuple[int, int]]) -> tuple[Word, ...]:
    return tuple(
        Word(
            str(word.text),
            _or_none(word.upos),
            int(word.head) - 1,
            _or_none(word.deprel),
            span,
            _or_none(word.lemma),
            _or_none(word.xpos),
            _or_none(word.feats),
        )
        for word, span in zip(words, spans, strict=True)
    )


def load_stanza(language: str = "en", folder: str | Path | None = None, *, words: bool = False) -> Any:
    """A Stanza pipeline from models on this machine; the network is not asked.

    Args:
        language: Stanza's code of the language.
        folder: Where the models are; by default where Stanza puts them.
        words: Make it for words already split; then no tokenizer is needed.

    Returns:
        A ``stanza.Pipeline`` with part of speech and dependencies, with lemmas where there is a model for them.

    Raises:
        UnsupportedError: Stanza is not installed.
        InputError: a model is missing; the message has the line that gets it.
    """
    try:
        import stanza
        from stanza.resources.common import DEFAULT_MODEL_DIR
    except ImportError:
        raise UnsupportedError(f"Stanza is not installed: {_INSTALL}") from None
    if not isinstance(language, str) or not (folder is None or isinstance(folder, (str, Path))):
        raise InputError(f"expected a language such as 'en', and a folder as a path; got {language!r} and {folder!r}")
    place = Path(DEFAULT_MODEL_DIR if folder is None else folder)
    where = "" if folder is None else f", model_dir={str(folder)!r}"
    line = f"""python -c "import stanza; stanza.download({language!r}{where})\""""
    names = ("tokenize", "mwt", "pos", "lemma", "depparse")
    there = {name for name in names if any((place / language / name).glob("*.pt"))}
    needed = {"pos", "depparse"} if words else {"tokenize", "pos", "depparse"}
    missing = sorted(needed - there) if (place / "resources.json").is_file() else sorted(needed)
    if missing:
        hint = " (words already split need no tokenizer: words=True)" if missing == ["tokenize"] else ""
        raise InputError(
            f"{place} has no Stanza model of {language!r} for {' and '.join(missing)}{hint}. This line gets it: {line}"
        )
    options: dict[str, Any] = {} if "lemma" in there else {"lemma_use_identity": True}
    if words:
        options["tokenize_pretokenized"] = True
    processors = [n for n in names if n in there | {"tokenize", "lemma"} and not (words and n == "mwt")]
    try:
        return stanza.Pipeline(
            language, dir=str(place), processors=",".join(processors), download_method=None, verbose=False, **options
        )
    except (OSError, KeyError, ValueError) as error:
        raise InputError(
            f"the Stanza models in {place} cannot be loaded ({error}). This line gets them: {line}"
        ) from None


# ---- spaCy ------------------------------------------------------------------------------------------------


def _spacy(nlp: Any, segments: Sequence[Segment]) -> Iterator[list[Parsed]]:
    from spacy.tokens import Doc

    docs = []
    for segment in segments:
        if isinstance(segment, str):
            docs.append(nlp.make_doc(segment))
        else:  # one sentence, whatever the parser would say
            starts = [True, *[False] * (len(segment) - 1)]
            docs.append(Doc(nlp.vocab, words=segment, sent_starts=starts))
    for segment, doc in zip(segments, nlp.pipe(docs), strict=True):
        if not doc.has_annotation("DEP"):
            raise InputError(
                f"the spaCy pipeline ({', '.join(nlp.pipe_names) or 'empty'}) {_NO_PARSER}: load one with a parser, "
                "and do not disable it"
            )
        if isinstance(segment, list):
            text, spans = join_words(segment)
            yield [(_from_spacy(list(doc), spans), text, ())]
        else:
            yield [found for sent in doc.sents if (found := _spacy_sentence(sent, segment))]


def _spacy_sentence(sent: Any, source: str) -> Parsed | None:
    tokens = list(sent)
    start = tokens[0].idx
    spans = [(token.idx - start, token.idx + len(token) - start) for token in tokens]
    return _tidy(_from_spacy(tokens, spans), source[start : start + spans[-1][1]])


def _from_spacy(tokens: Sequence[Any], spans: Sequence[tuple[int, int]]) -> tuple[Word, ...]:
    first = tokens[0].i
    return tuple(
        Word(
            token.text,
            _or_none(token.pos_),
            -1 if token.head.i == token.i else token.head.i - first,
            "root" if token.head.i == token.i else _or_none(token.dep_),
            span,
            _or_none(token.lemma_),
            _or_none(token.tag_),
            _or_none(str(token.morph)),
        )
        for token, span in zip(tokens, spans, strict=True)
    )
