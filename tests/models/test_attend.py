"""Attention maps of one text: against transformers' own eager attention, on demand, by words, of generated tokens."""

import copy

import numpy as np
import pytest
import torch
import transformers as t

import headwidgets as hw
from headwidgets.errors import InputError, MemoryLimitError, UnsupportedError, VerificationError
from headwidgets.models.attend import AttentionMaps, attend
from headwidgets.models.maps import configs, set_implementation
from headwidgets.models.model import HeadModel
from headwidgets.scores import Head
from tests.models.tiny import made

TEXT = "the old cat sat on the red mat"
FIELDS = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}


def eager_copy(model: HeadModel):
    """A copy with eager attention in every part; older transformers forget T5's encoder in set_attn_implementation."""
    bare = copy.deepcopy(model.model)
    for config in configs(bare):
        set_implementation(config, "eager")
    return bare


def eager(model: HeadModel, **inputs) -> dict[str, list[np.ndarray]]:
    """What the bare model's own eager attention says, by kind, from an independent forward pass."""
    bare = eager_copy(model)
    with torch.inference_mode():
        out = bare(**inputs, output_attentions=True, **({"use_cache": False} if "decoder" in model.kinds else {}))
    if model.is_encoder_decoder:
        found = {kind: getattr(out, name) for kind, name in FIELDS.items()}
    else:
        found = {model.kinds[0]: out.attentions}
    return {kind: [layer[0].float().numpy() for layer in layers] for kind, layers in found.items()}


def ids_of(maps: AttentionMaps, kind: str) -> tuple[torch.Tensor, torch.Tensor]:
    query, key = maps.sides[kind]
    return torch.as_tensor(query.ids)[None], torch.as_tensor(key.ids)[None]


@pytest.mark.parametrize("family", ["bert", "albert", "modernbert", "deberta-v2", "gpt2", "llama", "gemma2", "bloom"])
def test_maps_equal_eager_attention(family):
    model = made(family, "sequence")
    maps = attend(model, TEXT)
    (kind,) = maps.kinds
    ids, _ = ids_of(maps, kind)
    expected = np.stack(eager(model, input_ids=ids)[kind])
    assert maps.maps[kind].dtype == np.float32
    assert maps.maps[kind].shape == (*model.shape(kind), ids.shape[1], ids.shape[1])
    np.testing.assert_allclose(maps.maps[kind], expected, atol=1e-5)
    np.testing.assert_array_equal(maps[Head(kind, 1, 0)], maps.maps[kind][1, 0])


@pytest.mark.parametrize("family", ["bart", "marian", "t5"])
def test_all_three_kinds_equal_eager_attention(family):
    model = made(family, "seq2seq")
    maps = attend(model, (TEXT, "a small dog ran"))
    assert maps.kinds == ("encoder", "decoder", "cross")
    target, source = ids_of(maps, "cross")
    assert target[0, 0] == model.model.config.decoder_start_token_id
    expected = eager(model, input_ids=source, decoder_input_ids=target)
    for kind in maps.kinds:
        np.testing.assert_allclose(maps.maps[kind], np.stack(expected[kind]), atol=1e-5)
    assert maps.maps["cross"].shape[2:] == (target.shape[1], source.shape[1])


def test_a_target_is_generated_for_a_bare_source():
    model = made("marian", "seq2seq")
    maps = attend(model, TEXT)
    target, source = ids_of(maps, "cross")
    room = model.max_positions - 1
    with torch.inference_mode():
        produced = model.model.generate(source, do_sample=False, num_beams=1, max_new_tokens=room, max_length=None)
    assert target[0].tolist() == produced[0, :-1].tolist()
    assert maps.generated == model.tokenizer.decode(target[0, 1:], skip_special_tokens=True)


