"""Are the weights what gradients see? Quantised models cannot be differentiated."""

from typing import Any

from torch import nn

_PACKERS = ("torchao", "bitsandbytes", "auto_gptq", "gptqmodel", "awq", "hqq", "quanto", "eetq", "aqlm")
"""Packages whose modules or tensors hold quantised weights."""


def quantised(root: Any) -> str | None:
    """How a model's weights are quantised, for a sentence; None where they are not.

    A GGUF file that was unpacked to plain weights when it was loaded still says so in its config; it is not quantised.

    Args:
        root: A `PreTrainedModel`.
    """
    kind = getattr(root, "quantization_method", None) or getattr(root.config, "quantization_config", None)
    if kind is not None:
        kind = kind.get("quant_method") if isinstance(kind, dict) else getattr(kind, "quant_method", kind)
        name = str(getattr(kind, "value", kind))
        if name != "gguf" or any("gguf" in type(module).__name__.lower() for module in root.modules()):
            return name
    found = _packed(root)
    if found is None:
        return None
    where, module = found
    return f"{where} is a {module.__module__}.{module.__name__}"


def _packed(root: nn.Module) -> tuple[str, type] | None:
    """The first module whose weights are stored in fewer bits: its name and class."""
    for name, module in root.named_modules():
        kind = type(module)
        weight = module._parameters.get("weight")
        whole = weight is not None and not (weight.is_floating_point() or weight.is_complex())
        foreign = weight is not None and type(weight.data).__module__.split(".")[0] in _PACKERS
        if whole or foreign or ".quantized" in kind.__module__ or kind.__module__.split(".")[0] in _PACKERS:
            return name, kind
    return None
