"""The demo's sentiment classifier: the pretrained encoder plus a small difference that this project trained.

The difference is low-rank. For a weight matrix W of the encoder, `difference.safetensors` has two float16 factors
`<name>.up` `[out, rank]` and `<name>.down` `[rank, in]`, and the classifier uses W + up @ down. The product is taken in
float64, so that its rounding to float32 hardly depends on the machine. The classifier's own weight and bias are whole.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file

from headwidgets.demo import encoder
from headwidgets.demo.grammar import LABELS

if TYPE_CHECKING:
    from transformers import BertForSequenceClassification, PreTrainedTokenizerBase

DIFFERENCE = Path(__file__).with_name("difference.safetensors")
NAME = "headwidgets-demo"


def bare(at: Path) -> tuple["BertForSequenceClassification", "PreTrainedTokenizerBase"]:
    """The encoder with an untrained classifier on [CLS], and its tokenizer, from files alone.

    The weights are put in by hand: `from_pretrained` would report that the file has no classifier.

    Args:
        at: The encoder's folder.

    Returns:
        The model in float32 and evaluation mode, and the tokenizer. The classifier's weights are zero.
    """
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    names = dict(enumerate(LABELS))
    config = BertConfig.from_pretrained(
        at, local_files_only=True, id2label=names, label2id={name: index for index, name in names.items()}
    )
    config.name_or_path = NAME
    config.problem_type = "single_label_classification"
    config.dtype = torch.float32
    model = BertForSequenceClassification(config)
    weights = {f"bert.{name}": value for name, value in load_file(at / "model.safetensors").items()}
    weights.pop("bert.embeddings.position_ids", None)  # a buffer that newer versions do not keep
    weights["classifier.weight"] = torch.zeros_like(model.classifier.weight)
    weights["classifier.bias"] = torch.zeros_like(model.classifier.bias)
    model.load_state_dict(weights, strict=True)
    tokenizer = AutoTokenizer.from_pretrained(at, local_files_only=True)
    return model.eval(), tokenizer


def apply(model: torch.nn.Module, difference: Mapping[str, torch.Tensor]) -> None:
    """Add a difference to a model's weights, in place.

    Args:
        model: What `bare` returned.
        difference: Factors and whole tensors, named as in `difference.safetensors`.

    Raises:
        KeyError: If the difference names a weight that the model does not have.
    """
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for name, value in difference.items():
            if name.endswith(".up"):
                weight = parameters[name.removesuffix(".up")]
                down = difference[name.removesuffix("up") + "down"]
                weight.copy_(weight.double() + value.double() @ down.double())
            elif not name.endswith(".down"):
                parameters[name].copy_(value)


def build() -> tuple["BertForSequenceClassification", "PreTrainedTokenizerBase"]:
    """Build the demo's classifier.

    Returns:
        A `transformers` model with the labels "negative" and "positive", in evaluation mode on the CPU, and its
        tokenizer.

    Raises:
        EncoderError: If the encoder is missing or another one.
    """
    at = encoder.folder()
    encoder.check(at)
    model, tokenizer = bare(at)
    apply(model, load_file(DIFFERENCE))
    return model, tokenizer


def logits(model: Any, tokenizer: Any, texts: list[str], batch_size: int = 64) -> torch.Tensor:
    """Run a classifier over texts, in batches of similar length.

    Args:
        model: The classifier.
        tokenizer: Its tokenizer.
        texts: Any number of sentences.
        batch_size: Sentences in one batch.

    Returns:
        Logits `[texts, labels]` in the order of the texts.
    """
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    found: list[torch.Tensor] = [torch.empty(0)] * len(texts)
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            batch = tokenizer([texts[index] for index in chosen], padding=True, return_tensors="pt")
            for index, row in zip(chosen, model(**batch).logits, strict=True):
                found[index] = row
    return torch.stack(found)
