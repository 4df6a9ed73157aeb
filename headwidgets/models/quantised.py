"""Are the weights what the gradients see? Quantised models cannot be differentiated."""

from typing import Any


def quantised(root: Any) -> str | None:
    """How a model says that its weights are quantised; None where they are not.

    A GGUF file that was unpacked to plain weights when it was loaded still says so in its config; it is not quantised.

    Args:
        root: A `PreTrainedModel`.
    """
    config = getattr(root.config, "quantization_config", None)
    kind = getattr(root, "quantization_method", None) or config
    if kind is None:
        return None
    kind = kind.get("quant_method") if isinstance(kind, dict) else getattr(kind, "quant_method", kind)
    name = str(getattr(kind, "value", kind))
    if name == "gguf" and not any("gguf" in type(module).__name__.lower() for module in root.modules()):
        return None if all(parameter.is_floating_point() for parameter in root.parameters()) else name
    return name
