"""Run benchmarks and print their tables: ``python -m bench [name ...] [--write]``.

Every module named here has ``table() -> str``, Markdown that begins with a heading and says how it was measured.
Without names those of ``SHORT`` run; the others run when they are named, and some take an hour. ``--write`` puts the
sections into docs/benchmarks.md, each in the place of the one with its heading, or at the end.
"""

import argparse
import importlib
import platform
import re
import time
from collections.abc import Sequence
from pathlib import Path

SHORT = ("attribution", "memory", "evaluation", "smollm2", "first_paint")
NAMED = ("distances", "finding", "norms", "patterns", "probes", "rankings", "roles", "syntax", "tasks", "treebanks")
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
HEAD = (
    "# Measured\n\nBoth sides of every ratio run in turn in one process on one machine "
    f"({platform.machine()}, {platform.system()}, two cores); `make bench` prints these tables again, "
    "`python -m bench NAME` one of them. Absolute times depend on the machine, ratios much less.\n"
)


def sections(page: str) -> dict[str, str]:
    """The sections of a page by heading, without what stands before the first."""
    parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)[1:]
    return {part.splitlines()[0]: part.strip() for part in parts}


def merged(page: str, parts: Sequence[str]) -> str:
    """A page with new sections in the place of those with the same headings; the others stay."""
    known = sections(page)
    for part in parts:
        known.update(sections(part))
    return "\n\n".join([HEAD.strip(), *known.values()]) + "\n"


def main() -> None:
    names = (*SHORT, *NAMED)
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(names)}; the first {len(SHORT)} if none")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    options = parser.parse_args()
    unknown = set(options.names) - set(names)
    if unknown:
        parser.error(f"expected {', '.join(names)}, got {', '.join(sorted(unknown))}")
    for name in options.names or SHORT:
        begun = time.perf_counter()
        part = importlib.import_module(f"bench.{name}").table()
        print(part, f"\n({time.perf_counter() - begun:.0f} s)\n", flush=True)
        if options.write:
            PAGE.write_text(merged(PAGE.read_text(encoding="utf-8") if PAGE.exists() else "", [part]), encoding="utf-8")


if __name__ == "__main__":
    main()
