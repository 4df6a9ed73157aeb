"""`hw.load`: tasks, devices and dtypes from tiny saved folders, in silence; a sentence for all that is wrong."""

import json
import logging
import warnings

import numpy as np
import pytest
import torch
import transformers
from transformers.utils import logging as transformers_logging

import headwidgets as hw
from headwidgets.errors import InputError, UnsupportedError
from tests.models import tiny


def saved(folder, family="bert", head="sequence", *, tokenizer=True, pad=True, **options):
    tiny.make(family, head, **options).save_pretrained(folder)
    if tokenizer:
        tiny.tokenizer(family, pad=pad).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("bert"))


def test_a_folder_comes_back_as_it_was(bert, tmp_path):
    model = hw.load(bert)
    assert isinstance(model, hw.HeadModel)
    assert type(model.model).__name__ == "BertForSequenceClassification"
    assert not model.model.training
    assert model.shape("encoder") == (2, 4)
    assert model.fingerprint == hw.wrap(tiny.make("bert", "sequence"), model.tokenizer).fingerprint
    assert hw.load(tmp_path / ".." / bert).fingerprint == model.fingerprint


@pytest.mark.parametrize(
    ("family", "head", "task"),
    [
        ("bert", "base", "base"),
        ("bert", "sequence", "sequence-classification"),
        ("distilbert", "token", "token-classification"),
        ("roberta", "masked", "masked-lm"),
        ("gpt2", "causal", "causal-lm"),
        ("marian", "seq2seq", "seq2seq"),
    ],
)
def test_tasks(family, head, task, tmp_path):
    folder = saved(tmp_path, family, head)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named, automatic = hw.load(folder, task=task), hw.load(folder)
    assert type(named.model) is type(automatic.model)
    assert named.fingerprint == automatic.fingerprint


def test_weights_that_are_not_there_are_announced(tmp_path):
    folder = saved(tmp_path, head="base")
    with pytest.warns(UserWarning, match="has no weights for classifier.bias, classifier.weight: they are random"):
        hw.load(folder, task="sequence-classification")


def test_dtypes(bert):
    assert hw.load(bert, device="cpu").model.dtype == torch.float32
    assert hw.load(bert, dtype="bfloat16").model.dtype == torch.bfloat16
    assert hw.load(bert, dtype=torch.float64).model.dtype == torch.float64


def test_half_precision_weights_are_float32_on_a_cpu(tmp_path):
    tiny.make("llama", "causal").to(torch.bfloat16).save_pretrained(tmp_path)
    tiny.tokenizer("llama").save_pretrained(tmp_path)
    assert hw.load(tmp_path, device="cpu").model.dtype == torch.float32


def test_loading_is_quiet_and_the_users_verbosity_comes_back(bert, tmp_path, capfd, caplog):
    before = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_info()
    transformers_logging.enable_progress_bar()
    try:
        with caplog.at_level(logging.DEBUG), warnings.catch_warnings():
            warnings.simplefilter("error")
            hw.load(bert)
            with pytest.raises(InputError):
                hw.load(tmp_path)
        assert transformers_logging.get_verbosity() == logging.INFO
        assert transformers_logging.is_progress_bar_enabled()
    finally:
        transformers_logging.set_verbosity(before)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == ""


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_decoder_without_padding_token_takes_texts_of_unequal_length(family, tmp_path):
    folder = saved(tmp_path, family, "sequence", pad=False, pad_token_id=None)
    model = hw.load(folder)
    assert model.tokenizer.pad_token is None
    texts = ["the cat sat", "the old dog ran under the big tree", "a bird"]
    examples = model.encode(texts)
    together = [None] * len(texts)
    with model.visit(), torch.no_grad():
        for batch in model.batches(examples):
            assert len(batch) == len(texts)
            for i, logits in zip(batch.index, model.forward(batch).logits, strict=True):
                together[i] = logits
        alone = [model.forward(next(iter(model.batches([example])))).logits[0] for example in examples]
    assert model.model.config.pad_token_id is None
    torch.testing.assert_close(torch.stack(together), torch.stack(alone), rtol=1e-4, atol=1e-4)
    assert model.verify().ok


def test_softcapped_models_keep_their_softcap(tmp_path):
    model = hw.load(saved(tmp_path, "gemma2", "causal"))
    assert model.model.config._attn_implementation == "eager"
    with model.visit(attention={model.sites[0]: lambda weights: None}):
        assert model.verify().ok


def test_a_tokenizer_from_elsewhere(bert, tmp_path):
    folder = saved(tmp_path, tokenizer=False)
    assert len(hw.load(folder, tokenizer=bert).tokenizer) == len(tiny.SPECIAL) + len(tiny.WORDS)
    own = tiny.tokenizer()
    assert hw.load(folder, tokenizer=own).tokenizer is own


# ---- wrong input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["./nowhere", "/no/such/folder", "~/no-such-folder-here"])
def test_a_folder_that_does_not_exist(path):
    with pytest.raises(InputError, match=f"the folder '{path}' does not exist"):
        hw.load(path)


def test_a_hub_that_cannot_be_reached():
    with pytest.raises(InputError, match=r"the configuration of 'nobody/nothing-at-all' cannot be loaded: .*on a hub"):
        hw.load("nobody/nothing-at-all")


