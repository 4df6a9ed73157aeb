"""Which head links the two entities of a relation? For relation extraction data, entities marked in the text."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.probing.adapting import adapted
from headwidgets.probing.linking.examples import Direction, Link, LinkExample
from headwidgets.probing.linking.result import Links
from headwidgets.probing.links import links
from headwidgets.text.reading import contents
from headwidgets.text.treebank import Treebank
from headwidgets.text.words import Span, word_spans

Marked = tuple[str, str]
"""A text with ``<e1>...</e1>`` and ``<e2>...</e2>``, and the label of the relation, such as ``Cause-Effect(e2,e1)``."""

ENTITIES = re.compile(r"<(e[12])>(.*?)</\1>", re.DOTALL)
_LABEL = re.compile(r"(?P<name>.+)\((?P<order>e1,e2|e2,e1)\)")
_TAG = re.compile(r"</?e[12]>")
REVERSED = ", reversed"
"""Added to the label of a relation that is asked from its second entity to its first."""


def read_relations(path: Any, *paths: Any) -> list[Marked]:
    """Texts and labels of files in the form of SemEval-2010 Task 8 (Hendrickx et al. 2010), also ``.gz``.

    Each example is a line of number, tab and quoted text, a line with the label, a comment and an empty line.

    Raises:
        InputError: a file that is not of this form; the message names the line.
    """
    return [one for file in (path, *paths) for one in _read(file)]


def _read(given: Any) -> list[Marked]:
    text = contents(given, "a file of relations")
    path = Path(given)
    lines = text.replace("\r\n", "\n").split("\n")
    found: list[Marked] = []
    at = 0
    while at < len(lines):
        number, tab, sentence = lines[at].partition("\t")
        if not lines[at].strip() or lines[at].startswith("Comment:"):
            at += 1
            continue
        if not tab or not number.strip().isdecimal():
            raise InputError(
                f"{path.name}, line {at + 1}: expected a number, a tab and a text with <e1>...</e1> and "
                f"<e2>...</e2>, got {lines[at][:60]!r}"
            )
        sentence = sentence.strip()
        if len(sentence) > 1 and sentence[0] == sentence[-1] == '"':
            sentence = sentence[1:-1]
        label = lines[at + 1].strip() if at + 1 < len(lines) else ""
        if not label or "\t" in label:
            raise InputError(f"{path.name}, line {at + 2}: expected the label of the text above, got {label[:60]!r}")
        unmarked(sentence, where=f"{path.name}, line {at + 1}")
        found.append((sentence, label))
        at += 2
    if not found:
        raise InputError(f"{path.name} has no example")
    return found


def unmarked(text: str, marks: tuple[str, str] | None = None, where: str = "the text") -> tuple[str, dict[str, Span]]:
    """The text without its tags, and where its entities stand.

    Args:
        text: With ``<e1>...</e1>`` and ``<e2>...</e2>``.
        marks: Signs put around the first and the second entity in place of the tags, with spaces, as the classifier
            that reads them was trained with: ``("$", "#")`` makes ``The $ engine $ of the # car #.``
        where: How to call the text in an error.

    Returns:
        The text, and by ``e1`` and ``e2`` start and end of the characters.

    Raises:
        InputError: not one of each entity, an empty one, or one inside the other.
    """
    if not isinstance(text, str):
        raise InputError(f"{where}: expected a text (str) with marked entities, got {type(text).__name__}")
    marks = _checked_marks(marks)
    made, spans, last = "", dict[str, Span](), 0
    for match in ENTITIES.finditer(text):
        name, words = match[1], match[2].strip()
        made += text[last : match.start()]
        if name in spans or not words or _TAG.search(words):
            break
        sign = marks[int(name[1]) - 1] if marks else ""
        if sign:
            made = f"{made.rstrip()} {sign} ".lstrip()
        spans[name] = (len(made), len(made) + len(words))
        made += words
        last = match.end()
        if sign:
            made += f" {sign} "
            last += len(text[last:]) - len(text[last:].lstrip())
    made += text[last:]
    if len(spans) != 2 or _TAG.search(made):
        raise InputError(
            f"{where}: expected one <e1>...</e1> and one <e2>...</e2>, each around words, got {text[:80]!r}"
        )
    return made.rstrip(), spans


def relation_examples(
    data: Iterable[Marked], *, directed: bool = True, marks: tuple[str, str] | None = None
) -> list[LinkExample]:
    """A link between the two entities of every text.

    Args:
        data: Texts with marked entities, and labels.
        directed: The label with its direction is the relation, and the link goes from the first entity to the second.
            Else labels that differ in direction only are one relation, and the link goes from its first argument
            (the cause, say) to its second, wherever they stand.
        marks: Signs around the entities, see `unmarked`; they can be neither chosen nor right. Since candidates are
            given then, each link is asked from its second entity too, as a relation of its own.

    Raises:
        InputError: a text without its two entities.
    """
    marks = _checked_marks(marks)
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        raise InputError(
            f"expected pairs of a text with marked entities and its label, got {type(data).__name__}; "
            "hw.probing.read_relations(path) reads a file of them"
        )
    found = []
    for number, one in enumerate(data):
        if not isinstance(one, (tuple, list)) or len(one) != 2 or not all(isinstance(part, str) for part in one):
            raise InputError(f"expected a text with marked entities and its label, got {one!r} at {number}")
        found.append(_example(one[0], one[1], directed, marks, f"text {number}"))
    return found


def _checked_marks(marks: Any) -> tuple[str, str] | None:
    if marks is None:
        return None
    fits = isinstance(marks, (tuple, list)) and len(marks) == 2
    if not fits or not all(isinstance(m, str) and m.strip() == m and m for m in marks):
        raise InputError(f'expected marks as two signs, such as ("$", "#"), got {marks!r}')
    return marks[0], marks[1]


def _example(marked: str, label: str, directed: bool, marks: tuple[str, str] | None, name: str) -> LinkExample:
    text, entities = unmarked(marked, marks, name)
    spans = word_spans(text)

    def touched(span: Span) -> list[int]:
        return [i for i, (start, end) in enumerate(spans) if start < span[1] and end > span[0]]

    first, second = touched(entities["e1"]), touched(entities["e2"])
    if not first or not second or set(first) & set(second):
        raise InputError(f"{name}: expected two entities with words of their own, got {marked[:80]!r}")
    told = _LABEL.fullmatch(label)
    if told and not directed:
        label = told["name"]
        if told["order"] == "e2,e1":
            first, second = second, first
    made = [Link(label, first, second)]
    if marks is not None:
        signs = {i for i, (start, end) in enumerate(spans) if text[start:end] in marks} - {*first, *second}
        usual = set(range(len(spans))) - signs
        made = [
            Link(label, first, second, usual - set(first)),
            Link(label + REVERSED, second, first, usual - set(second)),
        ]
    return LinkExample(tuple(text[a:b] for a, b in spans), tuple(made), text, tuple(spans), name=name)


@blocking
def relations(
    model: HeadModel,
    data: Any,
    *,
    choose: Any = None,
    directed: bool = True,
    marks: tuple[str, str] | None = None,
    pipeline: Any = None,
    name: str = "relations",
    on_progress: Progress | None = None,
    cancel: Cancel | None = None,
    **options: Any,
) -> Links:
    """How often every head looks from one entity of a relation most to the other, for every relation.

    Args:
        model: A HeadModel; of an encoder-decoder the encoder is asked.
        data: Pairs of a text with ``<e1>...</e1>`` and ``<e2>...</e2>`` and a label (`read_relations` makes them), on
            which figures are reported.
        choose: The same, on which the best head is chosen; half of `data` by default.
        directed: See `relation_examples`.
        marks: See `relation_examples`.
        pipeline: A Stanza or spaCy pipeline that tells parts of speech, for the baseline "nearest word of one part of
            speech"; without it there is none.
        name: For titles.
        on_progress: Called with examples done and examples in all.
        cancel: Says whether to stop.
        options: Of `headwidgets.probing.links`: ``random=``, ``seed=``, ``arcs=``, ``directions=`` ...

    Returns:
        What `headwidgets.probing.links` returns.

    Raises:
        InputError: data that is something else.
        Cancelled: told to stop.
    """
    expect_model(model)
    splits = []
    for given in (data,) if choose is None else (data, choose):
        if isinstance(given, (str, bytes, Path)) or not isinstance(given, Iterable):
            raise InputError(
                "expected pairs of a text with marked entities and its label (hw.probing.read_relations(path) reads "
                f"them), got {type(given).__name__}"
            )
        examples = relation_examples(given, directed=directed, marks=marks)
        splits.append(tagged(examples, pipeline, cancel=cancel) if pipeline is not None else examples)
    labels: dict[Direction, str] = {
        "forward": "first to second",
        "backward": "second to first",
        "received": "who looks at the first",
        "received backward": "who looks at the second",
    }
    found = links(
        model,
        splits[0],
        choose=splits[1] if len(splits) > 1 else None,
        directions=options.pop("directions", ("forward", "received") if marks else None),
        labels=options.pop("labels", labels),
        total=options.pop("total", "all"),
        name=name,
        on_progress=on_progress,
        cancel=cancel,
        **options,
    )
    return adapted(found, "relations", directed=bool(directed), marks=" ".join(marks) if marks else None)


def tagged(examples: Sequence[LinkExample], pipeline: Any, *, cancel: Cancel | None = None) -> list[LinkExample]:
    """The examples with parts of speech, as a Stanza or spaCy pipeline tells them of the words as they are."""
    trees = Treebank.parse([list(example.words) for example in examples], pipeline, cancel=cancel)
    found = []
    for example, sentence in zip(examples, trees, strict=True):
        tags = tuple(word.upos for word in sentence.words)
        found.append(replace(example, tags=tags) if len(tags) == len(example.words) else example)
    return found
