"""What is in a text file? UTF-8, also compressed; anything else is a sentence."""

import gzip
import os
import zlib
from pathlib import Path
from typing import Any

from headwidgets.errors import InputError


def contents(path: Any, what: str) -> str:
    """The text of a file.

    Args:
        path: Of the file, compressed with gzip or not.
        what: What the caller reads, for example ``a CoNLL-U file``.

    Raises:
        InputError: no path, no such file, a damaged one, or one that is not UTF-8; the message names the line.
    """
    if not isinstance(path, (str, os.PathLike)):
        hint = ": name several files one by one, not in a list" if isinstance(path, (list, tuple)) else ""
        raise InputError(f"expected the path of {what}, got {type(path).__name__}{hint}")
    file = Path(path)
    if file.is_dir():
        raise InputError(f"expected {what}, got the folder {file}: name the files in it, one by one")
    try:
        data = file.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except FileNotFoundError:
        raise InputError(f"there is no file {file}: expected the path of {what}") from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{file.name} cannot be read ({error}): is it complete?") from None
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{file.name}, line 1: expected UTF-8, got UTF-16: save the file as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        got = data[error.start : error.start + 1]
        raise InputError(
            f"{file.name}, line {line}: expected UTF-8, got the byte 0x{got.hex()}: save the file as UTF-8"
        ) from None
