"""Train the demo's classifier: `python -m headwidgets.demo.train`.

Low-rank factors (Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models") for every matrix of the
encoder's layers and the pooler are trained, everything else is frozen. The run is seeded; it writes
`difference.safetensors` and `card.json`, which has what was measured on the evaluation sentences after the factors
were rounded to float16.
"""

import argparse
import importlib.metadata
import json
import math
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from headwidgets.demo import baseline, encoder, grammar
from headwidgets.demo.classifier import apply, bare, logits

SEED = 7
RANK = 16
EPOCHS = 2
BATCH = 32
RATE = 1e-3
WARM_UP = 0.06
THREADS = 2


class LowRank(nn.Module):
    """A linear layer whose weight is frozen, plus a trained product of two factors."""

    def __init__(self, linear: nn.Linear, rank: int) -> None:
        super().__init__()
        self.linear = linear
        self.down = nn.Parameter(torch.randn(rank, linear.in_features) / math.sqrt(linear.in_features))
        self.up = nn.Parameter(torch.zeros(linear.out_features, rank))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """`[..., in]` to `[..., out]`."""
        result: torch.Tensor = self.linear(inputs) + (inputs @ self.down.T) @ self.up.T
        return result


def add_factors(model: nn.Module, rank: int) -> dict[str, LowRank]:
    """Freeze a classifier and put factors beside the matrices of its layers and pooler.

    Returns:
        The new modules by the name of the weight that they change.
    """
    model.requires_grad_(False)
    linears = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and name.startswith(("bert.encoder.", "bert.pooler."))
    }
    added = {}
    for name, linear in linears.items():
        parent, _, attribute = name.rpartition(".")
        added[f"{name}.weight"] = LowRank(linear, rank)
        setattr(model.get_submodule(parent), attribute, added[f"{name}.weight"])
    model.get_submodule("classifier").requires_grad_(True)
    return added