@pytest.mark.parametrize("family", ["bart", "mbart"])
def test_a_classifier_with_a_decoder_reads_its_text_twice(family):
    model = made(family, "sequence")
    read = []
    hook = model.model.get_decoder().register_forward_pre_hook(
        lambda _, args, given: read.append(given.get("input_ids", args[0] if args else None)), with_kwargs=True
    )
    maps = attend(model, TEXT)
    hook.remove()
    rows, columns = ids_of(maps, "cross")
    assert rows.tolist() == read[0].tolist()
    assert columns[0].tolist() == model.tokenizer(TEXT)["input_ids"]
    assert maps.labels["decoder"][0][1]["text"] == "the"


def test_positions_are_named_by_the_tokenizer_and_for_the_reader():
    model = made("bert")
    maps = attend(model, "The CAT, zzz")
    query, key = maps.tokens["encoder"]
    assert query == key
    assert query[0] == "[CLS]"
    assert query[-1] == "[SEP]"
    assert "[UNK]" in query
    assert [token["text"] for token in maps.labels["encoder"][0]] == ["[CLS]", "The", "CAT", ",", "zzz", "[SEP]"]


def test_only_the_kind_asked_for_is_there():
    maps = attend(made("t5", "seq2seq"), (TEXT, "a dog"), kind="cross")
    assert maps.kinds == ("cross",)
    with pytest.raises(InputError, match="at hand"):
        maps.maps["encoder"]
    with pytest.raises(InputError, match="the model has"):
        attend(made("gpt2"), TEXT, kind="cross")


def test_layers_without_attention_and_missing_heads_are_nan():
    model = made("lfm2")
    maps = attend(model, TEXT)
    whole = maps.maps["decoder"]
    assert np.isnan(whole[0]).all()
    assert np.isfinite(whole[1:]).all()
    assert np.isnan(maps.layer("decoder", 0)).all()
    with pytest.raises(InputError, match="layer 0"):
        maps[Head("decoder", 0, 0)]
    assert maps.thumbnails("decoder")[0].max() == 0


def test_gates_are_seen_by_the_maps_behind_them():
    model = made("bert")
    plain = attend(model, TEXT).maps["encoder"]
    with model.gated(pruned=[Head("encoder", 0, i) for i in range(4)]):
        gated = attend(model, TEXT).maps["encoder"]
    np.testing.assert_allclose(gated[0], plain[0], atol=1e-6)
    assert np.abs(gated[1] - plain[1]).max() > 1e-3


# ---- on demand ------------------------------------------------------------------------------------------


def counted(model, monkeypatch):
    """Which layers each forward pass computed maps for."""
    passes = []
    own = type(model).visit

    def visit(self, *, attention=None, **keywords):
        passes.append([site.layer for site in attention or {}])
        return own(self, attention=attention, **keywords)

    monkeypatch.setattr(type(model), "visit", visit)
    return passes


def test_what_fits_is_fetched_in_one_pass(monkeypatch):
    model = made("bert")
    passes = counted(model, monkeypatch)
    maps = attend(model, TEXT)
    maps.maps["encoder"], maps.layer("encoder", 1), maps[Head("encoder", 0, 2)], maps.words().maps["encoder"]
    assert passes == [[0, 1]]
    assert maps.maps["encoder"] is maps.maps["encoder"]


def test_what_does_not_fit_is_fetched_when_asked_for(monkeypatch):
    model = made("bert")
    whole = attend(model, TEXT).maps["encoder"]
    layer = whole[0].nbytes
    passes = counted(model, monkeypatch)
    maps = attend(model, TEXT, memory=layer)
    np.testing.assert_allclose(maps[Head("encoder", 1, 3)], whole[1, 3], atol=1e-6)
    np.testing.assert_allclose(maps[Head("encoder", 1, 0)], whole[1, 0], atol=1e-6)
    np.testing.assert_allclose(maps.layer("encoder", 0), whole[0], atol=1e-6)
    assert passes == [[0], [1], [0]]
    assert sum(kept.nbytes for kept in maps._kept.values()) <= layer
    with pytest.raises(MemoryLimitError, match=r"layer by layer"):
        maps.maps["encoder"]
    np.testing.assert_array_equal(maps.thumbnails("encoder"), attend(model, TEXT).thumbnails("encoder"))


