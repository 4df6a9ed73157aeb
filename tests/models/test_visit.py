"""The primitive under everything: what a visit sees and changes, and that it leaves no trace."""

import threading

import pytest
import torch

from headwidgets import wrap
from headwidgets.errors import UnsupportedError
from headwidgets.models import maps
from headwidgets.models.trials import main_output, make_trial
from headwidgets.models.verify import state_of
from headwidgets.models.visit import frozen
from tests.models import tiny


class Stop(Exception):
    pass


def answer(model, **keywords):
    return make_trial(model, "right").answer(**keywords)


def everywhere(sites, handler):
    return dict.fromkeys(sites, handler)


def closed(heads):
    return heads * torch.tensor([0.0] + [1.0] * (heads.shape[-2] - 1))[:, None]


@pytest.mark.parametrize("family", ["bert", "albert", "gemma2", "deberta-v2", "falcon", "marian"])
def test_nothing_is_left_behind(family):
    model = tiny.made(family)
    model.model.train()
    for module in list(model.model.modules())[::3]:  # modes of their own
        module.training = False
    next(model.model.parameters()).requires_grad_(False)
    before = state_of(model.model)
    try:
        with (
            frozen(model.model),
            model.visit(outputs=everywhere(model.sites, closed), attention=everywhere(model.sites, lambda w: w * 0.5)),
        ):
            answer(model)
            assert state_of(model.model)["hooks"] != before["hooks"]
            raise Stop
    except Stop:
        pass
    assert state_of(model.model) == before
    assert not maps.active
    assert not maps._switches


def test_an_error_in_a_handler_comes_through_and_nothing_is_left():
    model = tiny.made("bert")
    before = state_of(model.model)
    for part in ("outputs", "attention"):
        with pytest.raises(KeyError, match="mine"), model.visit(**{part: {model.sites[0]: lambda t: {}["mine"]}}):
            answer(model)
    assert state_of(model.model) == before


def test_visits_can_be_nested_and_the_outer_handlers_run_first():
    model = tiny.made("bert")
    site = model.sites[0]
    seen = []
    with model.visit(attention={site: lambda w: seen.append("outer") or w * 2}):
        with model.visit(attention={site: lambda w: seen.append(float(w.sum(-1).max())) or w}):
            answer(model)
        both = list(seen)
        answer(model)
    assert both[0] == "outer"
    assert both[1] == pytest.approx(2, abs=1e-5)
    assert seen[2:] == ["outer"]
    assert not maps.active


@pytest.mark.parametrize("family", ["deberta-v2", "falcon"])
def test_nested_visits_outside_the_registry(family):
    model = tiny.made(family)
    site = model.sites[0]
    sums = []
    with (
        model.visit(attention={site: lambda w: w * 2}),
        model.visit(attention={site: lambda w: sums.append(float(w.sum(-1).max()))}),
    ):
        answer(model)
    assert sums == pytest.approx([2], abs=1e-5)
    assert "forward" not in site.attention.__dict__


def test_albert_tells_its_layers_apart_by_the_call():
    model = tiny.made("albert")
    plain = answer(model)
    changed = []
    for site in model.sites:
        with model.visit(outputs={site: closed}) as seen:
            changed.append(answer(model))
        assert seen.reached == {site: 1}
    assert len(model.sites) == 3
    assert not any(torch.equal(a, plain) for a in changed)
    assert not torch.equal(changed[0], changed[1])


def test_layers_without_attention_have_no_site():
    model = tiny.made("lfm2")
    assert [site.layer for site in model.sites] == [1, 2]
    assert model.shape("decoder") == (3, 4)
    assert model.kv_heads("decoder") == [[], [0, 0, 1, 1], [0, 0, 1, 1]]


def test_grouped_query_attention_knows_its_groups():
    model = tiny.made("llama")
    assert {(site.n_heads, site.n_kv_heads) for site in model.sites} == {(4, 2)}
    assert model.kv_heads("decoder") == [[0, 0, 1, 1]] * 2
    assert tiny.made("gpt2").kv_heads("decoder") == [[0, 1, 2, 3]] * 2
    # the groups are real: a change to key/value head 1 moves the maps of query heads 2 and 3 only
    site = model.sites[0]
    seen = []
    with model.visit(attention={site: lambda w: seen.append(w)}):
        answer(model)
        with torch.no_grad():
            site.attention.k_proj.weight[site.head_dim :] *= -1
        answer(model)
    moved = [not torch.allclose(seen[0][:, h], seen[1][:, h]) for h in range(4)]
    assert moved == [False, False, True, True]


def test_models_that_share_a_config_are_visited_in_two_threads():
    config = tiny.CONFIGS["bert"]()
    models = [wrap(tiny.make("bert", config=config), tiny.tokenizer()) for _ in range(2)]
    assert models[0].model.config is models[1].model.config
    plain = answer(models[0])
    inside, leave = threading.Event(), threading.Event()
    failures = []

    def hold():
        try:
            with models[1].visit(attention=everywhere(models[1].sites, lambda w: w * 0)):
                answer(models[1])
                inside.set()
                leave.wait(20)
                assert not torch.equal(answer(models[1]), plain)
        except BaseException as error:  # noqa: BLE001 - handed to the test
            failures.append(error)
            inside.set()

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(20)
    with models[0].visit(attention=everywhere(models[0].sites, lambda w: None)) as seen:
        torch.testing.assert_close(answer(models[0]), plain)
    assert len(seen.reached) == 2
    leave.set()
    thread.join(20)
    assert not failures
    assert config._attn_implementation == "sdpa"
    assert torch.equal(answer(models[0]), plain)


