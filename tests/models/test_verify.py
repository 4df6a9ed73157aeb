"""`verify` on a tiny random model of every family, with every head; and that it notices when a number is wrong."""

import pytest
import torch
import transformers

from headwidgets.errors import UnsupportedError, VerificationError
from headwidgets.models import maps
from tests.models import tiny


def models():
    for family, config in tiny.CONFIGS.items():
        for head, auto in tiny.HEADS.items():
            if type(config()) in auto._model_mapping:
                yield pytest.param(family, head, id=f"{family}-{head}")


@pytest.mark.parametrize(("family", "head"), list(models()))
def test_every_family_and_head_agrees_with_the_bare_model(family, head):
    model = tiny.made(family, head)
    report = model.verify()
    assert report.ok
    done = "\n".join(check.name for check in report.checks if check.passed)
    assert "idle hooks leave the output as it is" in done
    assert "all is put back after an exception" in done
    assert "the model is as it was found" in done
    if family != "longformer":
        for kind in model.kinds:
            assert f"maps equal eager's output_attentions, {kind}" in done
        assert "gradients reach every map" in done
    if model.family.maps and model.family.gates_scale_maps:
        assert "gates at 0 equal maps times 0" in done
    if model.model.can_generate() and "decoder" in model.kinds:
        cached = next(check for check in report.checks if check.name.startswith("gates act alike in generate"))
        # older versions of two families answer differently with their own cache, without any hook
        assert cached.passed or (family in ("megatron-bert", "roformer") and "own cache" in cached.detail)


def test_the_families_of_the_table_are_all_tried():
    from headwidgets.models.families import FAMILIES

    assert {name for name, row in FAMILIES.items() if not row.refusal} == set(tiny.CONFIGS)


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "marian", "falcon", "modernbert"])
def test_both_implementations_can_be_visited(family, implementation):
    model = tiny.make(family)
    maps.set_implementation(model.config, implementation)
    assert tiny.wrap(model, tiny.tokenizer(family)).verify().ok
    assert model.config._attn_implementation == implementation


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "gemma2", "t5", "deberta-v2", "bloom", "gpt_oss"])
def test_half_precision(family, dtype):
    assert tiny.wrap(tiny.make(family).to(dtype), tiny.tokenizer(family)).verify().ok


@pytest.mark.parametrize(
    ("family", "head", "attributes"),
    [
        ("gpt2", "causal", {"reorder_and_upcast_attn": True, "scale_attn_by_inverse_layer_idx": True}),
        ("bert", "base", {"is_decoder": True, "add_cross_attention": True}),
        ("gpt2", "base", {"add_cross_attention": True}),
        ("albert", "base", {"num_hidden_layers": 4, "num_hidden_groups": 2, "inner_group_num": 2}),
        ("t5", "base", {"num_decoder_layers": 4}),
        ("falcon", "causal", {"alibi": True, "new_decoder_architecture": False, "multi_query": True}),
        ("falcon", "causal", {"alibi": False, "new_decoder_architecture": False, "multi_query": True}),
        ("deberta-v2", "base", {"share_att_key": True, "pos_att_type": ["c2p"]}),
        ("gpt2", "sequence", {"pad_token_id": None}),
        ("opt", "base", {"do_layer_norm_before": False, "word_embed_proj_dim": 8}),
    ],
)
@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_variants(family, head, attributes, implementation):
    config = tiny.CONFIGS[family]()
    for name, value in attributes.items():
        setattr(config, name, value)
    model = tiny.make(family, head, config=config)
    maps.set_implementation(model.config, implementation if model._supports_sdpa else "eager")
    assert tiny.wrap(model, tiny.tokenizer(family)).verify().ok


def test_a_softcap_that_the_bare_model_drops_is_not_in_its_maps():
    """Older versions let Gemma 2 run under sdpa and drop its softcap: the maps are of the model as it runs."""
    model = tiny.make("gemma2")
    if not model._supports_sdpa:
        pytest.skip("this version of transformers runs Gemma 2 in eager attention only")
    maps.set_implementation(model.config, "sdpa")
    report = tiny.wrap(model, tiny.tokenizer("gemma2")).verify()
    assert [check for check in report.lacks if check.name.startswith("eager agrees with the model's implementation")]