def test_a_single_head_is_kept_where_its_layer_is_too_much(monkeypatch):
    model = made("bert")
    whole = attend(model, TEXT).maps["encoder"]
    passes = counted(model, monkeypatch)
    maps = attend(model, TEXT, memory=whole[0, 0].nbytes)
    for _ in range(2):
        np.testing.assert_allclose(maps[Head("encoder", 1, 3)], whole[1, 3], atol=1e-6)
    assert passes == [[], [1]]
    with pytest.raises(MemoryLimitError, match="single heads"):
        maps.layer("encoder", 1)


def test_a_map_of_another_state_of_the_model_is_refused():
    model = made("bert")
    layer = attend(model, TEXT).maps["encoder"][0].nbytes
    with model.gated(pruned=[Head("encoder", 0, 1)]):
        maps = attend(model, TEXT, memory=layer)
        maps.layer("encoder", 1)
    with pytest.raises(InputError, match="changed since attend"):
        maps.layer("encoder", 0)


def test_a_text_too_large_for_the_machine_is_refused(monkeypatch):
    model = made("bert")
    monkeypatch.setattr("headwidgets.models.memory.free_bytes", lambda device: 1000)
    with pytest.raises(MemoryLimitError, match="shorten the text"):
        attend(model, TEXT)


def test_close_lets_go_of_the_model():
    maps = attend(made("bert"), TEXT)
    maps.close()
    assert maps._source.model is None
    assert not maps._kept


# ---- words ----------------------------------------------------------------------------------------------


def test_words_sum_to_and_average_from():
    model = made("bert")
    maps = attend(model, [["the cat", "sat", "on it"]])
    words = maps.words()
    assert words.tokens["encoder"][0] == ("[CLS]", "the cat", "sat", "on it", "[SEP]")
    one = maps.maps["encoder"]
    columns = np.stack(
        [one[..., 0], one[..., 1] + one[..., 2], one[..., 3], one[..., 4] + one[..., 5], one[..., 6]], -1
    )
    expected = np.stack(
        [
            columns[..., 0, :],
            (columns[..., 1, :] + columns[..., 2, :]) / 2,
            columns[..., 3, :],
            (columns[..., 4, :] + columns[..., 5, :]) / 2,
            columns[..., 6, :],
        ],
        -2,
    )
    np.testing.assert_allclose(words.maps["encoder"], expected, atol=1e-6)
    np.testing.assert_allclose(words.maps["encoder"].sum(-1), 1, atol=1e-5)
    again = model.attend([["the cat", "sat", "on it"]], words=True)
    np.testing.assert_allclose(again[Head("encoder", 1, 2)], expected[1, 2], atol=1e-6)
    assert again.words() is again


# ---- generated tokens -----------------------------------------------------------------------------------

CAUSAL = ["gpt2", "llama"]
SEQ2SEQ = ["marian", "bart", "t5"]


def generated(model, n_tokens, **inputs):
    bare = eager_copy(model)
    bare.generation_config.update(max_length=None, eos_token_id=None, forced_eos_token_id=None)
    return bare.generate(
        **inputs,
        do_sample=False,
        num_beams=1,
        max_new_tokens=n_tokens,
        output_attentions=True,
        return_dict_in_generate=True,
    )


