"""Files of relations, pronouns and alignments: they are read, or refused in a sentence, never anything else."""

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwidgets.errors import InputError
from headwidgets.probing import read_alignments, read_gap, read_relations, read_winogender

GAP = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\n"
NAMES = "x-1\tAnn met Bea before she left.\tshe\t19\tAnn\t0\tTRUE\tBea\t8\tFALSE\n"
SCHEMA = "baker.guest.1.female.txt\tThe baker told the guest that she could pay.\n"
PIECES = [
    GAP, NAMES, SCHEMA, "sentid\tsentence\n", "\t", "\n", "\r\n", '"', " ", "TRUE", "19", "she", "...", "baker.",
    '1\t"The <e1>cat</e1> of the <e2>dog</e2>."\n', "Other\n", "Comment:\n", "<e1>", "</e2>", "0-0 1-1\n", "2?1",
    "\x00", "\x85", "\ufeff", "²", "\u2028",
]  # fmt: skip
READERS = (read_relations, read_gap, read_winogender, read_alignments)


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=12))
def test_whatever_is_in_a_file_it_is_read_or_refused(tmp_path, parts):
    file = tmp_path / "file.txt"
    file.write_bytes("".join(parts).encode("utf-8", "surrogatepass"))
    for read in READERS:
        with contextlib.suppress(InputError):
            assert isinstance(read(file), list)


@pytest.mark.parametrize("read", READERS)
def test_what_is_no_file_is_said(read, tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read(tmp_path / "none.txt")
    with pytest.raises(InputError, match="expected the path of a file of"):
        read(["lines"])
    with pytest.raises(InputError, match="got the folder"):
        read(tmp_path)
    broken = tmp_path / "x.gz"
    broken.write_bytes(b"\x1f\x8bnothing")
    with pytest.raises(InputError, match="cannot be read"):
        read(broken)
    broken.write_bytes(b"a\n\xff\n")
    with pytest.raises(InputError, match="line 2: expected UTF-8"):
        read(broken)
