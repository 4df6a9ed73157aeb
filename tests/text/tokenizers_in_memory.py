"""Tokenizers of every sort, trained in memory in a moment on a few sentences."""

from functools import cache
from typing import Any

import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SENTENCES = [
    "Hello world, the cat sat on the mat.",
    "It costs $3.14 and doesn't matter.",
    "state-of-the-art results, unbelievably good films",
    "שלום עולם, החתול ישב על השטיח",
    "我爱北京天安门",
    "これは日本語の文です",
] * 4


def _trained(inner: Tokenizer, trainer: Any, **special: Any) -> Any:
    inner.train_from_iterator(SENTENCES, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, **special)


@cache
def byte_level(prefix_space: bool = False) -> Any:
    """As GPT-2: bytes, a space belongs to the token after it, no special tokens added."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=["<|end|>"], initial_alphabet=alphabet, show_progress=False
    )
    return _trained(inner, trainer, eos_token="<|end|>")


@cache
def word_piece() -> Any:
    """As BERT, uncased: [CLS] ... [SEP], ``##`` inside words, Han characters apart."""
    inner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.decoder = decoders.WordPiece()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=260, special_tokens=names, show_progress=False)
    fast = _trained(
        inner, trainer, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]", pad_token="[PAD]"
    )
    fast.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return fast


@cache
def unigram() -> Any:
    """As T5: ``▁`` for a space, </s> behind."""
    inner = Tokenizer(models.Unigram())
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    inner.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=150, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    fast = _trained(inner, trainer, unk_token="<unk>", eos_token="</s>", pad_token="<pad>")
    fast.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return fast


@cache
def byte_slow() -> Any:
    """As ByT5: one token per byte, written in Python, without offsets."""
    return transformers.ByT5Tokenizer()


ALL = {"byte_level": byte_level, "word_piece": word_piece, "unigram": unigram, "byte_slow": byte_slow}
