"""A model made of NumPy alone, and a page that keeps what a widget sends."""

import threading
import time

import numpy as np

from headwidgets.errors import Cancelled, InputError
from headwidgets.scores import Head, HeadScores
from headwidgets.wire.documents import SCHEMA

HOSTILE = "</script><img src=x onerror=alert(1)>"


def tokens(words):
    return [
        {"text": word, "special": word in ("[CLS]", "[SEP]"), "continued": False, "joined": False} for word in words
    ]


def maps_of(n_layers, n_heads, n, seed=0):
    raw = np.random.default_rng(seed).random((n_layers, n_heads, n, n)) + 0.05
    return (raw / raw.sum(-1, keepdims=True)).astype(np.float32)


class FakeText:
    def __init__(self, source, text):
        if not text:
            raise InputError("the text is empty: pass at least one character")
        self.source, self.text = source, text
        parts = " ".join(text).split() if isinstance(text, tuple) else text.split()
        self.words = ["[CLS]", *parts, "[SEP]"]
        self.maps = maps_of(*source.size, len(self.words))
        self.closed = False
        self.asked = []
        self.attributed = False

    def attention(self, words):
        n_layers, n_heads = self.source.size
        t = min(16, len(self.words))
        return {
            "schema": SCHEMA,
            "document": "attention",
            "title": "Attention",
            "text": str(self.text),
            "panels": [
                {
                    "kind": "encoder",
                    "label": "Encoder self-attention",
                    "layers": n_layers,
                    "heads": n_heads,
                    "query": tokens(self.words),
                    "key": tokens(self.words),
                    "thumbnails": (255 * self.maps[:, :, :t, :t]).astype(np.uint8),
                }
            ],
            "maps": [self.map_of("attention", ("encoder", 0, 0))],
            "selected": [["encoder", 0, 0]],
            "words": words,
            "hide_special": False,
            "mode": "lines",
            "provenance": self.source.provenance,
        }

    def attribution(self, words, on_progress, cancelled):
        n_layers, n_heads = self.source.size
        for layer in range(n_layers):
            self.source.step(cancelled)
            on_progress(layer + 1, n_layers)
        self.attributed = True
        values = self.maps - self.maps.mean()
        return {
            "schema": SCHEMA,
            "document": "attribution",
            "title": "Attribution",
            "text": str(self.text),
            "target": "positive",
            "output": "log-odds",
            "unit": "",
            "value": 1.5,
            "rule": "gauss-legendre",
            "tolerance": 1e-3,
            "panels": [
                {
                    "kind": "encoder",
                    "label": "Encoder self-attention",
                    "layers": n_layers,
                    "heads": n_heads,
                    "query": tokens(self.words),
                    "key": tokens(self.words),
                    "totals": values.sum((2, 3)),
                    "received": values.sum((1, 2)),
                    "given": values.sum((1, 3)),
                    "change": values.sum((1, 2, 3)).astype(np.float64),
                    "gap": np.full(n_layers, 1e-4),
                    "steps": np.full(n_layers, 5, np.int32),
                }
            ],
            "maps": [self.map_of("attribution", ("encoder", 1, 1))],
            "selected": [["encoder", 1, 1]],
            "provenance": self.source.provenance,
        }

    def head_map(self, view, head, words):
        self.asked.append((view, tuple(head), words))
        self.source.step(lambda: False)
        return self.map_of(view, head)

    def map_of(self, view, head):
        _, layer, index = head
        values = self.maps[layer].sum(0) if index < 0 else self.maps[layer, index]
        if view == "attribution":
            values = values - values.mean()
        if view == "norm":
            values = values * np.arange(1, values.shape[1] + 1, dtype=np.float32)
        return {
            "head": list(head),
            "view": view,
            "values": values,
            "low": float(values.min()),
            "high": float(values.max()),
            "query_step": 1,
            "key_step": 1,
        }

    def close(self):
        self.closed = True


