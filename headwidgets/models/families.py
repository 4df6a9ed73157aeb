"""Where the heads of each family are: one row per family, nothing else.

A row names, relative to ``model.base_model``, the blocks (``*`` stands for the layer's number), and inside a
block the attention module and its output projection. A new family is one more row.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")


@dataclass(frozen=True)
class Place:
    """Where one kind of attention lives.

    Attributes:
        blocks: Path of a block; ``*`` is the layer. A path without ``*`` is one block that the model
            runs once per layer (ALBERT).
        attention: Path inside the block to the module that calls the attention function.
        projection: Path inside the block to the output projection; its input is the heads' outputs.
        probabilities: For families outside the attention registry: path inside the block to a module whose
            output is the attention map (a dropout); empty for families in the registry.
    """

    blocks: str
    attention: str
    projection: str
    probabilities: str = ""


@dataclass(frozen=True)
class Family:
    """One row: the kinds of a family and what is special about it.

    Attributes:
        places: By kind.
        rows_sum_to_one: False where a sink takes part of the mass (gpt-oss).
        gates_scale_maps: False where a norm across heads or a difference of maps sits before the projection.
        note: What a user should know; shown by ``verify()``.
    """

    places: dict[Kind, Place]
    rows_sum_to_one: bool = True
    gates_scale_maps: bool = True
    note: str = ""


def _encoder(blocks: str, attention: str, projection: str, probabilities: str = "") -> Family:
    return Family({"encoder": Place(blocks, attention, projection, probabilities)})


def _decoder(blocks: str, attention: str, projection: str, probabilities: str = "") -> Family:
    return Family({"decoder": Place(blocks, attention, projection, probabilities)})


_BERT = _encoder("encoder.layer.*", "attention.self", "attention.output.dense")
_LLAMA = _decoder("layers.*", "self_attn", "self_attn.o_proj")
_BART = Family(
    {
        "encoder": Place("encoder.layers.*", "self_attn", "self_attn.out_proj"),
        "decoder": Place("decoder.layers.*", "self_attn", "self_attn.out_proj"),
        "cross": Place("decoder.layers.*", "encoder_attn", "encoder_attn.out_proj"),
    }
)
_T5 = Family(
    {
        "encoder": Place("encoder.block.*", "layer.0.SelfAttention", "layer.0.SelfAttention.o"),
        "decoder": Place("decoder.block.*", "layer.0.SelfAttention", "layer.0.SelfAttention.o"),
        "cross": Place("decoder.block.*", "layer.1.EncDecAttention", "layer.1.EncDecAttention.o"),
    }
)

FAMILIES: dict[str, Family] = {
    "bert": _BERT,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
    "camembert": _BERT,
    "electra": _BERT,
    "distilbert": _encoder("transformer.layer.*", "attention", "attention.out_lin"),
    "albert": _encoder("encoder.albert_layer_groups.0.albert_layers.0", "attention", "attention.dense"),
    "modernbert": _encoder("layers.*", "attn", "attn.Wo"),
    "deberta-v2": _encoder(
        "encoder.layer.*", "attention.self", "attention.output.dense", probabilities="attention.self.dropout"
    ),
    "gpt2": _decoder("h.*", "attn", "attn.c_proj"),
    "gpt_neox": _decoder("layers.*", "attention", "attention.dense"),
    "bloom": _decoder(
        "h.*", "self_attention", "self_attention.dense", probabilities="self_attention.attention_dropout"
    ),
    "opt": _decoder("decoder.layers.*", "self_attn", "self_attn.out_proj"),
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "qwen2": _LLAMA,
    "qwen3": _LLAMA,
    "gemma": _LLAMA,
    "gemma2": _LLAMA,
    "bart": _BART,
    "mbart": _BART,
    "marian": _BART,
    "pegasus": _BART,
    "m2m_100": _BART,
    "t5": _T5,
    "mt5": _T5,
}
