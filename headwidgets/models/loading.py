"""`load`: a model and its tokenizer from a folder or a hub id."""

from typing import Any

import torch
import transformers

from headwidgets.errors import InputError
from headwidgets.models.model import HeadModel

TASKS = {
    "base": "AutoModel",
    "sequence-classification": "AutoModelForSequenceClassification",
    "token-classification": "AutoModelForTokenClassification",
    "masked-lm": "AutoModelForMaskedLM",
    "causal-lm": "AutoModelForCausalLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
}


def pick_device(device: str) -> torch.device:
    """``auto`` is CUDA, then MPS, then CPU."""
    if device != "auto":
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def load(path: str, *, task: str, device: str, dtype: str, **options: Any) -> HeadModel:
    """See `headwidgets.load`."""
    if task != "auto" and task not in TASKS:
        raise InputError(f"expected task to be auto or one of {', '.join(TASKS)}, got {task!r}")
    options.setdefault("trust_remote_code", False)
    where = pick_device(device)
    precision: Any = torch.float32 if dtype == "auto" and where.type == "cpu" else dtype
    tokenizer = transformers.AutoTokenizer.from_pretrained(path, trust_remote_code=options["trust_remote_code"])
    config = transformers.AutoConfig.from_pretrained(path, trust_remote_code=options["trust_remote_code"])
    if task == "auto":
        named = (getattr(config, "architectures", None) or [""])[0]
        cls = getattr(transformers, named, None) or transformers.AutoModel
    else:
        cls = getattr(transformers, TASKS[task])
    model = cls.from_pretrained(path, dtype=precision, **options).to(where).eval()
    return HeadModel(model, tokenizer)
