# SPDX-License-Identifier: BSD-3-Clause
"""A result whose hints were not given to MPI is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.checks.beside_trace import against_the_recorder
from tests.recorded_runs import traced

# Of one process: two repeats, each with a file that is written and then read.
HONEST = {
    ("given-write", "cb_nodes", "2"): 2,
    ("given-read", "cb_nodes", "2"): 2,
    ("given-write", "nc_var_align_size", "64"): 2,
    ("given-read", "romio_cb_read", "enable"): 2,
    ("given-write", "striping_unit", "1"): 2,
    ("given-read", "striping_unit", "1"): 2,
    ("used-write", "cb_nodes", "2"): 1,
    ("used-write", "cb_buffer_size", "16777216"): 1,
}


def run() -> dict[str, Any]:
    """With hints of all kinds: for one direction, for PnetCDF and HDF5, ignored, of a variable."""
    document = traced("mpich-holes").document
    assert document["asked"]["method"] == "mpiio" and len(document["samples"]) == 2
    document["asked"] |= {"steps": 1, "hints": {
        "cb_nodes": "2", "write:nc_var_align_size": "64", "read:romio_cb_read": "enable",
        "hdf5_alignment": "4096", "striping_unit": "1", "romio_cb_write": "disable",
    }, "hints_environment": {"romio_cb_write": "ROMIO_HINTS"}}  # fmt: skip
    document["verification"]["verdict"] = "not asked"  # nothing is planted
    document["used"] |= {"hints_ignored": ["striping_unit"], "hints": {
        "cb_nodes": "2", "cb_buffer_size": "16777216", "nc_header_align_size": "512",
    }}  # fmt: skip
    return document


def complaints(
    document: dict[str, Any], seen: dict[tuple[str, str, str], int], folder: Path
) -> str:
    lines = [f"{kind}\t{n}\t{key}\t{value}\n" for (kind, key, value), n in seen.items()]
    (folder / "hints-000000-77").write_text("".join(lines))
    (folder / "hints-000001-78").write_text("".join(lines[:1]))
    return "; ".join(against_the_recorder(document, folder))


def test_hints_that_were_given_pass(tmp_path: Path) -> None:
    assert not complaints(run(), HONEST, tmp_path)


@pytest.mark.parametrize(
    ("kind", "key", "reason"),
    [
        ("given-write", "cb_nodes", "hint cb_nodes=2, write: expected in at least 2 calls"),
        ("given-read", "cb_nodes", "hint cb_nodes=2, read: expected in at least 2 calls"),
        ("given-write", "nc_var_align_size", "hint write:nc_var_align_size=64, write: expected"),
        ("given-read", "romio_cb_read", "hint read:romio_cb_read=enable, read: expected"),
        ("given-write", "striping_unit", "hint striping_unit=1, write: expected in at least 2"),
        ("used-write", "cb_nodes", "hint cb_nodes=2 is listed as used, but MPI did not"),
        ("used-write", "cb_buffer_size", "hint cb_buffer_size=16777216 is listed as used"),
    ],
)
def test_a_hint_that_one_file_was_not_given_is_refused(
    kind: str, key: str, reason: str, tmp_path: Path
) -> None:
    seen = {one: n - (one[:2] == (kind, key)) for one, n in HONEST.items()}
    found = complaints(run(), seen, tmp_path)
    assert found.startswith(reason) and ";" not in found


def test_other_values_and_no_evidence_are_refused(tmp_path: Path) -> None:
    other = {(kind, key, value + "0"): n for (kind, key, value), n in HONEST.items()}
    assert "cb_nodes=2" in complaints(run(), other, tmp_path)
    for path in tmp_path.iterdir():
        path.unlink()
    assert len(list(against_the_recorder(run(), tmp_path))) == 8


def test_a_hint_in_force_is_not_ignored(tmp_path: Path) -> None:
    seen = {**HONEST, ("used-write", "striping_unit", "1"): 1}
    assert "striping_unit is listed as ignored" in complaints(run(), seen, tmp_path)


def test_a_call_without_mpi_io_is_not_asked(tmp_path: Path) -> None:
    document = run()
    document["asked"] |= {"method": "posix", "mode": None}
    assert not list(against_the_recorder(document, tmp_path))
