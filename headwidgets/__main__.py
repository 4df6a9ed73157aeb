"""What the command line offers: `python -m headwidgets demo` and `python -m headwidgets doctor`."""

import argparse
import sys
from collections.abc import Sequence

from headwidgets.errors import HeadwidgetsError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: The command line without the program's name; None means that of the process.

    Returns:
        The exit status: 0, or 1 after an error, which is printed as a sentence, and when doctor finds a problem.
    """
    parser = argparse.ArgumentParser(
        prog="python -m headwidgets", description="See, probe and prune attention heads, live in a notebook."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="demo | doctor")
    commands.add_parser(
        "demo",
        help="open the quickstart in JupyterLab; further options go to JupyterLab",
        description="Open the quickstart in JupyterLab. Further options, such as --no-browser, go to JupyterLab.",
    )
    commands.add_parser("doctor", help="print what a bug report needs: versions, front end, device")
    options, rest = parser.parse_known_args(arguments)
    if rest and options.command != "demo":
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        if options.command == "demo":
            from headwidgets.demo.notebook import open_lab

            return open_lab(rest)
        import headwidgets

        report = headwidgets.doctor()
        print(report)
        return 0 if report.ok else 1
    except HeadwidgetsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