def test_an_encoder_decoder_of_two_families():
    decoder = tiny.CONFIGS["roberta"]()
    decoder.is_decoder = decoder.add_cross_attention = True
    config = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(tiny.CONFIGS["bert"](), decoder)
    config.decoder_start_token_id, config.pad_token_id = 2, 1
    model = tiny.wrap(tiny.loud(transformers.EncoderDecoderModel(config)).eval(), tiny.tokenizer())
    assert model.kinds == ("encoder", "decoder", "cross")
    assert model.verify().ok


def test_an_unknown_family_is_tried_against_the_rows():
    model = tiny.make("llama", "causal")
    model.config.model_type = model.model.config.model_type = "novel"
    wrapped = tiny.wrap(model, tiny.tokenizer("llama"))
    assert wrapped.shape("decoder") == (2, 4)
    assert wrapped.verify().ok


def test_a_family_that_no_row_fits_is_refused_by_name():
    config = transformers.MambaConfig(vocab_size=60, hidden_size=16, num_hidden_layers=1, state_size=4)
    with pytest.raises(UnsupportedError, match="'mamba'"):
        tiny.wrap(transformers.MambaModel(config), tiny.tokenizer())


def test_xlnet_is_refused_with_the_reason():
    config = transformers.XLNetConfig(vocab_size=60, d_model=16, n_layer=1, n_head=4, d_inner=16)
    with pytest.raises(UnsupportedError, match="bare parameter inside an einsum"):
        tiny.wrap(transformers.XLNetModel(config), tiny.tokenizer())


def test_the_report_prints_what_a_family_lacks():
    report = tiny.made("gpt_oss", "causal").verify()
    assert "a sink takes part of each row's mass" in str(report)
    assert [check.name for check in report.lacks if "sum to 1" in check.name]
    assert str(report).startswith("GptOssForCausalLM (gpt_oss), torch ")


WRONG = {
    "softcap": ("gemma2", {"softcap": None}),
    "position bias": ("t5", {"position_bias": None}),
    "mask": ("bert", {"mask": None}),
    "causality": ("gpt2", {"mask": None, "causal": False}),
    "scaling": ("llama", {"scaling": 1.0}),
    "sinks": ("gpt_oss", {"sinks": None}),
    "sliding window": ("mistral", {"mask": None, "causal": True}),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_verify_notices_a_dropped(mistake, monkeypatch):
    family, wrong = WRONG[mistake]
    right = maps.probabilities
    monkeypatch.setattr(maps, "probabilities", lambda q, k, mask, **kw: right(q, k, **({"mask": mask} | kw | wrong)))
    with pytest.raises(VerificationError, match="WRONG  output with our maps equals the bare model's") as found:
        tiny.made(family).verify()
    assert "WRONG  maps equal eager's output_attentions" in str(found.value)
    assert "ok     the model is as it was found" in str(found.value)


def test_verify_notices_swapped_heads():
    """Gates that close other heads than the maps' are a wrong number."""
    model = tiny.made("bert")
    visit = model.visit

    def swapped(*, outputs=None, attention=None, evaluation=True):
        def flipped(handler):
            return lambda heads: None if (new := handler(heads.flip(-2))) is None else new.flip(-2)

        outputs = {site: flipped(handler) for site, handler in (outputs or {}).items()}
        return visit(outputs=outputs, attention=attention, evaluation=evaluation)

    model.visit = swapped
    with pytest.raises(VerificationError, match="WRONG  gates at 0 equal maps times 0"):
        model.verify()


def test_verify_names_the_layer_of_weights_that_are_not_numbers():
    model = tiny.made("bert", "sequence")
    with torch.no_grad():
        model.site("encoder", 1).attention.key.weight[0, 0] = float("nan")
    with pytest.raises(VerificationError, match=r"encoder layer 1: the weights '.*layer\.1.*' hold NaN"):
        model.verify()
