"""One visit to a model: every hook goes on at entry, comes off at exit, and the model is as it was."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from headwidgets.errors import UnsupportedError
from headwidgets.models import maps
from headwidgets.models.maps import MapHandler
from headwidgets.models.sites import Site

OutputHandler = Callable[[Tensor], Tensor | None]
"""Takes the heads' outputs [batch, query, heads, head_dim]; returns what replaces them, or None."""


class Visit:
    """What happened during a visit: how often each asked-for site was reached."""

    def __init__(self) -> None:
        self.passes = 0
        """Forward passes begun."""
        self.reached: dict[Site, int] = {}
        """Times each asked-for site ran."""


class _Turns:
    """Counts the calls of a module that serves several sites, anew in each forward pass."""

    def __init__(self) -> None:
        self.count = 0

    def next(self) -> int:
        self.count += 1
        return self.count - 1


def _grouped(sites: Mapping[Site, Any], module_of: Callable[[Site], nn.Module]) -> dict[nn.Module, list[Site]]:
    groups: dict[nn.Module, list[Site]] = {}
    for site in sites:
        groups.setdefault(module_of(site), []).append(site)
    return groups


def _due(sites: list[Site], turn: int) -> list[Site]:
    """Which of a module's sites this call is."""
    return [site for site in sites if site.calls == 1 or site.call == turn % site.calls]


@contextmanager
def visit(
    model: Any,
    *,
    outputs: Mapping[Site, OutputHandler] | None = None,
    attention: Mapping[Site, MapHandler] | None = None,
    evaluation: bool = True,
) -> Iterator[Visit]:
    """Hold the model's lock, put hooks on, and put everything back, also after an exception.

    Args:
        model: A HeadModel (its ``model`` and ``lock`` are used).
        outputs: By site, a function of the heads' outputs before the output projection.
        attention: By site, a function of the attention map; the site computes probabilities while it is there.
        evaluation: Switch to eval mode for the time of the visit.

    Raises:
        UnsupportedError: a site has no maps, or a forward pass went by without reaching an asked-for site.
    """
    outputs = dict(outputs or {})
    attention = dict(attention or {})
    seen = Visit()
    turns: list[_Turns] = []
    root: nn.Module = model.model
    with model.lock, ExitStack() as stack:
        if evaluation:
            stack.enter_context(evaluating(root))
        for projection, sites in _grouped(outputs, lambda s: s.projection).items():
            stack.enter_context(_hooked_projection(projection, sites, outputs, seen, turns))
        registered = {site: f for site, f in attention.items() if site.probabilities is None}
        for site in attention.keys() - registered.keys():
            stack.enter_context(_hooked_dropout(site, attention[site], seen))
        if registered:
            stack.enter_context(_registered(root, registered, seen, turns))

        def begin(*_: Any) -> None:
            seen.passes += 1
            for turn in turns:
                turn.count = 0

        stack.callback(root.register_forward_pre_hook(begin).remove)
        yield seen
        missing = [s for s in {**outputs, **attention} if seen.passes and not seen.reached.get(s)]
        if missing:
            raise UnsupportedError(
                f"{type(root).__name__} ran without reaching {len(missing)} of its attention sites, the first is "
                f"{missing[0].kind} layer {missing[0].layer}: this family does not compute it through the module that "
                "headwidgets expects"
            )


@contextmanager
def evaluating(root: nn.Module) -> Iterator[None]:
    """Eval mode for a while; every module's own mode is put back."""
    training = [module for module in root.modules() if module.training]
    root.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


@contextmanager
def frozen(root: nn.Module) -> Iterator[None]:
    """Parameters without gradient for a while; each one's own ``requires_grad`` is put back."""
    learning = [p for p in root.parameters() if p.requires_grad]
    for parameter in learning:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in learning:
            parameter.requires_grad_(True)


@contextmanager
def _hooked_projection(
    projection: nn.Module,
    sites: list[Site],
    handlers: Mapping[Site, OutputHandler],
    seen: Visit,
    turns: list[_Turns],
) -> Iterator[None]:
    turn = _Turns()
    turns.append(turn)

    def hook(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        hidden = args[0]
        changed = hidden
        for site in _due(sites, turn.next()):
            seen.reached[site] = seen.reached.get(site, 0) + 1
            heads = changed.view(*changed.shape[:-1], site.n_heads, site.head_dim)
            replaced = handlers[site](heads)
            if replaced is not None:
                changed = replaced.reshape(hidden.shape)
        return None if changed is hidden else (changed, *args[1:])

    handle = projection.register_forward_pre_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _hooked_dropout(site: Site, handler: MapHandler, seen: Visit) -> Iterator[None]:
    """Families outside the registry: their maps pass through a dropout module of their own."""
    assert site.probabilities is not None

    def hook(_: nn.Module, __: Any, weights: Tensor) -> Tensor | None:
        seen.reached[site] = seen.reached.get(site, 0) + 1
        return handler(weights)

    handle = site.probabilities.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _registered(
    root: nn.Module, handlers: Mapping[Site, MapHandler], seen: Visit, turns: list[_Turns]
) -> Iterator[None]:
    """Families in the registry: switch the implementation's name, and say what each module's call has to do."""
    maps.register()

    def due(sites: list[Site], turn: _Turns) -> Callable[[], list[MapHandler]]:
        def ask() -> list[MapHandler]:
            now = _due(sites, turn.next())
            for site in now:
                seen.reached[site] = seen.reached.get(site, 0) + 1
            return [handlers[site] for site in now]

        return ask

    entries: list[tuple[int, Callable[[], list[MapHandler]]]] = []
    configs = [(config, config._attn_implementation) for config in maps.configs(root)]
    try:
        for module, sites in _grouped(handlers, lambda s: s.attention).items():
            turn = _Turns()
            turns.append(turn)
            entry = due(sites, turn)
            maps.active.setdefault(id(module), []).append(entry)
            entries.append((id(module), entry))
        for config, implementation in configs:
            config._attn_implementation_internal = maps.switched(implementation)
        yield
    finally:
        for config, implementation in configs:
            config._attn_implementation_internal = implementation
        for key, entry in entries:
            maps.active[key].remove(entry)
            if not maps.active[key]:
                del maps.active[key]
