"""Run the benchmarks and print their tables: ``python -m bench [name ...] [--write]``.

Every module here has ``table() -> str``, Markdown with a line that says how it was measured. ``--write`` puts them
into docs/benchmarks.md.
"""

import argparse
import importlib
import platform
import time
from pathlib import Path

NAMES = ("attribution", "memory", "evaluation", "smollm2", "first_paint")
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("names", nargs="*", metavar="|".join(NAMES))
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"expected {', '.join(NAMES)}, got {', '.join(sorted(unknown))}")
    parts = []
    for name in options.names or NAMES:
        begun = time.perf_counter()
        part = importlib.import_module(f"bench.{name}").table()
        print(part, f"\n({time.perf_counter() - begun:.0f} s)\n", flush=True)
        parts.append(part)
    if options.write:
        head = (
            "# Measured\n\nBoth sides of every ratio run in turn in one process on one machine "
            f"({platform.machine()}, {platform.system()}, two cores); `make bench` prints these tables again. "
            "Absolute times depend on the machine, ratios much less.\n"
        )
        PAGE.write_text("\n".join([head, *parts]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
