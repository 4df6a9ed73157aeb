"""The quickstart notebook: where it is, and how it is opened in JupyterLab."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from headwidgets.demo import encoder
from headwidgets.errors import HeadwidgetsError

NAME = "quickstart.ipynb"
SHIPPED = Path(__file__).with_name(NAME)
"""In an installed wheel."""
CHECKOUT = Path(__file__).parents[2] / "notebooks" / NAME
"""In a checkout, where it is edited."""


def place(folder: Path) -> Path:
    """Copy the quickstart into a folder; a file that is already there is never overwritten.

    Args:
        folder: Where to; a temporary folder is used instead where nothing can be written.

    Returns:
        The notebook: in a checkout its own `notebooks/quickstart.ipynb`, else a new copy, numbered if need be
        (`quickstart-2.ipynb`).

    Raises:
        HeadwidgetsError: If the installed package has no quickstart.
    """
    if CHECKOUT.is_file() and (CHECKOUT.parents[1] / "pyproject.toml").is_file():
        return CHECKOUT
    if not SHIPPED.is_file():
        raise HeadwidgetsError(f"{SHIPPED} is not there: this installation is incomplete. {encoder.INSTALL}")
    number = 1
    while True:
        target = folder / (NAME if number == 1 else f"{SHIPPED.stem}-{number}.ipynb")
        try:
            with target.open("xb") as file:
                file.write(SHIPPED.read_bytes())
            return target
        except FileExistsError:
            number += 1
        except OSError:
            copy = Path(tempfile.mkdtemp(prefix="headwidgets-")) / NAME
            shutil.copyfile(SHIPPED, copy)
            return copy


def open_lab(options: Sequence[str] = ()) -> int:
    """Open the quickstart in JupyterLab and wait until JupyterLab ends.

    Args:
        options: Passed on to JupyterLab, for example `--no-browser`.

    Returns:
        JupyterLab's exit status; 130 after an interrupt.

    Raises:
        HeadwidgetsError: If JupyterLab or the encoder's package is not installed here.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise HeadwidgetsError(
            f"The demo opens in JupyterLab, which is not installed here. Install it with: {encoder.INSTALL}"
        )
    encoder.folder()
    notebook = place(Path.cwd())
    print(f"Opening {notebook} in JupyterLab; press Ctrl-C twice here to end it.", flush=True)
    command = [sys.executable, "-m", "jupyterlab", notebook.name, *options]
    if hasattr(os, "geteuid") and os.geteuid() == 0 and "--allow-root" not in options:
        command.append("--allow-root")  # in a container one is root, and JupyterLab would refuse
    # Where another process uses a core, threads that spin while they wait slow torch down twentyfold.
    environment = {"OMP_WAIT_POLICY": "PASSIVE", **os.environ}
    process = subprocess.Popen(command, cwd=notebook.parent, env=environment)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # JupyterLab got it too, and asks whether to end