@pytest.mark.parametrize("family", CAUSAL)
def test_generated_tokens_of_a_decoder(family):
    model = made(family, "causal")
    model.model.generation_config.eos_token_id = None
    maps = attend(model, TEXT, generate=6)
    ids, _ = ids_of(maps, "decoder")
    prompt = model.tokenizer(TEXT)["input_ids"]
    with torch.inference_mode():
        expected = model.model.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=6, max_length=None)
    assert ids.tolist() == expected.tolist()
    np.testing.assert_allclose(maps.maps["decoder"], np.stack(eager(model, input_ids=ids)["decoder"]), atol=1e-5)
    assert maps.tokens["decoder"][0] == tuple(
        f"<{i}>" if token is None else token  # this model has more ids than its tokenizer
        for i, token in zip(ids[0].tolist(), model.tokenizer.convert_ids_to_tokens(ids[0]), strict=True)
    )
    shown = [token["text"] for token in maps.labels["decoder"][0]]
    assert shown[: len(prompt)] == TEXT.split()
    written = [token["text"] for token in maps.labels["decoder"][0][len(prompt) :]]
    assert maps.generated.split() == [text for text in written if not text.startswith("<")]


@pytest.mark.parametrize("family", [*CAUSAL, "mistral"])
def test_steps_of_a_generate_call_are_stitched(family):
    model = made(family, "causal")
    prompt = torch.tensor([model.tokenizer(TEXT)["input_ids"]])
    output = generated(model, 7, input_ids=prompt)
    expected = np.stack(eager(model, input_ids=output.sequences[:, :-1])["decoder"])
    for given in (TEXT, prompt, prompt[0].tolist()):
        maps = AttentionMaps.from_generate(model, given, output)
        np.testing.assert_allclose(maps.maps["decoder"], expected, atol=1e-5)
        assert len(maps.labels["decoder"][0]) == prompt.shape[1] + 6
    np.testing.assert_allclose(maps[Head("decoder", 1, 2)], expected[1, 2], atol=1e-5)


@pytest.mark.parametrize("family", SEQ2SEQ)
def test_steps_of_an_encoder_decoder_are_stitched(family):
    model = made(family, "seq2seq")
    source = torch.tensor([model.tokenizer(TEXT)["input_ids"]])
    output = generated(model, 6, input_ids=source)
    read = output.sequences[:, :-1]
    assert read.shape[1] == 6
    expected = eager(model, input_ids=source, decoder_input_ids=read)
    maps = AttentionMaps.from_generate(model, TEXT, output)
    for kind in ("encoder", "decoder", "cross"):
        np.testing.assert_allclose(maps.maps[kind], np.stack(expected[kind]), atol=1e-5)
    model.model.generation_config.update(eos_token_id=None, forced_eos_token_id=None)
    same = attend(model, TEXT, generate=6)
    for kind in ("encoder", "decoder", "cross"):
        np.testing.assert_allclose(same.maps[kind], maps.maps[kind], atol=1e-5)


def test_a_cache_of_fixed_length_is_cut():
    model = made("llama", "causal")
    prompt = torch.tensor([model.tokenizer(TEXT)["input_ids"]])
    output = generated(model, 5, input_ids=prompt)
    wide = tuple(
        tuple(torch.nn.functional.pad(layer, (0, 30 - layer.shape[-1])) for layer in step) for step in output.attentions
    )
    padded = t.generation.GenerateDecoderOnlyOutput(sequences=output.sequences, attentions=wide)
    np.testing.assert_array_equal(
        AttentionMaps.from_generate(model, TEXT, padded).maps["decoder"],
        AttentionMaps.from_generate(model, TEXT, output).maps["decoder"],
    )


