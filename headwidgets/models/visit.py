"""One visit to a model: every hook goes on at entry, comes off at exit, and the model is as it was."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from headwidgets.errors import UnsupportedError
from headwidgets.locks import ModelLock
from headwidgets.models import maps
from headwidgets.models.maps import MapHandler
from headwidgets.models.sites import Site
from headwidgets.models.taps import tapped

OutputHandler = Callable[[Tensor], Tensor | None]
"""Takes the heads' outputs [batch, query, heads, head_dim]; returns what replaces them, or None."""


class Visit:
    """What happened during a visit: how often each asked-for site was reached."""

    def __init__(self) -> None:
        self.passes = 0
        """Forward passes begun."""
        self.reached: dict[Site, int] = {}
        """Times each asked-for site ran."""


_locks: WeakKeyDictionary[nn.Module, Any] = WeakKeyDictionary()


def lock_of(model: nn.Module) -> Any:
    """The one re-entrant lock of a model, however often it is wrapped."""
    return _locks.setdefault(model, ModelLock())


class _Turns:
    """Counts the calls of a module that serves several sites, anew in each forward pass."""

    def __init__(self) -> None:
        self.count = 0

    def next(self) -> int:
        self.count += 1
        return self.count - 1


class _Watch:
    """One visit's own state: whose calls count, and which sites' turn it is."""

    def __init__(self, lock: Any) -> None:
        self.seen = Visit()
        self.turns: list[_Turns] = []
        self._owned: Callable[[], bool] = getattr(lock, "_is_owned", lambda: True)

    def applies(self) -> bool:
        """Whether the call comes from the visitor: another thread that runs the bare model must not see our hooks.

        Autograd's own threads, which run a checkpointed block again, count as the visitor's.
        """
        return self._owned() or isinstance(threading.current_thread(), threading._DummyThread)

    def reached(self, site: Site) -> None:
        self.seen.reached[site] = self.seen.reached.get(site, 0) + 1

    def turn(self) -> _Turns:
        self.turns.append(_Turns())
        return self.turns[-1]

    def begin(self, *_: Any) -> None:
        if self.applies():
            self.seen.passes += 1
            for turn in self.turns:
                turn.count = 0


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
    innermost: bool = False,
) -> Iterator[Visit]:
    """Hold the model's lock, put hooks on, and put everything back, also after an exception.

    Hooks act on calls by the thread that holds the lock only. Visits may be nested; the outer one's handlers run first.

    Args:
        model: A HeadModel (its ``model`` and ``lock`` are used).
        outputs: By site, a function of the heads' outputs before the output projection.
        attention: By site, a function of the attention map; the site computes probabilities while it is there.
        evaluation: Switch to eval mode for the time of the visit.
        innermost: `outputs` see what the heads say before the handlers of visits around this one change it.

    Raises:
        UnsupportedError: a site has no maps, or a forward pass went by without reaching an asked-for site.
    """
    outputs = dict(outputs or {})
    attention = dict(attention or {})
    root: nn.Module = model.model
    for site in attention:
        if not site.has_map:
            raise UnsupportedError(
                f"{type(root).__name__} has no attention maps ({type(site.attention).__name__} attends in a sliding "
                "band, not by a [query, key] map); gates and pruning work, maps and what is made of them do not"
            )
    with model.lock, ExitStack() as stack:
        watch = _Watch(model.lock)
        if evaluation:
            stack.enter_context(evaluating(root))
        for projection, sites in _grouped(outputs, lambda s: s.projection).items():
            stack.enter_context(_hooked(projection, sites, outputs, watch, innermost))
        _visit_maps(stack, root, attention, watch)
        stack.callback(root.register_forward_pre_hook(watch.begin).remove)
        yield watch.seen
        _check_reached(root, [*outputs, *attention], watch.seen)


def _check_reached(root: nn.Module, sites: list[Site], seen: Visit) -> None:
    missing = [site for site in sites if seen.passes and not seen.reached.get(site)]
    if missing:
        raise UnsupportedError(
            f"{type(root).__name__} ran without reaching {len(missing)} of its attention sites, the first is "
            f"{missing[0].kind} layer {missing[0].layer}: this family does not compute it through the module that "
            "headwidgets expects, or these inputs do not use it"
        )


