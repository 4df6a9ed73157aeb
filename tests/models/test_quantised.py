"""Which weights can be differentiated."""

from types import SimpleNamespace

import torch

from headwidgets.models.quantised import quantised
from tests.models.tiny import make


def test_a_gguf_file_that_was_unpacked_is_not_quantised():
    """Transformers leaves its config on the model; the weights decide."""
    root = make("llama", "causal")
    assert quantised(root) is None
    root.config.quantization_config = {"quant_method": "gguf"}
    root.quantization_method = SimpleNamespace(value="gguf")
    assert quantised(root) is None
    packed = type("GgufLinear", (torch.nn.Linear,), {})(16, 16)
    root.model.layers[0].self_attn.o_proj = packed
    assert quantised(root) == "gguf"
    root = make("llama", "causal")
    root.config.quantization_config = {"quant_method": "gptq"}
    assert quantised(root) == "gptq"


def test_a_module_with_whole_numbers_as_weights_is_named():
    root = make("llama", "causal")
    linear = root.model.layers[1].mlp.up_proj
    linear.weight = torch.nn.Parameter(torch.ones(4, 4, dtype=torch.int8), requires_grad=False)
    assert quantised(root) == "model.layers.1.mlp.up_proj is a torch.nn.modules.linear.Linear"
