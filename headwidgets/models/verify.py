"""`verify`: does what we see and change agree with the bare model? On inputs of its own, number by number."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from headwidgets.errors import VerificationError
from headwidgets.models import maps
from headwidgets.models.families import Kind
from headwidgets.models.generation import generation_check
from headwidgets.models.quiet import quiet
from headwidgets.models.report import Check, VerificationReport
from headwidgets.models.sites import Site
from headwidgets.models.trials import PADDED, Trial, main_output, make_trial
from headwidgets.models.visit import frozen

OutputOf = Callable[[Tensor, Site], Tensor | None]
MapOf = OutputOf


class Verifier:
    """Runs the checks of one model and one trial; the first wrong number does not stop the others."""

    def __init__(self, model: Any, trial: Trial) -> None:
        self.model = model
        self.trial = trial
        self.root: nn.Module = model.model
        self.checks: list[Check] = []
        epsilon = torch.finfo(next(p for p in self.root.parameters() if p.is_floating_point()).dtype).eps
        self.half = epsilon > 1e-6
        self.exact = max(1e-5, 4 * epsilon)
        """Allowed between two ways to the same map, and (relative to the output) with the same maps."""
        self.loose = max(1e-4, 32 * epsilon)
        """Allowed between two implementations of attention, relative to the output."""
        self.mapped: list[Site] = [site for site in model.sites if site.has_map]
        generator = torch.Generator().manual_seed(1)
        self.gates = {site: _half_closed(site, generator).to(model.device) for site in model.sites}
        self.bare = trial.answer()

    def add(self, name: str, passed: bool | None, detail: str = "", **numbers: float) -> None:
        """Add a line."""
        self.checks.append(Check(f"{name} (padding {self.trial.padding})", passed, detail, **numbers))

    def close(self, name: str, got: Tensor, expected: Tensor, tolerance: float, detail: str = "") -> None:
        """Compare relative to the largest expected value, or to 1 where that is smaller."""
        scale = max(1.0, float(expected.abs().max()))
        errors = (got - expected).abs().float().flatten() / scale
        # in half precision rounding may send a token to another expert: nine in ten numbers must agree
        error = float(errors.quantile(0.9) if self.half else errors.max())
        self.add(name, error <= tolerance, detail, error=error, tolerance=tolerance)

    def gate(self, factor: float) -> OutputOf:
        """Heads' outputs [batch, query, heads, head_dim] with the closed ones times `factor`."""
        return lambda heads, site: heads * self._factors(site, factor).to(heads.dtype)[:, None]

    def scale(self, factor: float) -> MapOf:
        """Maps [batch, heads, query, key] with the closed ones times `factor`."""
        return lambda weights, site: weights * self._factors(site, factor).to(weights.dtype)[:, None, None]

    def _factors(self, site: Site, factor: float) -> Tensor:
        return torch.where(self.gates[site], factor, 1.0)

    def visited(
        self,
        outputs: OutputOf | None = None,
        attention: MapOf | None = None,
    ) -> Tensor:
        """The answer with handlers at every site."""
        with self.model.visit(
            outputs={} if outputs is None else _at(self.model.sites, outputs),
            attention={} if attention is None else _at(self.mapped, attention),
        ):
            return self.trial.answer()

    # ---- the checks ---------------------------------------------------------------------------------

    def idle(self) -> None:
        """Hooks that change nothing change no bit."""
        same = torch.equal(self.visited(outputs=_idle), self.bare)
        self.add("idle hooks leave the output as it is, to the bit", same)

    def bystanders(self) -> None:
        """Sites before the one whose map is asked for run the bare implementation."""
        last = self.mapped[-1]
        if last.calls > 1 or any(c._attn_implementation not in (None, *maps.BASES) for c in maps.configs(self.root)):
            return
        bare: dict[Site, Tensor] = {}
        with self.model.visit(outputs=_at(self.model.sites, lambda heads, site: bare.update({site: heads}))):
            self.trial.run()
        ordered = list(bare)
        before = ordered[: ordered.index(last)]
        seen: dict[Site, Tensor] = {}
        handlers = _at(before, lambda heads, site: seen.update({site: heads}))
        with self.model.visit(outputs=handlers, attention={last: lambda weights: None}):
            self.trial.run()
        same = all(_same_bits(seen[site], bare[site]) for site in before)
        self.add("sites that nobody asked about run as before, to the bit", same)

    def captured(self) -> dict[Site, Tensor]:
        """Maps are finite, sum to one, leave padding out, and carry the model's own output."""
        found: dict[Site, Tensor] = {}
        answer = self.visited(attention=lambda weights, site: found.update({site: weights}))
        self.close("output with our maps equals the bare model's", answer, self.bare, self.loose)
        worst_sum = 0.0
        for site, weights in found.items():
            rows = self._rows(weights, site)
            if not torch.isfinite(rows).all():
                self.add("maps are finite", False, f"{_name(site)} holds NaN or infinite weights")
                continue
            worst_sum = max(worst_sum, float((rows.sum(-1) - 1).abs().max()))
        if self.model.family.rows_sum_to_one:
            self.add("rows of maps sum to 1", worst_sum <= self.exact, error=worst_sum, tolerance=self.exact)
        else:
            self.add("rows of maps sum to 1", None, self.model.family.note)
        return found

    def _on_padding(self, found: Mapping[Site, Tensor]) -> float:
        """The largest weight that a query gives to padding."""
        weights = [
            found[site]
            * ~self.trial.keys[site.kind][:, None, None, :]
            * self.trial.queries[site.kind][:, None, :, None]
            for site in found
        ]
        return max(float(each.abs().max()) for each in weights)

    def _rows(self, weights: Tensor, site: Site) -> Tensor:
        """[rows, heads, key]: the queries that are no padding."""
        return weights.float().transpose(1, 2)[self.trial.queries[site.kind]]

    def eager(self, found: Mapping[Site, Tensor]) -> None:
        """Our maps equal what the bare model returns under eager attention."""
        name = "maps equal eager's output_attentions"
        with _eager(self.root):
            output = self.trial.run(output_attentions=True)
            answer = self.trial.real(main_output(output))
            apart = float((answer - self.bare).abs().max()) / max(1.0, float(self.bare.abs().max()))
            if self.half or apart > self.loose:  # a like-for-like comparison: our maps of the eager model
                found = dict(found)
                self.visited(attention=lambda weights, site: found.update({site: weights}))
        if not self.half and apart > self.loose:
            self.add("eager agrees with the model's implementation", None, f"the bare model differs by {apart:.1e}")
        leaked, own = self._on_padding(found), 0.0
        for kind in self.model.kinds:
            sites = [site for site in self.model.sites_of(kind) if site in found]
            returned = getattr(output, _tuple_name(self.model, kind), None)
            theirs = {} if returned is None else _by_site(sites, list(returned))
            if not theirs:
                self.add(f"{name}, {kind}", None, "eager does not return them for this family")
                continue
            own = max(own, self._on_padding(theirs))
            errors = [float((self._rows(found[s], s) - self._rows(theirs[s], s)).abs().max()) for s in sites]
            worst = max(range(len(errors)), key=errors.__getitem__)
            passed = errors[worst] <= self.exact
            detail = "" if passed else f"worst in {_name(sites[worst])}"
            self.add(f"{name}, {kind}", passed, detail, error=errors[worst], tolerance=self.exact)
        if own > 1e-6:
            self.add("padding gets no attention", None, f"the bare model itself gives it up to {own:.1e}")
        else:
            self.add("padding gets no attention", leaked <= 1e-6, error=leaked, tolerance=1e-6)

    def gates_and_maps(self) -> None:
        """A gate is a factor on the map."""
        for factor in (0.0, 0.5):
            gated = self.visited(outputs=self.gate(factor))
            if torch.equal(gated, self.bare):
                self.add(f"gates at {factor:g} change the output", False)
            name = f"gates at {factor:g} equal maps times {factor:g}"
            if not self.mapped:
                continue
            if not self.model.family.gates_scale_maps:
                self.add(name, None, self.model.family.note)
                continue
            scaled = self.visited(attention=self.scale(factor))
            both = self.visited(outputs=self.gate(factor), attention=_idle)
            self.close(name, scaled, both, self.exact)
            self.close(f"gates at {factor:g} act alike without maps", gated, both, self.loose)

    def replaced(self) -> None:
        """A map replaced by its own copy changes nothing; a changed one does."""
        reference = self.visited(attention=_idle)
        same = torch.equal(self.visited(attention=lambda weights, site: weights.clone()), reference)
        self.add("replacing maps by themselves changes nothing, to the bit", same)
        uniform = self.visited(attention=lambda weights, site: torch.full_like(weights, 1 / weights.shape[-1]))
        self.add("replacing maps by others changes the output", not torch.equal(uniform, reference))

    def gradients(self) -> None:
        """Every map of every site has a gradient."""
        leaves: dict[Site, Tensor] = {}

        def leaf(weights: Tensor, site: Site) -> Tensor:
            leaves[site] = weights.detach().requires_grad_()
            return leaves[site]

        with frozen(self.root), self.model.visit(attention=_at(self.mapped, leaf)), torch.enable_grad():
            answer = self.trial.real(main_output(self.model.forward(self.trial.inputs))).float()
            noise = torch.randn(answer.shape, generator=torch.Generator().manual_seed(2)).to(answer.device)
            grads = torch.autograd.grad((answer * noise).sum(), list(leaves.values()), allow_unused=True)
        for site, grad in zip(leaves, grads, strict=True):
            if grad is None or not torch.isfinite(grad).all() or not grad.any():
                self.add("gradients reach every map", False, f"{_name(site)} has none")
                return
        self.add("gradients reach every map", True)

    def restored(self) -> None:
        """Whatever a visit changes is put back when its block raises."""

        class Interrupted(Exception):
            pass

        before = state_of(self.root)
        try:
            with (
                frozen(self.root),
                self.model.visit(
                    outputs=_at(self.model.sites, _idle),
                    attention=_at(self.mapped, _idle),
                ),
            ):
                self.trial.run()
                raise Interrupted
        except Interrupted:
            pass
        changed = [name for name, value in state_of(self.root).items() if before[name] != value]
        self.add("all is put back after an exception", not changed, f"changed: {', '.join(changed)}" if changed else "")

    def run(self) -> list[Check]:
        """Every check of this trial."""
        self.idle()
        if self.mapped:
            self.bystanders()
            found = self.captured()
            self.eager(found)
            self.replaced()
            self.gradients()
        else:
            self.add("maps", None, self.model.family.note)
        self.gates_and_maps()
        self.restored()
        return self.checks