@contextmanager
def evaluating(root: nn.Module) -> Iterator[None]:
    """Eval mode for a while; every module's own mode is put back."""
    training = [module for module in root.modules() if module.training]
    for module in training:
        module.training = False
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
def padding_told(root: Any, inputs: dict[str, Tensor]) -> Iterator[dict[str, Tensor]]:
    """Inputs that a classifier over the last token can tell from padding, where its config names no padding token.

    Such a model (GPT-2, Llama) refuses several texts at once. For the time of one pass the padding becomes a token that
    none of the texts has, and the config names it.
    """
    config = root.config
    ids, mask = inputs.get("input_ids"), inputs.get("attention_mask")
    refuses = "SequenceClassification" in type(root).__name__ and getattr(config, "pad_token_id", 0) is None
    if not refuses or ids is None or mask is None or len(ids) == 1:
        yield inputs
        return
    used = set(ids[mask.bool()].tolist())
    spare = next((token for token in range(int(config.vocab_size)) if token not in used), None)
    if spare is None:
        raise UnsupportedError(
            f"{type(root).__name__} has no padding token and the texts use its whole vocabulary; set "
            "model.config.pad_token_id, or pass one text at a time"
        )
    config.pad_token_id = spare
    try:
        yield {**inputs, "input_ids": ids.masked_fill(~mask.bool(), spare)}
    finally:
        config.pad_token_id = None


@contextmanager
def _hooked(
    projection: nn.Module, sites: list[Site], handlers: Mapping[Site, OutputHandler], watch: _Watch, innermost: bool
) -> Iterator[None]:
    turn = watch.turn()

    def hook(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        if not watch.applies():
            return None
        hidden = args[0]
        changed = hidden
        for site in _due(sites, turn.next()):
            watch.reached(site)
            heads = changed.view(*changed.shape[:-1], site.n_heads, site.head_dim)
            replaced = handlers[site](heads)
            if replaced is not None:
                changed = replaced.reshape(hidden.shape)
        return None if changed is hidden else (changed, *args[1:])

    handle = projection.register_forward_pre_hook(hook, prepend=innermost)
    try:
        yield
    finally:
        handle.remove()


def _visit_maps(stack: ExitStack, root: nn.Module, handlers: Mapping[Site, MapHandler], watch: _Watch) -> None:
    """Say what each attention module's call has to do, and let registered ones run under our name."""
    if any(site.registered for site in handlers):
        stack.callback(maps.switch(root))
    for module, sites in _grouped(handlers, lambda s: s.attention).items():
        ask = _asking(sites, handlers, watch)
        if sites[0].registered:
            maps.active.setdefault(id(module), []).append(ask)
            stack.callback(_forget, id(module), ask)
        else:
            stack.enter_context(tapped(module, sites[0].n_heads, ask))


def _forget(key: int, ask: Callable[[], list[MapHandler]]) -> None:
    maps.active[key].remove(ask)
    if not maps.active[key]:
        del maps.active[key]


def _asking(sites: list[Site], handlers: Mapping[Site, MapHandler], watch: _Watch) -> Callable[[], list[MapHandler]]:
    turn = watch.turn()

    def ask() -> list[MapHandler]:
        if not watch.applies():
            return []
        return [_checked(site, handlers[site], watch) for site in _due(sites, turn.next())]

    return ask


def _checked(site: Site, handler: MapHandler, watch: _Watch) -> MapHandler:
    def handle(weights: Tensor) -> Tensor | None:
        if weights.dim() != 4 or weights.shape[1] != site.n_heads:
            raise UnsupportedError(
                f"{site.kind} layer {site.layer}: expected a map [batch, {site.n_heads} heads, query, key], the model "
                f"computed one of shape {list(weights.shape)}"
            )
        watch.reached(site)
        return handler(weights)

    return handle