def test_generate_calls_that_cannot_be_stitched_say_why():
    model = made("gpt2", "causal")
    prompt = torch.tensor([model.tokenizer(TEXT)["input_ids"]])
    output = generated(model, 3, input_ids=prompt)
    with pytest.raises(InputError, match="does not begin with"):
        AttentionMaps.from_generate(model, "a dog ran", output)
    with pytest.raises(InputError, match=r"one text at a time.*axis 0"):
        AttentionMaps.from_generate(model, TEXT, generated(model, 3, input_ids=prompt.repeat(2, 1)))
    with pytest.raises(InputError, match="return_dict_in_generate"):
        AttentionMaps.from_generate(model, TEXT, output.sequences)
    bare = t.generation.GenerateDecoderOnlyOutput(sequences=output.sequences, attentions=((None, None),) * 3)
    with pytest.raises(InputError, match=r"has no attentions.*eager"):
        AttentionMaps.from_generate(model, TEXT, bare)
    beams = t.generation.GenerateBeamDecoderOnlyOutput(
        sequences=output.sequences, attentions=output.attentions, beam_indices=torch.zeros(1, 3)
    )
    with pytest.raises(InputError, match="num_beams=1"):
        AttentionMaps.from_generate(model, TEXT, beams)
    with pytest.raises(MemoryLimitError, match="fewer tokens"):
        AttentionMaps.from_generate(model, TEXT, output, memory=10)


def test_generation_that_cannot_be_done_says_why():
    with pytest.raises(InputError, match="does not generate"):
        attend(made("bert"), TEXT, generate=3)
    with pytest.raises(InputError, match="0 or more"):
        attend(made("gpt2", "causal"), TEXT, generate=-1)
    with pytest.raises(InputError, match="at most 56"):
        attend(made("gpt2", "causal"), TEXT, generate=60)
    with pytest.raises(InputError, match="exclude each other"):
        attend(made("t5", "seq2seq"), (TEXT, "a dog"), generate=3)


# ---- bad input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ([TEXT, TEXT], "one text, got a list of 2"),
        (["the", "cat"], r"inside a list: \[words\]"),
        ("", "empty"),
        (None, "got None"),
        (7, "got int"),
        ("the cat " * 40, "82 tokens"),
    ],
)
def test_texts_that_cannot_be_looked_at(text, match):
    with pytest.raises(InputError, match=match):
        attend(made("bert"), text)


def test_nan_weights_are_reported_by_layer():
    model = made("bert")
    with torch.no_grad():
        model.model.encoder.layer[1].attention.self.query.weight[0, 0] = float("nan")
    with pytest.raises(VerificationError, match=r"encoder layer 1 .* NaN"):
        attend(model, TEXT)
    assert model.model.config._attn_implementation == "sdpa"


def test_a_family_without_maps_says_so():
    with pytest.raises(UnsupportedError, match="no attention maps"):
        attend(made("longformer"), TEXT)


def test_rows_of_sinks_need_not_sum_to_one():
    maps = attend(made("gpt_oss"), TEXT)
    assert maps.maps["decoder"].sum(-1).min() < 0.999


# ---- real models ----------------------------------------------------------------------------------------


@pytest.mark.data
def test_a_real_classifier_reads_a_sentence(data_folder):
    model = hw.load(str(data_folder / "models" / "sst2"))
    maps = model.attend("An unbelievably funny, well-acted film 🙂!")
    ids, _ = ids_of(maps, "encoder")
    np.testing.assert_allclose(maps.maps["encoder"], np.stack(eager(model, input_ids=ids)["encoder"]), atol=1e-5)
    words = maps.words()
    shown = words.tokens["encoder"][0]
    assert shown == ("[CLS]", "An", "unbelievably", "funny", ",", "well", "-", "acted", "film", "🙂", "!", "[SEP]")
    np.testing.assert_allclose(words.maps["encoder"].sum(-1), 1, atol=1e-5)


@pytest.mark.data
def test_a_real_translator_reads_and_writes(data_folder):
    model = hw.load(str(data_folder / "models" / "multi30k-en-de"))
    maps = model.attend("A man in an orange hat starring at something.")
    assert maps.generated.startswith("Ein Mann")
    target, source = ids_of(maps, "cross")
    expected = eager(model, input_ids=source, decoder_input_ids=target)
    for kind in maps.kinds:
        np.testing.assert_allclose(maps.maps[kind], np.stack(expected[kind]), atol=1e-5)
    words = maps.words()
    assert words.tokens["cross"][0][1:3] == ("Ein", "Mann")
    assert words.tokens["cross"][1][:2] == ("A", "man")