class FakeEvaluator:
    """Accuracy falls with every pruned head; a step sees a fifth of the texts."""

    metric = "accuracy"

    def __init__(self, source, total):
        self.source, self.total = source, total
        self.seen = {}
        self.computed = []

    def value(self, pruned, ablation):
        return 0.95 - 0.02 * len(pruned) - (0.01 if ablation == "mean" else 0.0)

    def estimates(self, pruned, ablation, cancelled):
        key = (frozenset(map(tuple, pruned)), ablation)
        if self.seen.get(key, 0) == self.total:
            yield self.estimate(pruned, ablation, self.total)
        while self.seen.get(key, 0) < self.total:
            self.source.step(cancelled)
            self.seen[key] = min(self.total, self.seen.get(key, 0) + max(1, self.total // 5))
            self.computed.append((len(pruned), self.seen[key]))
            yield self.estimate(pruned, ablation, self.seen[key])

    def estimate(self, pruned, ablation, n):
        value, exact = self.value(pruned, ablation), n == self.total
        width = 0.0 if exact else 0.2 * (1 - n / self.total)
        change = None
        if pruned:
            full = self.value((), ablation)
            change = {"value": value - full, "low": value - full - 0.02, "high": value - full + 0.02}
        return {
            "value": value,
            "low": value - 0.03,
            "high": value + 0.03,
            "n": n,
            "total": self.total,
            "exact": exact,
            "partial_low": value - width,
            "partial_high": value + width,
            "change": change,
        }

    def known(self, pruned, ablation):
        n = self.seen.get((frozenset(map(tuple, pruned)), ablation), 0)
        return self.estimate(pruned, ablation, n) if n else None


class FakeSource:
    """A model of 4 x 6 heads (by default). `gate` holds every step until it is set."""

    name = "fake"
    kinds = ("encoder",)
    methods = ("attribution", "confidence")
    ablations = ("zero", "mean")

    def __init__(self, size=(4, 6), delay=0.0):
        self.size, self.delay = size, delay
        self.lock = threading.RLock()
        self.gate = threading.Event()
        self.gate.set()
        self.waiting = threading.Event()
        self.looked = []
        self.evaluators = []
        self.fail = None
        self.provenance = {"model": "fake", "version": "0.1.0", "settings": {"seed": 0}}

    def step(self, cancelled):
        """One batch: may wait, fail or be cancelled."""
        if self.fail is not None:
            raise self.fail
        time.sleep(self.delay)
        while not self.gate.wait(0.01):
            self.waiting.set()
            if cancelled():
                break
        if cancelled():
            raise Cancelled("told to stop")

    def shape(self, kind):
        return self.size

    def panel(self, kind):
        n_layers, n_heads = self.size
        return {
            "kind": kind,
            "label": "Encoder self-attention",
            "layers": n_layers,
            "heads": n_heads,
            "kv_heads": n_heads,
            "scores": [],
        }

    def texts(self, texts):
        if not len(texts):
            raise InputError("texts is empty: pass at least one text")
        return [texts] if isinstance(texts, (str, tuple)) else list(texts)

    def text(self, text, **options):
        self.looked.append(FakeText(self, text))
        return self.looked[-1]

    def evaluator(self, texts, labels, metric):
        if len(texts) != len(labels):
            raise InputError(f"{len(texts)} texts but {len(labels)} labels: pass one label for each text")
        self.evaluators.append(FakeEvaluator(self, len(texts)))
        return self.evaluators[-1]

    def importance(self, method, texts, labels, on_progress, cancelled, on_partial=None):
        values = np.arange(np.prod(self.size), dtype=float).reshape(self.size)
        scores = {"encoder": values if method == "attribution" else -values}
        for done in range(4):
            self.step(cancelled)
            on_progress(done + 1, 4)
            if on_partial is not None and done < 3:
                on_partial(HeadScores(scores, name=method, n=(done + 1) * len(texts) // 4))
        return HeadScores(scores, name=method, n=len(texts))


class Page:
    """Stands in for the browser: keeps what a widget sends, and sends requests and state to it."""

    def __init__(self, widget):
        self.widget = widget
        self.sent = []
        self._new = threading.Condition()
        widget._send = self._take

    def _take(self, message, buffers=None):
        with self._new:
            self.sent.append((message, buffers or []))
            self._new.notify_all()

    def ask(self, **request):
        self.widget._handle_msg({"content": {"data": {"method": "custom", "content": request}}, "buffers": []})

    def set(self, **state):
        self.widget._handle_msg({"content": {"data": {"method": "update", "state": state}}})

    def answers(self, number=None):
        found = [(m["content"], b) for m, b in self.sent if m["method"] == "custom"]
        return [(a, b) for a, b in found if number is None or a["id"] == number]

    def states(self, name):
        return [m["state"][name] for m, _ in self.sent if m["method"] == "update" and name in m["state"]]

    def until(self, condition, seconds=10.0):
        """Wait until `condition()` holds."""
        deadline = time.monotonic() + seconds
        with self._new:
            while not condition():
                left = deadline - time.monotonic()
                assert left > 0, f"nothing came: {[m for m, _ in self.sent][-5:]}"
                self._new.wait(min(left, 0.05))

    def answered(self, number):
        """Wait for the last answer to a request and return it."""

        def last():
            return [a for a, _ in self.answers(number) if a["answer"] != "estimate" or a["done"]]

        self.until(lambda: bool(last()))
        return last()[-1]


def heads(*pairs):
    return tuple(Head("encoder", layer, index) for layer, index in pairs)
