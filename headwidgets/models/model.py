"""`HeadModel`: a user's own Hugging Face model, with its heads within reach. It is left as it was found."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from headwidgets.errors import InputError
from headwidgets.models.families import Kind
from headwidgets.models.maps import MapHandler
from headwidgets.models.sites import Site, find_sites
from headwidgets.models.visit import OutputHandler, Visit, lock_of, padding_told, visit
from headwidgets.scores import Head
from headwidgets.text.encoding import encode_all
from headwidgets.text.examples import Batch, Example, batches

if TYPE_CHECKING:
    from headwidgets.models.attend import AttentionMaps

_NO_LIMIT = 10**8


class HeadModel:
    """A transformer with its attention heads within reach.

    Attributes:
        model: The user's own `PreTrainedModel`.
        tokenizer: The user's own tokenizer.
        sites: Every attention module, by kind and layer.
        lock: Held by whoever runs the model; re-entrant.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.lock = lock_of(model)
        self.sites, self.family = find_sites(model, model.config)

    # ---- where the heads are ----------------------------------------------------------------------

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of attention the model has, of ``encoder``, ``decoder``, ``cross``."""
        return tuple(dict.fromkeys(site.kind for site in self.sites))

    def sites_of(self, kind: Kind) -> list[Site]:
        """The sites of one kind, by layer."""
        if kind not in self.kinds:
            raise InputError(f"expected a kind of attention that the model has ({', '.join(self.kinds)}), got {kind!r}")
        return [site for site in self.sites if site.kind == kind]

    def shape(self, kind: Kind) -> tuple[int, int]:
        """Layers and (the most) heads per layer of a kind."""
        sites = self.sites_of(kind)
        return max(s.layer for s in sites) + 1, max(s.n_heads for s in sites)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{kind} {layers} x {heads}" for kind in self.kinds for layers, heads in [self.shape(kind)])
        names = dict.fromkeys((self.name, type(self.model).__name__))  # without a name of its own it has its class's
        return f"HeadModel({': '.join(names)}, layers x heads: {shapes}; {self.device})"

    def kv_heads(self, kind: Kind) -> list[list[int]]:
        """By layer, the key/value head that each query head reads from (grouped-query attention); [] where a layer has
        no attention.
        """
        groups: list[list[int]] = [[] for _ in range(self.shape(kind)[0])]
        for site in self.sites_of(kind):
            groups[site.layer] = [site.kv_head(index) for index in range(site.n_heads)]
        return groups

    def heads(self, kind: Kind | None = None) -> list[Head]:
        """Every query head, by kind, layer and index."""
        return [
            Head(site.kind, site.layer, index)
            for site in self.sites
            if kind is None or site.kind == kind
            for index in range(site.n_heads)
        ]

    @cached_property
    def _by_place(self) -> dict[tuple[str, int], Site]:
        return {(site.kind, site.layer): site for site in self.sites}

    def site(self, kind: str, layer: int) -> Site:
        """The site of a kind and a layer."""
        try:
            return self._by_place[kind, layer]
        except KeyError:
            shapes = ", ".join(f"{k} with {self.shape(k)[0]} layers" for k in self.kinds)
            raise InputError(
                f"there is no attention of kind {kind!r} in layer {layer}; the model has {shapes}"
            ) from None

    def check_heads(self, heads: Iterable[Any]) -> list[Head]:
        """Heads as `Head`, each one known to exist.

        Raises:
            InputError: a head that the model does not have.
        """
        if isinstance(heads, str) or not isinstance(heads, Iterable):
            raise InputError(f"expected a list of heads, such as [Head({self.kinds[0]!r}, 0, 3)], got {heads!r}")
        checked = []
        for head in heads:
            try:
                kind, layer, index = head
                found = Head(kind, int(layer), int(index))
                if (found.layer, found.index) != (layer, index):
                    raise ValueError
            except (TypeError, ValueError, OverflowError):
                raise InputError(f"expected heads as Head(kind, layer, index), got {head!r}") from None
            site = self.site(found.kind, found.layer)
            if not 0 <= found.index < site.n_heads:
                raise InputError(
                    f"there is no head {found.index} in {found.kind} layer {found.layer}: it has heads 0 to "
                    f"{site.n_heads - 1}"
                )
            checked.append(found)
        return checked

    # ---- what the model is --------------------------------------------------------------------------

    @property
    def device(self) -> torch.device:
        """Where the model's first parameter is."""
        return torch.device(next(self.model.parameters()).device)

    @property
    def is_encoder_decoder(self) -> bool:
        """Whether texts are pairs of source and target."""
        one_text = any(task in type(self.model).__name__ for task in ("SequenceClassification", "QuestionAnswering"))
        return {"encoder", "decoder"} <= set(self.kinds) and not one_text

    @property
    def name(self) -> str:
        """The model's name or folder name, for titles."""
        path = getattr(self.model.config, "name_or_path", "") or getattr(self.model, "name_or_path", "")
        return str(path).rstrip("/").rsplit("/", 1)[-1] or type(self.model).__name__

    @property
    def max_positions(self) -> int | None:
        """Positions the model has, or None when it is not limited (relative positions)."""
        config = self.model.config
        limit = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
        if getattr(config, "model_type", "") in ("t5", "mt5"):
            return None
        if limit and getattr(config, "model_type", "") in ("roberta", "xlm-roberta", "camembert"):
            limit -= 2  # RoBERTa keeps two positions for padding
        return int(limit) if limit and limit < _NO_LIMIT else None

    @property
    def pad_id(self) -> int:
        """A token id to pad with; any will do, padding is masked."""
        config = self.model.config
        for value in (self.tokenizer.pad_token_id, getattr(config, "pad_token_id", None)):
            if isinstance(value, int) and value >= 0:
                return value
        end = self.tokenizer.eos_token_id
        return int(end) if isinstance(end, int) else 0

    @cached_property
    def fingerprint(self) -> str:
        """Hex digest of the architecture and of a sample of every weight; equal models agree on any machine."""
        digest = hashlib.sha256(type(self.model).__name__.encode())
        for name, parameter in sorted(self.model.state_dict().items()):
            flat = parameter.detach().flatten()
            step = max(1, flat.numel() // 256)
            digest.update(f"{name}{tuple(parameter.shape)}".encode())
            digest.update(flat[::step].to("cpu", torch.float32).numpy().astype("<f4").tobytes())
        return digest.hexdigest()[:32]

    # ---- texts ------------------------------------------------------------------------------------

    def encode(self, texts: Any, column: Any = None) -> list[Example]:
        """Tokenise texts; every error names the text by its number."""
        return encode_all(self, texts, column)

    def batches(self, examples: Sequence[Example], **options: Any) -> Iterator[Batch]:
        """Padded batches on the model's device; options as in `headwidgets.text.examples.batches`."""
        return batches(examples, pad_id=self.pad_id, device=self.device, **options)

    def forward(self, batch: Batch | Mapping[str, Tensor], **keywords: Any) -> Any:
        """One forward pass without cache; the caller holds a visit."""
        inputs = batch.inputs if isinstance(batch, Batch) else dict(batch)
        options: dict[str, Any] = {"return_dict": True}
        if "decoder" in self.kinds:
            options["use_cache"] = False
        with padding_told(self.model, inputs) as told:
            return self.model(**told, **options, **keywords)

    # ---- hooks ------------------------------------------------------------------------------------

    def visit(
        self,
        *,
        outputs: Mapping[Site, OutputHandler] | None = None,
        attention: Mapping[Site, MapHandler] | None = None,
        evaluation: bool = True,
    ) -> AbstractContextManager[Visit]:
        """The primitive under everything: see `headwidgets.models.visit.visit`."""
        return visit(self, outputs=outputs, attention=attention, evaluation=evaluation)

    def gated(
        self,
        pruned: Iterable[Any] = (),
        *,
        gates: Mapping[Kind, Any] | None = None,
        ablation: str = "zero",
        **options: Any,
    ) -> AbstractContextManager["HeadModel"]:
        """The model with heads closed, for the time of a ``with`` block; see `headwidgets.models.interventions`.

        Args:
            pruned: Heads whose output becomes the ablation's value.
            gates: By kind, factors [layers, heads] or [batch, layers, heads] on the heads' outputs; 1 is open.
            ablation: ``zero``, ``mean`` or ``resample``.
            options: ``reference=`` texts for mean and resample, ``seed=``.

        Raises:
            InputError: a head, a shape or an ablation that does not fit.
        """
        from headwidgets.models.interventions import gated

        return gated(self, pruned, gates=gates, ablation=ablation, **options)

    def intervene(self, *changes: Any) -> AbstractContextManager["HeadModel"]:
        """The general form: scale, replace or patch heads' outputs, cut edges of maps; see
        `headwidgets.models.interventions`.
        """
        from headwidgets.models.interventions import intervene

        return intervene(self, *changes)

    def record(self, texts: Any, **options: Any) -> Any:
        """Every head's output on texts, to be patched into another run; see `headwidgets.models.recording.record`."""
        from headwidgets.models.recording import record

        return record(self, texts, **options)

    # ---- questions (each answered in a file of its own) ---------------------------------------------

    def attend(
        self, text: Any, kind: Kind | None = None, words: bool = False, generate: int = 0, **options: Any
    ) -> "AttentionMaps":
        """Attention maps of one text; see `headwidgets.models.attend.attend`."""
        from headwidgets.models.attend import attend

        return attend(self, text, kind=kind, words=words, generate=generate, **options)

    def evaluate(self, texts: Any, labels: Any = None, metric: Any = "accuracy", **options: Any) -> Any:
        """A metric with its interval; see `headwidgets.models.evaluate.evaluate`."""
        from headwidgets.models.evaluate import evaluate

        return evaluate(self, texts, labels, metric=metric, **options)

    def verify(self, **options: Any) -> Any:
        """Check hooks, maps and gates on this model; see `headwidgets.models.verify.verify`."""
        from headwidgets.models.verify import verify

        return verify(self, **options)

    def gate_tensors(self, pruned: Iterable[Any] = (), gates: Mapping[Kind, Any] | None = None) -> dict[Site, Tensor]:
        """Gate factors by site, [heads] or [batch, heads], for the sites that are not wholly open."""
        closed = self.check_heads(pruned)
        found: dict[Site, Tensor] = {}
        if gates is not None and not isinstance(gates, Mapping):
            raise InputError(f"expected gates as {{kind: array[layers, heads]}}, got {type(gates).__name__}")
        for kind, values in (gates or {}).items():
            layers, heads = self.shape(kind)
            array = _numbers(values, f"gates for {kind}")
            if array.dim() not in (2, 3) or tuple(array.shape[-2:]) != (layers, heads):
                raise InputError(
                    f"expected gates for {kind} of shape [layers, heads] = [{layers}, {heads}], got {list(array.shape)}"
                )
            for site in self.sites_of(kind):
                found[site] = array[..., site.layer, : site.n_heads].to(self.device)
        for head in closed:
            site = self.site(head.kind, head.layer)
            if site not in found:
                found[site] = torch.ones(site.n_heads, device=self.device)
            found[site] = found[site].clone()
            found[site][..., head.index] = 0.0
        return found


def _numbers(values: Any, what: str) -> Tensor:
    """An array or a tensor of finite numbers as a tensor."""
    try:
        array = torch.as_tensor(values if isinstance(values, Tensor) else np.asarray(values))
    except (TypeError, ValueError):
        raise InputError(f"expected {what} as an array of numbers, got {type(values).__name__}") from None
    if not bool(torch.isfinite(array.detach()).all()):
        raise InputError(f"expected {what} to be finite numbers, got NaN or infinity")
    return array


def expect_model(model: Any) -> None:
    """Raise `InputError` for anything but a `HeadModel`, such as a transformers model that was not wrapped."""
    if not isinstance(model, HeadModel):
        raise InputError(f"expected a model from hw.load(...) or hw.wrap(model, tokenizer), got {type(model).__name__}")


def wrap(model: Any, tokenizer: Any) -> HeadModel:
    """Take a model that is already in memory.

    Args:
        model: Any `PreTrainedModel`.
        tokenizer: Its tokenizer.

    Raises:
        InputError: not a transformers model, or no tokenizer.
        UnsupportedError: nobody knows where its heads are.
    """
    if not isinstance(model, nn.Module) or not hasattr(model, "config"):
        raise InputError(f"expected a transformers PreTrainedModel, got {type(model).__name__}")
    if tokenizer is None or not callable(tokenizer):
        raise InputError(f"expected the model's tokenizer, got {type(tokenizer).__name__}")
    return HeadModel(model, tokenizer)


def load(
    path: "str | os.PathLike[str]",
    task: str = "auto",
    device: "str | torch.device" = "auto",
    dtype: "str | torch.dtype" = "auto",
    **options: Any,
) -> HeadModel:
    """Load a model and its tokenizer from a folder or a hub id.

    Args:
        path: Folder or hub id.
        task: ``auto`` (what the configuration names), ``sequence-classification``, ``token-classification``,
            ``masked-lm``, ``causal-lm``, ``seq2seq`` or ``base``.
        device: ``auto``, ``cpu``, ``cuda``, ``mps``.
        dtype: ``auto`` (float32 on CPU), or a torch dtype or its name.
        options: ``tokenizer=`` (a tokenizer, or where one is), else passed to ``from_pretrained``. Weights come from
            safetensors files only, unless ``use_safetensors=False``.

    Raises:
        InputError: nothing there, no model, no tokenizer, or an argument that does not fit.
        UnsupportedError: nobody knows where the model's heads are.
    """
    from headwidgets.models.loading import load as _load

    return _load(path, task=task, device=device, dtype=dtype, **options)
