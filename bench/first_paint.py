"""First paint of all heads over one text: what travels to the browser, how many nodes it makes, how long it takes.

The other side is the model view of BertViz 1.4.1 (``html_action="return"``), installed for the occasion from the
package registry without its dependencies; the three scripts that its page asks a content network for are served from
npm packages, so that both pages load from this machine only.
"""

import importlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import torch
from playwright.sync_api import Page, Route, sync_playwright
from transformers import BertConfig, BertModel

SCRIPTS = {"require": "requirejs@2.3.6", "d3": "d3@5.7.0", "jquery": "jquery@2.2.4"}
FILES = {"require": "requirejs/require.js", "d3": "d3/dist/d3.min.js", "jquery": "jquery/dist/jquery.min.js"}
RUNS = 3


def _text(tokens: int) -> tuple[str, Any]:
    """A text of exactly that many tokens, with a word-level tokenizer made here."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = [f"word{i}" for i in range(tokens - 2)]
    vocabulary = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    raw = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    return " ".join(words), tokenizer


def _model(vocabulary: int) -> Any:
    torch.manual_seed(0)
    size = {"hidden_size": 96, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 96}
    config = BertConfig(vocab_size=vocabulary, initializer_range=0.5, attn_implementation="eager", **size)
    return BertModel(config).eval()


def _theirs(folder: Path, model: Any, tokenizer: Any, text: str) -> tuple[Path, int]:
    target = folder / "bertviz"
    if not target.exists():
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--target",
            str(target),
            "bertviz==1.4.1",
        ]
        subprocess.run(pip, check=True, capture_output=True)
        npm = ["npm", "install", "--silent", "--no-save", "--prefix", str(folder), *SCRIPTS.values()]
        subprocess.run(npm, check=True, capture_output=True)
    sys.path.insert(0, str(target))
    try:
        model_view = importlib.import_module("bertviz.model_view").model_view
    finally:
        sys.path.remove(str(target))
    inputs = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        attention = model(**inputs, output_attentions=True).attentions
    view = model_view(attention, tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]), html_action="return")
    body = view.data
    page = folder / "theirs.html"
    head = '<script src="https://scripts.invalid/require.min.js"></script>'
    page.write_text(f"<!doctype html><meta charset=utf-8>{head}<body>{body}</body>", encoding="utf-8")
    return page, len(body.encode())


def _ours(folder: Path, model: Any, tokenizer: Any, text: str) -> tuple[Path, int]:
    import headwidgets as hw

    view = hw.AttentionView(hw.wrap(model, tokenizer), text)
    page = folder / "ours.html"
    view.save(page)
    state = {k: v for k, v in view.get_state().items() if k not in ("_esm", "_css")}
    size = len(json.dumps(state, default=lambda raw: None).encode()) + len(view.buffer)
    view.close()
    return page, size


def _serve(folder: Path) -> Any:
    def answer(route: Route) -> None:
        url = route.request.url
        if url.startswith("file:"):
            route.continue_()
            return
        for name, file in FILES.items():
            if f"/{name}.min.js" in url:
                route.fulfill(path=str(folder / "node_modules" / file), content_type="text/javascript")
                return
        route.abort()

    return answer


def _painted(page: Page, path: Path, ready: str) -> tuple[float, int]:
    """Seconds until `ready` holds and a frame was drawn, and the number of nodes in the page."""
    begun = time.perf_counter()
    page.goto(path.as_uri(), wait_until="commit", timeout=120_000)
    page.wait_for_function(ready, timeout=180_000, polling=20)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return time.perf_counter() - begun, int(page.evaluate("document.querySelectorAll('*').length"))


def _measure(tokens: int, folder: Path) -> str:
    text, tokenizer = _text(tokens)
    model = _model(tokens + 8)
    theirs, their_bytes = _theirs(folder, model, tokenizer, text)
    ours, our_bytes = _ours(folder, model, tokenizer, text)
    # its view draws one thumbnail per head, each a group of lines
    all_lines = 144 * tokens * tokens
    conditions = {
        theirs: f"() => document.querySelectorAll('line').length >= {all_lines}",
        ours: "() => document.querySelector('[data-headwidgets] svg')",
    }
    found: dict[Path, list[tuple[float, int]]] = {theirs: [], ours: []}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        for _ in range(RUNS):
            for path, ready in conditions.items():
                page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
                page.route("**/*", _serve(folder))
                found[path].append(_painted(page, path, ready))
                page.context.close()
        browser.close()
    their_time, our_time = (median(t for t, _ in found[p]) for p in (theirs, ours))
    their_nodes, our_nodes = (found[p][0][1] for p in (theirs, ours))
    return (
        f"| {tokens} | {their_bytes / 1e6:.1f} MB | {our_bytes / 1e3:.0f} kB | {their_bytes / our_bytes:.0f}x "
        f"| {their_nodes:,} | {our_nodes:,} | {their_time:.2f} s | {our_time:.2f} s | {their_time / our_time:.0f}x |"
    )


def table() -> str:
    """The Markdown table."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [_measure(tokens, Path(folder)) for tokens in (32, 128)]
    return "\n".join(
        [
            "## First paint, 12 x 12 heads",
            "",
            "BertViz 1.4.1's model view against `AttentionView`, both as pages in the same Chromium, medians of "
            f"{RUNS}. Data: without the code of either. (`python -m bench first_paint`)",
            "",
            "| tokens | data, BertViz | data, here | ratio | nodes, BertViz | nodes, here | BertViz | here | ratio |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )
