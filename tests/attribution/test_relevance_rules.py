"""Rules of relevance, one step at a time, against slow and obvious versions of their formulas."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from headwidgets.attribution.relevance import rules
from headwidgets.attribution.relevance.ledger import Ledger
from headwidgets.attribution.relevance.rules import Rule
from headwidgets.attribution.relevance.tracing import InPlace, Tracing

EPS = 1e-5


def rule(name, eps=EPS, full=True, shared=True, rescale=False):
    return Rule(name, eps, full, shared, rescale)


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def traced(function, inputs, relevance, by, copies=False):
    """Relevance of the inputs of any function, with the ledger."""
    ledger = Ledger(inputs[0].shape[0])
    leaves = [x.clone().requires_grad_() for x in inputs]
    with Tracing(by, ledger, copies):
        made = function(*leaves)
    found = torch.autograd.grad(made, leaves, relevance.expand_as(made), allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(leaves, found, strict=True)], made, ledger


def slow_transition(z, eps=EPS):
    """T [out, in] of products z [out, in], entry by entry: 0.5 z+ / (sum z+ + eps) + 0.5 z- / (sum z- - eps)."""
    made = np.zeros_like(z)
    for i, row in enumerate(z):
        above = sum(v for v in row if v > 0) + eps
        below = sum(v for v in row if v < 0) - eps
        for j, v in enumerate(row):
            made[i, j] = 0.5 * max(v, 0) / above + 0.5 * min(v, 0) / below
    return made


def slow_joint(function, inputs, relevance, eps=EPS):
    """The published z+/z- rule on one sample: dense Jacobian of all inputs, the value at zero shared equally."""
    jacobians = torch.autograd.functional.jacobian(function, tuple(inputs))
    size = relevance.numel()
    flat = torch.cat([j.reshape(size, -1) for j in jacobians], 1).numpy()
    values = torch.cat([x.reshape(-1) for x in inputs]).numpy()
    at_zero = function(*(torch.zeros_like(x) for x in inputs)).reshape(-1).numpy()
    z = flat * values + at_zero[:, None] / len(values)
    return relevance.reshape(-1).numpy() @ slow_transition(z, eps)


def test_linear_plus_minus_is_the_published_transition():
    x, weight, bias, arriving = draw(5), draw(3, 5, seed=1), draw(3, seed=2), draw(3, seed=3)
    shared = weight.numpy() * x.numpy() + bias.numpy()[:, None] / 5
    [part], made, _ = traced(lambda t: F.linear(t, weight, bias), [x[None]], arriving, rule("plus-minus"))
    torch.testing.assert_close(made[0], F.linear(x, weight, bias))
    np.testing.assert_allclose(part[0], arriving.numpy() @ slow_transition(shared), rtol=1e-10)
    own = np.concatenate([weight.numpy() * x.numpy(), bias.numpy()[:, None]], 1)  # the bias as a sixth input
    by = rule("plus-minus", shared=False)
    [part], _, ledger = traced(lambda t: F.linear(t, weight, bias), [x[None]], arriving, by)
    wanted = arriving.numpy() @ slow_transition(own)
    np.testing.assert_allclose(part[0], wanted[:5], rtol=1e-10)
    assert ledger.lost[None, "bias"][0] == pytest.approx(wanted[5])


def test_pieces_of_a_dense_step_make_the_whole(monkeypatch):
    x, weight, bias, arriving = draw(2, 3, 7), draw(11, 7, seed=1), draw(11, seed=2), draw(2, 3, 11, seed=3)
    arriving[0, 1] = 0
    arriving[..., 4] = 0
    [whole], *_ = traced(lambda t: F.linear(t, weight, bias), [x], arriving, rule("plus-minus"))
    monkeypatch.setitem(rules._CHUNK, "cpu", 20)
    [pieces], *_ = traced(lambda t: F.linear(t, weight, bias), [x], arriving, rule("plus-minus"))
    torch.testing.assert_close(pieces, whole)
    assert not pieces[0, 1].any()


@pytest.mark.parametrize("norm", [nn.LayerNorm(6), nn.RMSNorm(6, eps=1e-6)])
def test_a_norm_takes_its_full_jacobian_under_plus_minus(norm):
    norm = norm.double()
    with torch.no_grad():
        for i, p in enumerate(norm.parameters()):
            p.copy_(draw(6, seed=5 + i))
    norm.requires_grad_(False)
    x, arriving = draw(6), draw(6, seed=1)
    [part], *_ = traced(norm, [x[None]], arriving, rule("plus-minus"))
    np.testing.assert_allclose(part[0], slow_joint(norm, [x], arriving), rtol=1e-8)


def attention(mask=None):
    def attend(q, k, v):
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        weights = (scores if mask is None else scores + mask).softmax(-1)
        return weights @ v

    return attend


def test_attention_is_one_step_of_queries_keys_and_values_under_plus_minus():
    q, k, v, arriving = (draw(4, 3, seed=i) for i in range(4))
    mask = torch.full((4, 4), float("-inf"), dtype=torch.float64).triu(1)
    parts, made, _ = traced(
        lambda *t: F.scaled_dot_product_attention(*t, is_causal=True),
        [t[None, None] for t in (q, k, v)],
        arriving,
        rule("plus-minus"),
    )
    torch.testing.assert_close(made[0, 0], attention(mask)(q, k, v), rtol=1e-6, atol=1e-6)  # its softmax is float32
    wanted = slow_joint(attention(mask), [q, k, v], arriving)
    np.testing.assert_allclose(torch.cat([p.reshape(-1) for p in parts]), wanted, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("full", [False, True])
def test_attention_step_by_step_is_attention_as_one_step(full):
    """Families that compute their own softmax get what the others get."""
    inputs = [draw(2, 3, 5, 4, seed=i) for i in range(3)]
    arriving = draw(2, 3, 5, 4, seed=7)
    by = rule("attnlrp", eps=1e-9, full=full)
    one, _, _ = traced(F.scaled_dot_product_attention, inputs, arriving, by)
    steps, _, _ = traced(attention(), inputs, arriving, by)
    for a, b in zip(one, steps, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)
    assert one[0].any() == full
    torch.testing.assert_close(one[2].sum(), arriving.sum() * (0.5 if full else 1.0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["ratio", "attnlrp"])
def test_a_linear_network_equals_its_closed_form(name):
    """Layers, a residual, a mean over positions: R_j = x_j dy/dx_j / y, computed from the matrices alone."""
    first, second, head = draw(6, 4), draw(4, 6, seed=1), draw(1, 4, seed=2)
    x = draw(1, 3, 4, seed=3)

    def network(t):
        return F.linear((t + F.linear(F.linear(t, first), second)).mean(1), head)

    [part], made, ledger = traced(network, [x], torch.ones(1, dtype=torch.float64), rule(name, eps=1e-12))
    row = (head @ (torch.eye(4, dtype=torch.float64) + second @ first)).squeeze(0) / 3
    torch.testing.assert_close(part[0], x[0] * row / made.item(), rtol=1e-7, atol=1e-9)
    assert abs(part.sum().item() - 1) < 1e-8  # conserved
    assert abs(sum(v[0] for v in ledger.lost.values())) < 1e-8


def test_each_step_of_a_network_without_bias_conserves():
    """Every step by itself, under the plain rules; and under the other after rescaling."""
    weights = [draw(5, 5, seed=i) for i in range(4)]
    x, ledger = draw(2, 5).requires_grad_(), Ledger(2)
    for by in (rule("ratio"), rule("attnlrp"), rule("plus-minus", rescale=True)):
        stages = [x]
        with Tracing(by, ledger, copies=False):
            for w in weights:
                stages.append(F.gelu(F.linear(stages[-1], w)) + stages[-1])
        found = torch.autograd.grad(stages[-1], stages, torch.ones(2, 5, dtype=torch.float64) / 5)
        for relevance in found:
            torch.testing.assert_close(relevance.sum(1), torch.ones(2, dtype=torch.float64), rtol=1e-2, atol=1e-2)


def test_a_linear_layer_is_gradient_times_input_as_eps_vanishes():
    x, weight, bias = draw(3, 4), draw(5, 4, seed=1), draw(5, seed=2)
    made = F.linear(x, weight, bias)
    [part], _, ledger = traced(lambda t: F.linear(t, weight, bias), [x], made, rule("attnlrp", eps=1e-13))
    leaf = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(F.linear(leaf, weight, bias).sum(), leaf)
    torch.testing.assert_close(part, x * slope)
    np.testing.assert_allclose(ledger.lost[None, "bias"], bias.sum().item())


def test_a_residual_splits_its_parents_relevance():
    a, b, arriving = draw(2, 3, 4), draw(2, 3, 4, seed=1), draw(2, 3, 4, seed=2)
    (to_a, to_b), _, _ = traced(torch.add, [a, b], arriving, rule("ratio", eps=1e-13))
    torch.testing.assert_close(to_a + to_b, arriving)
    torch.testing.assert_close(to_a, a / (a + b) * arriving, rtol=1e-6, atol=1e-8)
    (to_a, to_b), _, ledger = traced(torch.add, [a, b], arriving, rule("plus-minus"))
    z = torch.stack([a, b], -1).reshape(-1, 2).numpy()
    wanted = np.concatenate([slow_transition(row[None]) for row in z]) * arriving.reshape(-1, 1).numpy()
    np.testing.assert_allclose(torch.stack([to_a, to_b], -1).reshape(-1, 2), wanted, rtol=1e-9)
    lost = arriving.sum((1, 2)) - (to_a + to_b).sum((1, 2))  # where both have one sign, half finds no taker
    np.testing.assert_allclose(sum(ledger.lost.values()), lost)


def test_products_and_constants():
    a, b, arriving = draw(2, 4), draw(2, 4, seed=1), draw(2, 4, seed=2)
    (to_a, to_b), *_ = traced(torch.mul, [a, b], arriving, rule("attnlrp"))
    torch.testing.assert_close(to_a, arriving / 2)
    torch.testing.assert_close(to_b, arriving / 2)
    (to_a, to_b), *_ = traced(torch.mul, [a, b], arriving, rule("ratio", eps=1e-13))
    torch.testing.assert_close(to_a, arriving * a / (a + b), rtol=1e-6, atol=1e-8)
    [alone], *_ = traced(lambda t: -(3 * t) / 2, [a], arriving, rule("ratio"))
    torch.testing.assert_close(alone, arriving)
    [shifted], _, ledger = traced(lambda t: 1.5 - t, [a], arriving, rule("ratio", eps=1e-13))
    torch.testing.assert_close(shifted, arriving * -a / (1.5 - a), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ledger.lost[None, "bias"], (arriving * 1.5 / (1.5 - a)).sum(1))


def test_what_is_written_over_is_traced_with_copies():
    a, b, arriving = draw(2, 4), draw(2, 4, seed=1), draw(2, 4, seed=2)

    def over(x, y):
        made = 2 * x
        made += y
        made.mul_(3)
        return made

    with pytest.raises(InPlace):
        traced(over, [a, b], arriving, rule("ratio"))
    found, *_ = traced(over, [a, b], arriving, rule("ratio"), copies=True)
    wanted, *_ = traced(lambda x, y: (2 * x + y) * 3, [a, b], arriving, rule("ratio"))
    for own, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(own, other)


def test_an_operation_without_a_rule_is_named():
    x = draw(2, 4)
    [part], _, ledger = traced(lambda t: torch.logcumsumexp(t, 1), [x], torch.ones(2, 4).double(), rule("ratio"))
    assert ledger.plain == {"logcumsumexp": 1}
    leaf = x.clone().requires_grad_()
    made = torch.logcumsumexp(leaf, 1)
    (slope,) = torch.autograd.grad(made, leaf, 1 / (made + EPS * made.sign()).detach())
    torch.testing.assert_close(part, x * slope)
    np.testing.assert_allclose(ledger.lost[None, "fallback"], 4 - part.sum(1))