def test_a_file_instead_of_a_folder(bert):
    with pytest.raises(InputError, match="expected a model's folder, got the file"):
        hw.load(f"{bert}/config.json")


def test_a_folder_that_holds_no_model(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(InputError, match=r"it has no config\.json \(it holds notes\.txt\)"):
        hw.load(tmp_path)


def test_a_configuration_that_is_no_json(tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"the configuration of .* cannot be loaded"):
        hw.load(tmp_path)


def test_a_folder_without_weights(tmp_path):
    tiny.CONFIGS["bert"]().save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    with pytest.raises(InputError, match=r"the model of .* cannot be loaded"):
        hw.load(tmp_path)


def test_weights_that_are_cut_off(tmp_path):
    folder = saved(tmp_path)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:2000])
    with pytest.raises(InputError, match=r"the model of .* cannot be loaded"):
        hw.load(folder)


def test_pickled_weights_are_not_read(tmp_path):
    folder = saved(tmp_path)
    torch.save(tiny.make("bert", "sequence").state_dict(), tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"the model of .* cannot be loaded"):
        hw.load(folder)


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "t5"])
def test_a_folder_without_a_tokenizer(family, tmp_path):
    folder = saved(tmp_path, family, "base", tokenizer=False)
    with pytest.raises(InputError, match=r"the tokenizer of .* cannot be loaded: .*tokenizer="):
        hw.load(folder)


def test_a_task_that_the_family_does_not_have(tmp_path):
    folder = saved(tmp_path)
    with pytest.raises(InputError, match=r"the model of .* cannot be loaded: .*AutoModelForSeq2SeqLM"):
        hw.load(folder, task="seq2seq")


def test_a_family_that_nobody_knows(tmp_path):
    config = transformers.MambaConfig(vocab_size=60, hidden_size=16, num_hidden_layers=1, state_size=4)
    transformers.MambaModel(config).save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    with pytest.raises(UnsupportedError, match="'mamba'"):
        hw.load(tmp_path)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"task": "translation"}, "expected task to be auto or one of base, .*, got 'translation'"),
        ({"device": "abacus"}, "expected device to be auto, cpu, cuda or mps, got 'abacus'"),
        ({"device": "cuda:99"}, "there is no device 'cuda:99'"),
        ({"dtype": "float33"}, "expected dtype to be auto or one of float32, .*, got 'float33'"),
    ],
)
def test_arguments_that_do_not_fit(bert, options, sentence):
    with pytest.raises(InputError, match=sentence):
        hw.load(bert, **options)


def test_a_model_in_memory_is_wrapped_not_loaded():
    with pytest.raises(InputError, match=r"got BertModel; use hw\.wrap"):
        hw.load(tiny.make("bert"))


def test_wrapping_what_is_no_model_or_has_no_tokenizer():
    with pytest.raises(InputError, match="expected a transformers PreTrainedModel, got list"):
        hw.wrap([], tiny.tokenizer())
    with pytest.raises(InputError, match="expected the model's tokenizer, got NoneType"):
        hw.wrap(tiny.make("bert"), None)


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        (hw.Head("encoder", 7, 0), "no attention of kind 'encoder' in layer 7; the model has encoder with 2 layers"),
        (hw.Head("encoder", 1, 4), "no head 4 in encoder layer 1: it has heads 0 to 3"),
        (hw.Head("encoder", 0, -1), "no head -1 in encoder layer 0"),
        (hw.Head("decoder", 0, 0), "no attention of kind 'decoder'"),
        ("L1H2", r"expected heads as Head\(kind, layer, index\), got 'L1H2'"),
    ],
)
def test_a_head_that_does_not_exist(head, sentence):
    with pytest.raises(InputError, match=sentence):
        tiny.made("bert").check_heads([head])


def test_gates_of_the_wrong_shape():
    model = tiny.made("bert")
    for shape in [(4, 2), (2,), (1, 3, 4), (2, 4, 1, 1)]:
        with pytest.raises(InputError, match=r"of shape \[layers, heads\] = \[2, 4\], got \["):
            model.gate_tensors(gates={"encoder": np.ones(shape)})
    with pytest.raises(InputError, match=r"\(encoder\), got 'cross'"):
        model.gate_tensors(gates={"cross": np.ones((2, 4))})


# ---- real models -------------------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize("name", ["sst2", "sick", "mrpc", "semeval2010", "multi30k-en-de"])
def test_real_models_load_in_silence_and_verify(name, data_folder, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = hw.load(data_folder / "models" / name, device="cpu")
    assert capfd.readouterr() == ("", "")
    assert model.name == name
    assert (
        type(model.model).__name__
        == json.loads((data_folder / "models" / name / "config.json").read_text())["architectures"][0]
    )
    report = model.verify()
    assert report.ok
    assert not report.lacks


def test_an_empty_path_is_not_the_working_folder():
    with pytest.raises(InputError, match="got an empty string"):
        hw.load("")


def test_a_model_says_what_it_is():
    assert "HeadModel(BertModel, layers x heads: encoder 2 x 4; cpu" in repr(tiny.made("bert"))
    assert "encoder 2 x 4, decoder 2 x 2, cross 2 x 2" in repr(tiny.made("bart"))