def batches(tokenizer: Any, data: list[grammar.Sentence], seed: int) -> Iterator[dict[str, torch.Tensor]]:
    """One epoch of shuffled batches; within each run of 16 batches sentences of similar length go together."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(data), generator=generator).tolist()
    run = 16 * BATCH
    for start in range(0, len(order), run):
        near = sorted(order[start : start + run], key=lambda index: len(data[index].text))
        chunks = [near[at : at + BATCH] for at in range(0, len(near), BATCH)]
        for at in torch.randperm(len(chunks), generator=generator).tolist():
            chosen = [data[index] for index in chunks[at]]
            batch = dict(tokenizer([sentence.text for sentence in chosen], padding=True, return_tensors="pt"))
            batch["labels"] = torch.tensor([grammar.LABELS.index(sentence.label) for sentence in chosen])
            yield batch


def fit(model: Any, tokenizer: Any, data: list[grammar.Sentence], epochs: int) -> dict[str, torch.Tensor]:
    """Train and return the difference, factors in float16."""
    torch.manual_seed(SEED)
    nn.init.normal_(model.classifier.weight, std=0.02)
    added = add_factors(model, RANK)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE, weight_decay=0.01)
    total = epochs * math.ceil(len(data) / BATCH)

    def rate(step: int) -> float:
        return min(step / (WARM_UP * total), (total - step) / ((1 - WARM_UP) * total))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(rate(step + 1), 0.0))
    model.train()
    step, began, running = 0, time.perf_counter(), 0.0
    for epoch in range(epochs):
        for batch in batches(tokenizer, data, SEED + epoch):
            loss = model(**batch).loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            scheduler.step()
            step += 1
            running += 0.02 * (loss.item() - running) if step > 1 else loss.item()
            if step % 50 == 0 or step == total:
                seconds = time.perf_counter() - began
                print(f"step {step}/{total}  loss {running:.3f}  {seconds:.0f} s", flush=True)
    model.eval()
    difference = {f"{name}.up": module.up.detach().half().contiguous() for name, module in added.items()}
    difference |= {f"{name}.down": module.down.detach().half().contiguous() for name, module in added.items()}
    difference["classifier.weight"] = model.classifier.weight.detach().clone()
    difference["classifier.bias"] = model.classifier.bias.detach().clone()
    return difference


def accuracy(model: Any, tokenizer: Any, data: list[grammar.Sentence]) -> dict[str, float]:
    """Accuracy over all sentences, by what is held out and by construction."""
    found = logits(model, tokenizer, [sentence.text for sentence in data]).argmax(-1).tolist()
    right = [grammar.LABELS[index] == sentence.label for index, sentence in zip(found, data, strict=True)]
    groups: dict[str, list[bool]] = {"all": right}
    for sentence, is_right in zip(data, right, strict=True):
        groups.setdefault(f"construction {sentence.construction}", []).append(is_right)
        if sentence.held_out:
            groups.setdefault(f"held out {sentence.held_out}", []).append(is_right)
    return {name: round(sum(values) / len(values), 4) for name, values in sorted(groups.items())}


def without_heads(model: Any, tokenizer: Any, data: list[grammar.Sentence]) -> float:
    """Accuracy when the output of every head is zero."""
    hooks = [
        layer.attention.output.dense.register_forward_pre_hook(lambda _, inputs: (torch.zeros_like(inputs[0]),))
        for layer in model.bert.encoder.layer
    ]
    try:
        return accuracy(model, tokenizer, data)["all"]
    finally:
        for hook in hooks:
            hook.remove()


def main(arguments: list[str] | None = None) -> None:
    """Train, measure and write. Called by `python -m headwidgets.demo.train`."""
    parser = argparse.ArgumentParser(prog="python -m headwidgets.demo.train", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent, help="where the results are written")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="passes over the sentences")
    parser.add_argument(
        "--sentences", type=int, default=grammar.TRAIN_SIZE, help="how many training sentences are used"
    )
    parser.add_argument("--threads", type=int, default=THREADS)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    began, began_cpu = time.perf_counter(), time.process_time()

    splits = {name: grammar.sentences(name) for name in ("train", "development", "evaluation")}
    splits["train"] = splits["train"][: options.sentences]
    at = encoder.folder()
    encoder.check(at)
    model, tokenizer = bare(at)
    difference = fit(model, tokenizer, splits["train"], options.epochs)
    file = options.folder / "difference.safetensors"
    save_file(difference, file)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu

    model, tokenizer = bare(at)
    apply(model, load_file(file))
    card = {
        "encoder": {"package": encoder.PACKAGE, "license": "Apache-2.0", "sha256": encoder.FINGERPRINTS},
        "training": {
            "seconds": round(seconds),
            "cpu seconds": round(cpu_seconds),
            "threads": options.threads,
            "seed": SEED,
            "rank": RANK,
            "batch": BATCH,
            "rate": RATE,
            "epochs": options.epochs,
        },
        "difference": {"bytes": file.stat().st_size, "sha256": encoder.sha256(file)},
        "sentences": {
            name: {
                "count": len(data),
                "positive": sum(sentence.label == "positive" for sentence in data),
                "sha256": grammar.digest(data),
            }
            for name, data in splits.items()
        },
        "accuracy": {
            "development": accuracy(model, tokenizer, splits["development"])["all"],
            "evaluation": accuracy(model, tokenizer, splits["evaluation"]),
            "evaluation without any head": without_heads(model, tokenizer, splits["evaluation"]),
            "evaluation by bag of words": round(baseline.accuracy(splits["train"], splits["evaluation"]), 4),
        },
        "versions": {name: importlib.metadata.version(name) for name in ("torch", "transformers", "safetensors")}
        | {"python": platform.python_version()},
    }
    (options.folder / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(card["accuracy"], indent=2))
    print(f"{seconds:.0f} s ({cpu_seconds:.0f} s of processor time), {file.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
