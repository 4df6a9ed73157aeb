"""Which head finds which link? Labelled pairs of words in, a table of relations by heads out.

Syntax, coreference, relations between entities and word alignment are adapters of this: they say which words are
linked, and what else could have been guessed.
"""

from collections.abc import Callable, Mapping, Sequence

from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.probing.linking.examples import Direction, Link, LinkExample, as_examples
from headwidgets.probing.linking.result import Links

Baseline = Callable[[LinkExample, Link], int | None]
"""A guess that looks at words only: the position of the word it would choose, None for no guess."""


@blocking
def links(
    model: HeadModel,
    examples: Sequence[LinkExample],
    *,
    choose: Sequence[LinkExample] | None = None,
    directions: Sequence[Direction] | None = None,
    labels: Mapping[Direction, str] | None = None,
    baselines: Mapping[str, Baseline] | None = None,
    offsets: int = 10,
    random: int = 20,
    random_examples: int = 400,
    arcs: int = 6,
    name: str = "links",
    seed: int = 0,
    on_progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Links:
    """Accuracy of every head for every relation, in every direction, against baselines.

    A head finds a link when the largest entry of its map among the candidates is a target. Candidates are the words
    that can be seen: all others of the text, in a causal model those to the left; special tokens are none. Maps are of
    words: attention to a split word is summed, from it averaged.

    Args:
        model: A HeadModel. Of an encoder-decoder, examples with `LinkExample.against` look at cross-attention, others
            at the encoder.
        examples: On which figures are reported.
        choose: On which the best head, the best offset and the best rule are chosen. By default `examples` are cut in
            two random halves by cluster, one to choose and one to report.
        directions: What is asked; see `headwidgets.probing.linking.examples.DIRECTIONS`.
        labels: What directions are called in tables.
        baselines: Further guesses by name, for ``forward`` and ``received``.
        offsets: Fixed offsets up to this many words (or candidates) away are tried.
        random: Models of the same architecture with random weights; 0 for none.
        random_examples: Examples that each of them sees, of each split, at most.
        arcs: Instances of every row that are kept to be looked at.
        name: Of the measurement, for titles.
        seed: Of the halves, the random weights, the resampling and what is kept.
        on_progress: Called with examples done and examples in all.
        cancel: Says whether to stop.

    Raises:
        InputError: no example, or one that does not fit.
        UnsupportedError: a model without maps.
        Cancelled: told to stop.

    Reference:
        Clark et al. 2019, section 4.2; Voita et al. 2019, section 5.2.
    """
    expect_model(model)
    as_examples(examples)
    raise InputError("not yet")
