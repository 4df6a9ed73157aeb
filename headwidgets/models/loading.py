"""`load`: a model and its tokenizer from a folder or a hub id, in silence, with errors that say what to do."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError

from headwidgets.errors import InputError
from headwidgets.models.model import HeadModel
from headwidgets.models.quiet import quiet

TASKS = {
    "base": "AutoModel",
    "sequence-classification": "AutoModelForSequenceClassification",
    "token-classification": "AutoModelForTokenClassification",
    "masked-lm": "AutoModelForMaskedLM",
    "causal-lm": "AutoModelForCausalLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
}
DTYPES = ("float32", "bfloat16", "float16", "float64")
_SHARED = ("trust_remote_code", "revision", "cache_dir", "local_files_only", "token", "subfolder", "gguf_file")
"""Options that say where a model comes from: its configuration and tokenizer get them too."""
_REFUSALS = (OSError, ValueError, RuntimeError, KeyError, ImportError, AttributeError, TypeError, SafetensorError)


def pick_device(device: str | torch.device) -> torch.device:
    """``auto`` is CUDA, then MPS, then CPU.

    Raises:
        InputError: no such device here.
    """
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        raise InputError(f"expected device to be auto, cpu, cuda or mps, got {device!r}") from None
    missing = {
        "cuda": not torch.cuda.is_available() or (found.index or 0) >= torch.cuda.device_count(),
        "mps": not torch.backends.mps.is_available(),
    }
    if missing.get(found.type, False):
        raise InputError(f"there is no device {device!r} on this machine; use device='auto' or device='cpu'")
    return found


def pick_dtype(dtype: str | torch.dtype, device: torch.device) -> Any:
    """``auto`` is float32 on CPU and what the weights are elsewhere."""
    if isinstance(dtype, torch.dtype):
        return dtype
    if dtype == "auto":
        return torch.float32 if device.type == "cpu" else "auto"
    if dtype not in DTYPES:
        raise InputError(f"expected dtype to be auto or one of {', '.join(DTYPES)}, got {dtype!r}")
    return getattr(torch, dtype)


def _check_folder(path: str, gguf: bool) -> None:
    """Say early what is wrong with a local path; what is no path may be a hub id."""
    place = Path(path).expanduser()
    if place.is_file():
        raise InputError(f"expected a model's folder, got the file {path!r}; pass the folder that it is in")
    if not place.exists():
        looks_local = (
            place.is_absolute() or path.startswith((".", "~")) or path.count("/") > 1 or os.sep == "\\" in path
        )
        if looks_local:
            raise InputError(f"the folder {path!r} does not exist")
        return
    if not gguf and not (place / "config.json").is_file():
        held = sorted(child.name for child in place.iterdir())[:5]
        raise InputError(
            f"{path!r} is not a model's folder: it has no config.json (it holds {', '.join(held) or 'nothing'}). A "
            "folder is made by model.save_pretrained and tokenizer.save_pretrained"
        )


def _try(what: str, path: str, advice: str, function: Callable[[], Any]) -> Any:
    """Run one of transformers' loaders and turn its errors into a sentence."""
    try:
        with quiet():
            return function()
    except _REFUSALS as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[0][:300].rstrip(". ") if lines else type(error).__name__
        raise InputError(f"{what} of {path!r} cannot be loaded: {reason}. {advice}") from error


def _tokenizer(path: str, given: Any, shared: dict[str, Any]) -> Any:
    if given is not None and not isinstance(given, (str, os.PathLike)):
        return given
    source = str(given or path)
    advice = "Save one there (tokenizer.save_pretrained), or name one with tokenizer="
    found = None
    if not Path(source).is_dir() or "gguf_file" in shared or _has_vocabulary(Path(source)):
        load = transformers.AutoTokenizer.from_pretrained
        found = _try("the tokenizer", source, advice, lambda: load(source, **shared))
    if found is None or len(found) <= len(found.all_special_ids):  # transformers may make one of nothing
        raise InputError(f"the tokenizer of {source!r} cannot be loaded: there is no vocabulary. {advice}")
    return found


def _has_vocabulary(folder: Path) -> bool:
    marks = ("tokenizer", "vocab", "merges", ".spm", "spiece", "sentencepiece", ".model", "tiktoken", "tekken")
    return any(mark in child.name for child in folder.iterdir() for mark in marks)


def _model_class(task: str, config: Any) -> Any:
    if task != "auto":
        return getattr(transformers, TASKS[task])
    named = (getattr(config, "architectures", None) or [""])[0]
    return getattr(transformers, named, None) or transformers.AutoModel


def _warn_of_random(path: str, missing: Any) -> None:
    if missing:
        names = sorted(missing)
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        warnings.warn(
            f"{path!r} has no weights for {', '.join(names[:3])}{more}: they are random now. Train them first, or "
            "load the task that the weights were made for (task='auto')",
            stacklevel=4,
        )


def load(
    path: str | os.PathLike[str],
    *,
    task: str = "auto",
    device: str | torch.device = "auto",
    dtype: str | torch.dtype = "auto",
    tokenizer: Any = None,
    **options: Any,
) -> HeadModel:
    """See `headwidgets.load`.

    Args:
        path: Folder or hub id.
        task: ``auto`` or one of `TASKS`.
        device: Where the model goes.
        dtype: Of the weights.
        tokenizer: A tokenizer, or where one is, if it is not beside the model.
        options: Passed to ``from_pretrained``. Weights come from safetensors files only, unless
            ``use_safetensors=False``; no code from the hub runs unless ``trust_remote_code=True``.

    Raises:
        InputError: nothing there, no model, no tokenizer, or an argument that does not fit.
        UnsupportedError: nobody knows where the model's heads are.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"expected a folder or a hub id, got {type(path).__name__}; use hw.wrap for a model in memory")
    if task != "auto" and task not in TASKS:
        raise InputError(f"expected task to be auto or one of {', '.join(TASKS)}, got {task!r}")
    if not os.fspath(path):
        raise InputError("expected a folder or a hub id, got an empty string")
    where = pick_device(device)
    precision = pick_dtype(dtype, where)
    name = os.fspath(path)
    _check_folder(name, "gguf_file" in options)
    name = str(Path(name).expanduser()) if name.startswith("~") else name
    options.setdefault("trust_remote_code", False)
    if "gguf_file" not in options:
        options.setdefault("use_safetensors", True)
    shared = {key: options[key] for key in _SHARED if key in options}
    advice = "Expected a folder made by save_pretrained, or the id of a model on a hub that can be reached from here"
    config = _try("the configuration", name, advice, lambda: transformers.AutoConfig.from_pretrained(name, **shared))
    if getattr(config.get_text_config(), "attn_logit_softcapping", None):
        options.setdefault("attn_implementation", "eager")  # sdpa has no softcap: older versions drop it in silence
    words = _tokenizer(name, tokenizer, shared)
    cls = _model_class(task, config)
    advice = f"Loaded as {cls.__name__} (task={task!r})"
    model, info = _try(
        "the model",
        name,
        advice,
        lambda: cls.from_pretrained(name, dtype=precision, output_loading_info=True, **options),
    )
    _warn_of_random(name, info.get("missing_keys"))
    return HeadModel(model.to(where).eval(), words)
