"""Where the heads of each family are: one row per family, nothing else.

A row names, relative to ``model.base_model``, the blocks (``*`` stands for the layer's number), and inside a
block the attention module and its output projection. A new family is one more row.
"""

from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")


@dataclass(frozen=True)
class Place:
    """Where one kind of attention lives.

    Attributes:
        blocks: Path of a block; ``*`` is the layer. A path with two ``*`` is a list of groups of blocks, each of
            which the model runs several times (ALBERT).
        attention: Path inside the block to the module that computes the map.
        projection: Path inside the block to the output projection; its input is the heads' outputs.
    """

    blocks: str
    attention: str
    projection: str


@dataclass(frozen=True)
class Family:
    """One row: the kinds of a family and what is special about it.

    Attributes:
        places: By kind. A kind whose modules a model does not have (cross attention of a plain BERT) is skipped.
        rows_sum_to_one: False where a sink takes part of the mass (gpt-oss).
        gates_scale_maps: False where a norm across heads or a difference of maps sits before the projection.
        maps: False where the attention is no [query, key] map at all (a sliding band); gates still work.
        refusal: Why the family cannot be taken at all, as a sentence; empty for all others.
        note: What a user should know; shown by ``verify()``.
    """

    places: dict[Kind, Place]
    rows_sum_to_one: bool = True
    gates_scale_maps: bool = True
    maps: bool = True
    refusal: str = ""
    note: str = ""


def _decoder(blocks: str, attention: str, projection: str) -> Family:
    return Family({"decoder": Place(blocks, attention, projection)})


def _seq2seq(encoder: Place, decoder: Place, cross: Place) -> Family:
    return Family({"encoder": encoder, "decoder": decoder, "cross": cross})


_BERT_SELF = Place("encoder.layer.*", "attention.self", "attention.output.dense")
_BERT = Family(
    {"encoder": _BERT_SELF, "cross": Place("encoder.layer.*", "crossattention.self", "crossattention.output.dense")}
)
_GPT2 = Family(
    {
        "decoder": Place("h.*", "attn", "attn.c_proj"),
        "cross": Place("h.*", "crossattention", "crossattention.c_proj"),
    }
)
_LLAMA = _decoder("layers.*", "self_attn", "self_attn.o_proj")
_BART = _seq2seq(
    Place("encoder.layers.*", "self_attn", "self_attn.out_proj"),
    Place("decoder.layers.*", "self_attn", "self_attn.out_proj"),
    Place("decoder.layers.*", "encoder_attn", "encoder_attn.out_proj"),
)
_T5 = _seq2seq(
    Place("encoder.block.*", "layer.0.SelfAttention", "layer.0.SelfAttention.o"),
    Place("decoder.block.*", "layer.0.SelfAttention", "layer.0.SelfAttention.o"),
    Place("decoder.block.*", "layer.1.EncDecAttention", "layer.1.EncDecAttention.o"),
)

FAMILIES: dict[str, Family] = {
    # encoders
    "bert": _BERT,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
    "camembert": _BERT,
    "electra": _BERT,
    "megatron-bert": _BERT,
    "roformer": _BERT,
    "deberta-v2": Family({"encoder": _BERT_SELF}),
    "distilbert": Family({"encoder": Place("transformer.layer.*", "attention", "attention.out_lin")}),
    "mpnet": Family({"encoder": Place("encoder.layer.*", "attention.attn", "attention.attn.o")}),
    "albert": Family(
        {"encoder": Place("encoder.albert_layer_groups.*.albert_layers.*", "attention", "attention.dense")}
    ),
    "modernbert": Family({"encoder": Place("layers.*", "attn", "attn.Wo")}),
    "longformer": Family(
        {"encoder": _BERT_SELF},
        maps=False,
        note="attends in a sliding band, so that there is no [query, key] map",
    ),
    "xlnet": Family(
        {},
        refusal="XLNet's output projection is a bare parameter inside an einsum, where no hook can reach the heads",
    ),
    # decoders
    "gpt2": _GPT2,
    "gpt_neo": _decoder("h.*", "attn.attention", "attn.attention.out_proj"),
    "gptj": _decoder("h.*", "attn", "attn.out_proj"),
    "gpt_neox": _decoder("layers.*", "attention", "attention.dense"),
    "bloom": _decoder("h.*", "self_attention", "self_attention.dense"),
    "falcon": _decoder("h.*", "self_attention", "self_attention.dense"),
    "mpt": _decoder("blocks.*", "attn", "attn.out_proj"),
    "opt": _decoder("decoder.layers.*", "self_attn", "self_attn.out_proj"),
    "phi": _decoder("layers.*", "self_attn", "self_attn.dense"),
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "qwen2": _LLAMA,
    "qwen3": _LLAMA,
    "gemma": _LLAMA,
    "gemma2": _LLAMA,
    "gemma3_text": _LLAMA,
    "lfm2": _decoder("layers.*", "self_attn", "self_attn.out_proj"),
    "gpt_oss": replace(_LLAMA, rows_sum_to_one=False, note="a sink takes part of each row's mass"),
    "bitnet": replace(
        _LLAMA, gates_scale_maps=False, note="a norm across heads sits between the maps and the output projection"
    ),
    "diffllama": replace(
        _LLAMA,
        gates_scale_maps=False,
        note="heads work in pairs whose maps are subtracted; a gate closes one half of a pair's output, a map is of "
        "one member",
    ),
    # encoder-decoders
    "bart": _BART,
    "mbart": _BART,
    "marian": _BART,
    "pegasus": _BART,
    "m2m_100": _BART,
    "t5": _T5,
    "mt5": _T5,
}
