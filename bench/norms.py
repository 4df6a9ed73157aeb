"""How much of the attention, and how much of what it carries, goes to the tokens that the tokenizer added.

    HEADWIDGETS_DATA=folder python -m bench.norms [--sentences 100]

Per layer of a sentence classifier: the share of attention weight on a special token (mean over heads, queries and
sentences), and the share of the norm-based maps there (of a head's map summed over its cells, mean over heads and
sentences), each with its standard error over sentences.
"""

import argparse
import time

import numpy as np

from bench.evaluation import load, sentences


def shares(n: int) -> tuple[np.ndarray, dict[str, float]]:
    """Shares float64 [sentences, layers, heads, CLS or SEP, attention or norm], and seconds by what was asked."""
    model = load("sdpa")
    texts, _ = sentences(n)
    seconds = {"attention": 0.0, "norm": 0.0}
    found = []
    for text in texts:
        began = time.perf_counter()
        maps = model.attend(text)
        weights = maps.maps["encoder"]
        between = time.perf_counter()
        norms = maps.norms.maps["encoder"]
        seconds["attention"] += between - began
        seconds["norm"] += time.perf_counter() - between
        ends = [0, weights.shape[-1] - 1]
        of = [np.stack([m[..., at].sum(-1) / m.sum((-2, -1)) for at in ends], -1) for m in (weights, norms)]
        found.append(np.stack(of, -1))
        maps.close()
    return np.array(found, dtype=np.float64), seconds


def table(n: int = 100) -> str:
    """The shares as Markdown."""
    found, seconds = shares(n)
    layers = found.mean(axis=2)  # [sentences, layers, token, view]
    mean, error = layers.mean(axis=0), layers.std(axis=0, ddof=1) / len(layers) ** 0.5
    rows = [
        f"| {layer} | "
        + " | ".join(
            f"{100 * mean[layer, t, v]:.1f} ± {100 * error[layer, t, v]:.1f} %" for t in (1, 0) for v in (0, 1)
        )
        + " |"
        for layer in range(len(mean))
    ]
    heads = found.mean(axis=0)  # [layers, heads, token, view]
    layer, head, token = np.unravel_index(int(heads[..., 0].argmax()), heads.shape[:3])
    weight, norm = 100 * heads[layer, head, token]
    name = ("[CLS]", "[SEP]")[token]
    took = seconds["norm"] / seconds["attention"]
    return "\n".join(
        [
            "## A large weight may carry a small vector",
            "",
            f"{n} sentences of SST-2 (dev), a classifier of {heads.shape[0]} x {heads.shape[1]} heads; share of "
            "attention weight and share of the norm-based maps (Kobayashi et al. 2020), mean ± standard error.",
            "",
            "| layer | weight on [SEP] | norm on [SEP] | weight on [CLS] | norm on [CLS] |",
            "| --- | --- | --- | --- | --- |",
            *rows,
            "",
            f"The head that looks at one of them most, L{layer}H{head}, gives {weight:.0f} % of its weight to {name}, "
            f"which is {norm:.0f} % of what it carries. Norms took {took:.1f} times as long as attention.",
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sentences", type=int, default=100)
    print(table(parser.parse_args().sentences))