def _at(sites: list[Site], handler: OutputOf) -> dict[Site, Callable[[Tensor], Tensor | None]]:
    def bound(site: Site) -> Callable[[Tensor], Tensor | None]:
        return lambda tensor: handler(tensor, site)

    return {site: bound(site) for site in sites}


def _idle(_: Tensor, __: Site) -> None:
    return None


def _half_closed(site: Site, generator: torch.Generator) -> Tensor:
    """Bool [heads]: which gates this verification closes; at least one, and not all where there are two."""
    closed = torch.zeros(site.n_heads, dtype=torch.bool)
    closed[torch.randperm(site.n_heads, generator=generator)[: max(1, site.n_heads // 2)]] = True
    return closed


def _name(site: Site) -> str:
    return f"{site.kind} layer {site.layer}"


def _same_bits(a: Tensor, b: Tensor) -> bool:
    return bool(((a == b) | (a.isnan() & b.isnan())).all())


def _tuple_name(model: Any, kind: Kind) -> str:
    if kind == "cross":
        return "cross_attentions"
    return f"{kind}_attentions" if {"encoder", "decoder"} <= set(model.kinds) else "attentions"


def _by_site(sites: list[Site], returned: list[Any]) -> dict[Site, Tensor]:
    """Returned maps by site; a hybrid returns one for each layer or one for each attention."""
    if len(returned) != len(sites):
        returned = [returned[site.layer] for site in sites] if len(returned) > sites[-1].layer else []
    if len(returned) != len(sites) or not all(isinstance(m, Tensor) and m.dim() == 4 for m in returned):
        return {}
    return dict(zip(sites, returned, strict=True))


_INSTALLED = "_output_capturing_hooks_installed"


@contextmanager
def _eager(root: nn.Module) -> Iterator[None]:
    """Eager attention in every config for a while; the hooks that transformers leaves behind are taken off."""
    hooks = [(module, set(module._forward_hooks), module.__dict__.get(_INSTALLED)) for module in root.modules()]
    with ExitStack() as stack:
        for config in maps.configs(root):
            stack.callback(maps.set_implementation, config, config._attn_implementation)
            maps.set_implementation(config, "eager")
        try:
            yield
        finally:
            for module, known, installed in hooks:
                for key in [key for key in module._forward_hooks if key not in known]:
                    del module._forward_hooks[key]
                if installed is None:
                    module.__dict__.pop(_INSTALLED, None)


def state_of(root: nn.Module) -> dict[str, Any]:
    """What a visit must leave as it was, by name."""
    modules = list(root.modules())
    parameters = list(root.parameters())
    return {
        "attention implementation": [config._attn_implementation for config in maps.configs(root)],
        "hooks": [(len(m._forward_hooks), len(m._forward_pre_hooks), len(m._backward_hooks)) for m in modules],
        "forward": [m.__dict__.get("forward") for m in modules],
        "training mode": [m.training for m in modules],
        "requires_grad": [p.requires_grad for p in parameters],
        "gradient": [p.grad is None for p in parameters],
        "weights": [p._version for p in parameters if not p.is_inference()],
        "gradient checkpointing": [getattr(m, "gradient_checkpointing", None) for m in modules],
        "random state": torch.get_rng_state().tolist(),
    }


def _check_finite(model: Any) -> None:
    """Refuse weights that are NaN or infinite, by name and layer."""
    for name, parameter in model.model.named_parameters():
        if parameter.is_floating_point() and not torch.isfinite(parameter).all():
            of = next((s for s in model.sites if any(parameter is p for p in s.block.parameters())), None)
            where = f"{of.kind} layer {of.layer}: " if of is not None else ""
            raise VerificationError(
                f"{where}the weights {name!r} hold NaN or infinite numbers; load the model again, or check its training"
            )


def verify(model: Any, *, seed: int = 0) -> VerificationReport:
    """Compare hooks, maps and gates with the bare model, on random ids with unequal padding on either side.

    Args:
        model: A HeadModel.
        seed: Of the random ids.

    Returns:
        A report; what a family lacks is a line in it.

    Raises:
        VerificationError: a number is wrong, or a weight is not finite; the message is the report.
        UnsupportedError: the model ran without reaching its attention sites.
    """
    with model.lock, quiet():
        _check_finite(model)
        before = state_of(model.model)
        checks: list[Check] = []
        for side in PADDED:
            trial = make_trial(model, side, seed)
            checks += Verifier(model, trial).run() if trial.meaningful else []
        checks += [Check(*line) for line in generation_check(model, seed)]
        changed = [name for name, value in state_of(model.model).items() if before[name] != value]
        checks.append(
            Check("the model is as it was found", not changed, f"changed: {', '.join(changed)}" if changed else "")
        )
    report = VerificationReport(
        type(model.model).__name__,
        str(getattr(model.model.config, "model_type", "")),
        f"torch {torch.__version__}, transformers {transformers.__version__}",
        tuple(checks),
    )
    if not report.ok:
        raise VerificationError(str(report))
    return report