def test_another_thread_that_runs_the_bare_model_sees_no_hooks():
    model = tiny.made("bert")
    trial = make_trial(model, "right")
    plain = trial.answer()
    got = []
    with model.visit(
        outputs=everywhere(model.sites, closed), attention=everywhere(model.sites, lambda w: w * 0)
    ) as seen:
        thread = threading.Thread(target=lambda: got.append(trial.answer()))
        thread.start()
        thread.join(20)
        assert not seen.reached
        assert not torch.equal(trial.answer(), plain)
    assert torch.equal(got[0], plain)


def test_a_model_wrapped_twice_has_one_lock():
    model = tiny.make("bert")
    assert wrap(model, tiny.tokenizer()).lock is wrap(model, tiny.tokenizer()).lock


@pytest.mark.parametrize("family", ["gpt2", "llama", "gemma2", "mistral", "bloom", "t5", "marian"])
def test_gates_act_on_every_step_of_generate(family):
    model = tiny.made(family, "seq2seq" if family in tiny.SEQ2SEQ else "causal")
    ids = torch.tensor([[7, 8, 9, 10, 11, 5]])
    options = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    with model.visit(outputs=everywhere(model.sites, closed)) as seen:
        gated = model.model.generate(ids, use_cache=True, **options)
        assert set(seen.reached.values()) <= {1, 4}
        assert model.model.generate(ids, use_cache=False, **options).tolist() == gated.tolist()
    decoder = [site for site in model.sites if site.kind != "encoder"]
    assert all(seen.reached[site] == 8 for site in decoder)


def test_a_flash_model_falls_to_an_implementation_that_keeps_maps():
    assert maps.switched("flash_attention_2", tiny.CONFIGS["llama"]()) == "headwidgets:sdpa"
    assert maps.switched("flash_attention_2", tiny.CONFIGS["gemma2"]()) == "headwidgets:eager"
    assert maps.switched("flex_attention", tiny.CONFIGS["gpt_oss"](), supports_sdpa=False) == "headwidgets:eager"


def test_gradients_pass_gates_and_maps_in_training():
    model = tiny.made("bert", "sequence")
    model.model.train()
    gates = torch.ones(4, requires_grad=True)
    with model.visit(outputs=everywhere(model.sites, lambda h: h * gates[:, None]), evaluation=False):
        assert model.model.training
        main_output(model.forward(make_trial(model, "right").inputs)).sum().backward()
    assert gates.grad is not None
    assert gates.grad.abs().min() > 0


def test_gradient_checkpointing_runs_the_gates_again():
    grads = []
    for checkpointing in (False, True):
        model = tiny.made("llama", "causal")
        if checkpointing:
            enable = "activation_checkpointing_enable"  # the older name goes with transformers 6
            getattr(model.model, enable, model.model.gradient_checkpointing_enable)()
        model.model.train()
        with model.visit(outputs=everywhere(model.sites, closed), evaluation=False):
            main_output(model.forward(make_trial(model, "right").inputs)).square().mean().backward()
        grads.append(model.sites[0].attention.q_proj.weight.grad)
    torch.testing.assert_close(*grads)
    assert not grads[0][: model.sites[0].head_dim].any()  # the closed head learns nothing


def test_a_family_without_maps_is_refused_by_name():
    model = tiny.made("longformer")
    asked = model.visit(attention={model.sites[0]: lambda w: None})
    with pytest.raises(UnsupportedError, match="LongformerModel has no attention maps"):
        asked.__enter__()
    with model.visit(outputs={model.sites[0]: closed}) as seen:
        answer(model)
    assert seen.reached


def test_a_site_that_is_not_reached_is_named():
    model = tiny.made("bloom")
    model.model.h[1].forward = lambda hidden, *_, **__: (hidden, None)
    with (
        pytest.raises(
            UnsupportedError, match="without reaching 1 of its attention sites, the first is decoder layer 1"
        ),
        model.visit(outputs=everywhere(model.sites, closed)),
    ):
        answer(model)


def test_idle_hooks_cost_next_to_nothing():
    """Counted, not timed: an idle visit adds one Python call for each site and pass, and no tensor operation."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Count(TorchDispatchMode):
        operations = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            Count.operations += func.__name__ not in ("view.default", "_unsafe_view.default")
            return func(*args, **(kwargs or {}))

    model = tiny.made("bert")
    trial = make_trial(model, "right")
    with Count():
        trial.run()
    bare, Count.operations = Count.operations, 0
    with model.visit(outputs=everywhere(model.sites, lambda heads: None)), Count():
        trial.run()
    assert Count.operations == bare
