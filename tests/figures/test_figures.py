"""Figures drawn by the built bundles, without a browser."""

import io
import json
import re
import threading
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image
from pypdf import PdfReader

from headwidgets import figures
from headwidgets.errors import InputError
from headwidgets.figures import engine
from headwidgets.figures.palette_png import in_palette
from tests.widgets.fakes import HOSTILE

from .documents import all_documents

DOCUMENTS = all_documents()
KINDS = list(DOCUMENTS)
ELEMENTS = {
    *("svg", "g", "rect", "path", "text", "tspan", "title", "desc", "line", "circle", "image", "polyline", "polygon"),
    *("defs", "pattern", "linearGradient", "stop", "clipPath", "use", "ellipse"),
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_text_is_text_in_an_svg(kind, theme):
    root = ET.fromstring(figures.figure(DOCUMENTS[kind], theme, 900, provenance=True))
    for element in root.iter():
        assert element.tag.removeprefix("{http://www.w3.org/2000/svg}") in ELEMENTS
        assert not [name for name in element.attrib if name.lower().startswith("on")]
        for name, value in element.attrib.items():
            if name.endswith("href"):
                assert value.startswith(("data:image/png;base64,", "#"))
    assert "onerror" in "".join(root.itertext()), "the text itself is there to read"


class Reader(HTMLParser):
    """Keeps elements, and the text inside scripts."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.elements, self.scripts, self.policy, self.inside = [], [], "", None

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
            self.inside = "script"
        if tag == "meta" and dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"]

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script":
            attrs, before = self.scripts[-1]
            self.scripts[-1] = (attrs, before + data)


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_text_is_data_in_a_page(kind):
    reader = Reader()
    reader.feed(figures.page(DOCUMENTS[kind]))
    assert "img" not in [tag for tag, _ in reader.elements]
    assert [attrs.get("type") for attrs, _ in reader.scripts] == ["application/json", None]
    assert not [a for _, attrs in reader.elements for a in attrs if a.startswith("on") or a in ("src", "href")]
    held = json.loads(reader.scripts[0][1])
    assert held["document"] == kind
    assert HOSTILE in json.dumps(held)


def test_a_page_forbids_every_request_and_every_script_but_its_own():
    reader = Reader()
    reader.feed(figures.page(DOCUMENTS["grid"]))
    rules = dict(rule.strip().split(" ", 1) for rule in reader.policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "connect-src" not in rules
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/=]{44}'", rules["script-src"])
    assert "http:" not in reader.policy
    assert "https:" not in reader.policy


def test_the_data_stands_in_the_body_before_the_script():
    page = figures.page(DOCUMENTS["grid"])
    body = page.index("<body>")
    assert body < page.index('<script type="application/json">') < page.rindex("<script>")
    assert page.lower().count("</script") == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_png_decodes_and_has_the_pixels_that_were_asked_for(kind):
    drawing = figures.draw(DOCUMENTS[kind], width=640)
    image = Image.open(io.BytesIO(figures.png(drawing.svg, dpi=192)))
    image.load()
    assert image.size == pytest.approx((2 * drawing.width, 2 * drawing.height), abs=2)
    assert len(image.convert("RGB").getcolors(10**7)) > 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_pdf_is_one_page_of_vectors_with_text(kind):
    reader = PdfReader(io.BytesIO(figures.encode(DOCUMENTS[kind], ".pdf")))
    assert len(reader.pages) == 1
    assert reader.pages[0].mediabox.width > 100
    assert len(reader.pages[0].extract_text()) > 20


def test_the_dark_picture_is_dark():
    def corner(theme):
        svg = figures.figure(DOCUMENTS["grid"], theme)
        return Image.open(io.BytesIO(figures.png(svg, 96))).convert("L").getpixel((2, 2))

    assert corner("light") > 200
    assert corner("dark") < 60


def test_without_background_the_page_shines_through():
    svg = figures.figure(DOCUMENTS["grid"], background=False)
    assert Image.open(io.BytesIO(figures.png(svg, 96))).convert("RGBA").getpixel((2, 2))[3] == 0


def test_pictures_may_be_drawn_from_many_threads():
    expected = {kind: figures.figure(document) for kind, document in DOCUMENTS.items()}
    wrong = []

    def work(kind):
        for _ in range(3):
            if figures.figure(DOCUMENTS[kind]) != expected[kind]:
                wrong.append(kind)

    threads = [threading.Thread(target=work, args=(kind,)) for kind in KINDS * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_picture_may_be_drawn_inside_a_running_event_loop():
    import asyncio

    async def cell():
        return figures.figure(DOCUMENTS["grid"])

    assert asyncio.run(cell()).startswith("<svg")


def test_a_damaged_document_is_a_sentence():
    with pytest.raises(figures.DrawingError, match=r"the grid could not be drawn: .*title.* is missing"):
        figures.draw({"schema": 1, "document": "grid"})
    with pytest.raises(figures.DrawingError, match="newer headwidgets"):
        figures.draw({**DOCUMENTS["grid"], "schema": 999})


@pytest.mark.parametrize(
    ("options", "message"),
    [({"theme": "auto"}, "'light' or 'dark'"), ({"width": 5}, "from 100 to 20000"), ({"width": 10**6}, "20000")],
)
def test_options_that_cannot_be_used_are_refused_with_a_sentence(options, message):
    with pytest.raises(InputError, match=message):
        figures.draw(DOCUMENTS["grid"], **options)


def test_resolution_and_suffix_are_checked(tmp_path):
    with pytest.raises(InputError, match="dpi is from 10 to 2400"):
        figures.save(DOCUMENTS["grid"], tmp_path / "a.png", dpi=0)
    with pytest.raises(InputError, match="got 'no suffix'"):
        figures.save(DOCUMENTS["grid"], tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    path = figures.save(DOCUMENTS["grid"], tmp_path / "figure.svg")
    before = path.read_bytes()

    def broken(source, target):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", broken)
    with pytest.raises(OSError, match="disk full"):
        figures.save(DOCUMENTS["pruning"], path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_bundle_says_how_to_build_it(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "STATIC", tmp_path)
    with pytest.raises(figures.DrawingError, match="npm run build"):
        figures.figure(DOCUMENTS["grid"])
    with pytest.raises(figures.DrawingError, match="npm run build"):
        figures.page(DOCUMENTS["grid"])


def test_a_palette_makes_a_picture_small_and_hardly_different():
    large = figures.png(figures.figure(DOCUMENTS["attribution"]), 96)
    small = in_palette(large)
    assert len(small) < 0.4 * len(large)
    one, two = (np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), int) for data in (large, small))
    assert np.abs(one - two).mean() < 1
    assert np.abs(one - two).max() < 64


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_a_palette_reads_what_others_write_or_leaves_it(mode):
    pixels = np.zeros((20, 30, len(mode)), np.uint8)
    pixels[5:15, 5:25] = [200, 30, 60, 255][: len(mode)]
    pixels[..., 3:] = 255
    buffer = io.BytesIO()
    Image.fromarray(pixels, mode).save(buffer, "png")
    again = np.asarray(Image.open(io.BytesIO(in_palette(buffer.getvalue()))).convert("RGB"))
    np.testing.assert_array_equal(again, pixels[..., :3])
    assert in_palette(b"not a png") == b"not a png"
