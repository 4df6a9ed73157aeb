"""Tiny random models of every family, made in memory, with weights large enough for a mistake to show.

The default initialisation hides mistakes (a dropped softcap changes logits by 2e-7); here weights are drawn with a
standard deviation of about 0.5, biases too, softcaps and windows bite, and key/value heads are shared.
"""

from collections.abc import Callable
from typing import Any

import torch
import transformers as t
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from headwidgets import HeadModel, wrap

VOCABULARY = 60
SENTENCE = (
    "the a cat dog bird sat ran saw on under mat tree house big small red not very quickly and but he she it old new "
    "good bad film liked hated said that was is in of to"
)
WORDS = SENTENCE.split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "</s>"]
IDS: dict[str, int] = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 5}


def tokenizer(family: str = "bert", *, pad: bool = True) -> Any:
    """A word-level tokenizer in memory: [CLS] ... [SEP] for encoders, ... </s> for encoder-decoders."""
    words = {word: i for i, word in enumerate([*SPECIAL, *WORDS])}
    inner = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    special: dict[str, Any] = {"unk_token": "[UNK]", "eos_token": "</s>"} | ({"pad_token": "[PAD]"} if pad else {})
    if family in SEQ2SEQ:
        inner.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 5)])
    elif family not in DECODERS:
        inner.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
        special |= {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    return t.PreTrainedTokenizerFast(tokenizer_object=inner, **special)


def _common(**more: Any) -> dict[str, Any]:
    sizes = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 24,
        "max_position_embeddings": 64,
        "initializer_range": 0.5,
        "num_labels": 3,
    }
    return sizes | IDS | more


def _bart(**more: Any) -> dict[str, Any]:
    return {
        "vocab_size": VOCABULARY,
        "d_model": 16,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 24,
        "max_position_embeddings": 64,
        "init_std": 0.5,
        "num_labels": 3,
        "decoder_start_token_id": 5,
        "forced_eos_token_id": None,
        "forced_bos_token_id": None,
        **IDS,
        **more,
    }


def _grouped(**more: Any) -> dict[str, Any]:
    return _common(num_key_value_heads=2, head_dim=6, attention_bias=True, **more)


CONFIGS: dict[str, Callable[[], Any]] = {
    "bert": lambda: t.BertConfig(**_common()),
    "roberta": lambda: t.RobertaConfig(**_common(pad_token_id=1)),
    "xlm-roberta": lambda: t.XLMRobertaConfig(**_common(pad_token_id=1)),
    "distilbert": lambda: t.DistilBertConfig(
        vocab_size=VOCABULARY, dim=16, n_layers=2, n_heads=4, hidden_dim=24, initializer_range=0.5, num_labels=3
    ),
    "electra": lambda: t.ElectraConfig(**_common(embedding_size=8)),
    "albert": lambda: t.AlbertConfig(**_common(embedding_size=8, num_hidden_layers=3)),
    "modernbert": lambda: t.ModernBertConfig(
        **_common(
            attention_bias=True,
            local_attention=4,
            global_attn_every_n_layers=2,
            cls_token_id=2,
            sep_token_id=3,
            initializer_cutoff_factor=2.0,
        )
    ),
    "mpnet": lambda: t.MPNetConfig(**_common(pad_token_id=1)),
    "megatron-bert": lambda: t.MegatronBertConfig(**_common()),
    "roformer": lambda: t.RoFormerConfig(**_common()),
    "camembert": lambda: t.CamembertConfig(**_common(pad_token_id=1)),
    "deberta-v2": lambda: t.DebertaV2Config(
        **_common(relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=4, norm_rel_ebd="layer_norm")
    ),
    "longformer": lambda: t.LongformerConfig(**_common(attention_window=[4, 4], pad_token_id=1)),
    "gpt2": lambda: t.GPT2Config(
        vocab_size=VOCABULARY,
        n_embd=16,
        n_layer=2,
        n_head=4,
        n_positions=64,
        initializer_range=0.5,
        num_labels=3,
        **IDS,
    ),
    "gpt_neo": lambda: t.GPTNeoConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        num_layers=2,
        num_heads=4,
        attention_types=[[["global", "local"], 1]],
        window_size=4,
        max_position_embeddings=64,
        initializer_range=0.5,
        num_labels=3,
        **IDS,
    ),
    "gptj": lambda: t.GPTJConfig(
        vocab_size=VOCABULARY,
        n_embd=16,
        n_layer=2,
        n_head=2,
        rotary_dim=4,
        n_positions=64,
        initializer_range=0.5,
        num_labels=3,
        **IDS,
    ),
    "gpt_neox": lambda: t.GPTNeoXConfig(**_common(rotary_pct=0.5)),
    "bloom": lambda: t.BloomConfig(
        vocab_size=VOCABULARY, hidden_size=16, n_layer=2, n_head=4, initializer_range=0.5, num_labels=3, **IDS
    ),
    "falcon": lambda: t.FalconConfig(**_common(alibi=False, new_decoder_architecture=True, num_kv_heads=2, bias=True)),
    "mpt": lambda: t.MptConfig(
        vocab_size=VOCABULARY,
        d_model=16,
        n_layers=2,
        n_heads=4,
        max_seq_len=64,
        initializer_range=0.5,
        num_labels=3,
        **IDS,
    ),
    "opt": lambda: t.OPTConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        word_embed_proj_dim=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        ffn_dim=24,
        max_position_embeddings=64,
        init_std=0.5,
        num_labels=3,
        **IDS,
    ),
    "phi": lambda: t.PhiConfig(**_common()),
    "llama": lambda: t.LlamaConfig(**_grouped()),
    "mistral": lambda: t.MistralConfig(**_grouped(sliding_window=4)),
    "qwen2": lambda: t.Qwen2Config(
        **_common(
            num_key_value_heads=2, use_sliding_window=True, sliding_window=4, max_window_layers=1, num_hidden_layers=3
        )
    ),
    "qwen3": lambda: t.Qwen3Config(**_grouped()),
    "gemma": lambda: t.GemmaConfig(**_grouped()),
    "gemma2": lambda: t.Gemma2Config(
        attn_implementation="eager",
        **_grouped(attn_logit_softcapping=5.0, final_logit_softcapping=5.0, sliding_window=4, query_pre_attn_scalar=6),
    ),
    "gemma3_text": lambda: t.Gemma3TextConfig(
        **_grouped(sliding_window=4, query_pre_attn_scalar=6, layer_types=["sliding_attention", "full_attention"])
    ),
    "lfm2": lambda: t.Lfm2Config(
        **_common(
            num_key_value_heads=2,
            num_hidden_layers=3,
            layer_types=["conv", "full_attention", "full_attention"],
            conv_L_cache=3,
        )
    ),
    "gpt_oss": lambda: t.GptOssConfig(
        **_grouped(
            sliding_window=4,
            num_local_experts=2,
            num_experts_per_tok=1,
            layer_types=["sliding_attention", "full_attention"],
        )
    ),
    "bitnet": lambda: t.BitNetConfig(**_common(num_key_value_heads=2, attention_bias=True)),
    "diffllama": lambda: t.DiffLlamaConfig(**_common(num_key_value_heads=2, attention_bias=True)),
    "bart": lambda: t.BartConfig(**_bart()),
    "mbart": lambda: t.MBartConfig(**_bart()),
    "marian": lambda: t.MarianConfig(**_bart(decoder_vocab_size=VOCABULARY)),
    "pegasus": lambda: t.PegasusConfig(**_bart()),
    "m2m_100": lambda: t.M2M100Config(**_bart()),
    "t5": lambda: t.T5Config(
        vocab_size=VOCABULARY,
        d_model=16,
        d_kv=6,
        d_ff=24,
        num_layers=2,
        num_heads=4,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=12,
        num_labels=3,
        decoder_start_token_id=0,
        **IDS,
    ),
    "mt5": lambda: t.MT5Config(
        vocab_size=VOCABULARY,
        d_model=16,
        d_kv=6,
        d_ff=24,
        num_layers=2,
        num_heads=2,
        num_labels=3,
        decoder_start_token_id=0,
        **IDS,
    ),
}

SEQ2SEQ = ("bart", "mbart", "marian", "pegasus", "m2m_100", "t5", "mt5")
DECODERS = (
    "gpt2", "gpt_neo", "gptj", "gpt_neox", "bloom", "falcon", "mpt", "opt", "phi", "llama", "mistral", "qwen2", "qwen3",
    "gemma", "gemma2", "gemma3_text", "lfm2", "gpt_oss", "bitnet", "diffllama",
)  # fmt: skip
ENCODERS = tuple(name for name in CONFIGS if name not in SEQ2SEQ and name not in DECODERS)

HEADS = {
    "base": t.AutoModel,
    "sequence": t.AutoModelForSequenceClassification,
    "token": t.AutoModelForTokenClassification,
    "masked": t.AutoModelForMaskedLM,
    "causal": t.AutoModelForCausalLM,
    "seq2seq": t.AutoModelForSeq2SeqLM,
}


def loud(model: Any, seed: int = 0) -> Any:
    """Draw every weight anew with a standard deviation of 0.5, biases too; norms near 1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            norm = parameter.dim() == 1 and name.endswith("weight")
            parameter.copy_(1 + 0.2 * noise if norm else 0.5 * noise)
    return model


def make(family: str, head: str = "base", *, config: Any = None, **attributes: Any) -> Any:
    """A tiny random model of `family` with a task's head, in eval mode."""
    config = CONFIGS[family]() if config is None else config
    if head == "causal" and family in ENCODERS:
        attributes = {"is_decoder": True, **attributes}
    for name, value in attributes.items():
        setattr(config, name, value)
    return loud(HEADS[head].from_config(config)).eval()


def made(family: str, head: str = "base", **options: Any) -> HeadModel:
    """The same, wrapped with its tokenizer."""
    return wrap(make(family, head, **options), tokenizer(family))
