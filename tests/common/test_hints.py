# SPDX-License-Identifier: BSD-3-Clause
"""Hints: each to where its library looks for it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from iogauge.common import tables
from iogauge.common.hints import Known, known, parse_hints, passed_in, sort_hints, variable
from tools.pages import __main__ as pages


def test_each_goes_to_where_its_library_looks_for_it() -> None:
    found = sort_hints(
        parse_hints(
            "romio_cb_write=enable nc_var_align_size=512 IBM_largeblock_io=true bg_nodes_pset=8 "
            "io_ompio_num_aggregators=2 fcoll=vulcan fs_lustre_stripe_size=1048576 "
            "fbtl_posix_write_datasieving=0 "
            "BGLMPIO_COMM=1 BGLOCKLESSMPIO_F_TYPE=0x47504653"
        )
    )
    assert list(found.mpi) == [
        *("romio_cb_write", "nc_var_align_size", "IBM_largeblock_io", "bg_nodes_pset"),
    ]
    assert found.environment == {
        "OMPI_MCA_io_ompio_num_aggregators": "2",
        "OMPI_MCA_fcoll": "vulcan",
        "OMPI_MCA_fs_lustre_stripe_size": "1048576",
        "OMPI_MCA_fbtl_posix_write_datasieving": "0",
        "BGLMPIO_COMM": "1",
        "BGLOCKLESSMPIO_F_TYPE": "0x47504653",
    }


def test_each_way_of_the_table_is_known() -> None:
    """And no row hides behind another: the first that fits decides."""
    rows = tables.rows("base/hints.def", "IO_HINT_PREFIX")
    assert {way for _, way, _ in rows} == {"ENVIRONMENT", "PNETCDF", "HDF5"}
    for start, expected, before in rows:
        assert passed_in(f"{start}x") == expected
        assert variable(f"{start}x") == (f"{before}{start}x" if expected == "ENVIRONMENT" else None)
    assert passed_in("romio_cb_write") == "MPI_INFO"


@pytest.mark.parametrize("text", ["cb_nodes", "=8", "8=8", "cb_nodes="])
def test_what_is_no_hint_is_quoted(text: str) -> None:
    with pytest.raises(ValueError, match=f"hints: '{text}': expected K=V"):
        parse_hints(f"romio_cb_write=enable {text}")


WAYS = {"OMPIO": "ENVIRONMENT", "PNETCDF": "PNETCDF", "HDF5": "HDF5", "ROMIO": "MPI_INFO"}


def is_whole(hint: Known) -> bool:
    """It is passed as its library expects, and its values are what its kind says."""
    if passed_in(hint.name) != WAYS.get(hint.library, passed_in(hint.name)) or not hint.what:
        return False
    if hint.kind == "NUMBER":
        return hint.range is not None and hint.range[0] < hint.range[1]
    if hint.kind in ("WORD", "LIST"):
        return all(re.fullmatch(r"\w+", word) for word in hint.words)
    return (hint.kind, hint.values) == ("TEXT", "")


def test_each_known_hint_is_whole() -> None:
    hints = known()
    assert len(hints) == len(tables.rows("base/known_hints.def", "IO_KNOWN_HINT"))  # no name twice
    assert [name for name, hint in hints.items() if not is_whole(hint)] == []


def numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def is_in(hint: Known, version: str) -> bool:
    """Has the library in this version (`1.14.0`) the hint?"""
    here = numbers(version)
    since, until = numbers(hint.since), numbers(hint.until)
    return since <= here and (not until or here < until)


def test_versions_are_compared_as_numbers() -> None:
    aggregation = known()["nc_num_aggrs_per_node"]
    assert [is_in(aggregation, v) for v in ("1.9.0", "1.13.3", "1.14", "1.15.0")] == [
        *(False, False),
        *(True, True),
    ]
    gone = known()["fcoll_two_phase_priority"]
    assert is_in(gone, "4.1.4") and not is_in(gone, "5.0.7")


def test_open_mpi_has_what_the_table_says() -> None:
    """`ompi_info` is the witness: each of its parameters is known, and no other of this version."""
    if not shutil.which("ompi_info"):
        pytest.skip("ompi_info is not installed")
    found: set[str] = set()
    for framework in ("io", "fcoll", "fbtl", "fs", "sharedfp"):
        words = ["ompi_info", "--param", framework, "all", "--level", "9", "--parsable"]
        text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        found |= set(re.findall(r"^mca:\w+:\w+:param:(\w+):value:", text, re.MULTILINE))
    words = ["ompi_info", "--version"]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    version = re.findall(r"v([\d.]+)", text)[0]
    theirs = {name for name in found if passed_in(name) == "ENVIRONMENT"}
    ours = {hint.name for hint in known().values() if hint.library == "OMPIO"}
    assert theirs <= ours
    built = ("fs_lustre_", "fs_base")  # Lustre's component is in few builds
    right = {name for name in ours if is_in(known()[name], version) and not name.startswith(built)}
    assert right <= theirs, f"Open MPI {version}"


@pytest.mark.parametrize(
    ("library", "package"), [("ROMIO", "mpich"), ("PNETCDF", "pnetcdf")], ids=["mpich", "pnetcdf"]
)
def test_the_library_itself_names_them(library: str, package: str) -> None:
    """Each hint of the version that is here stands as a word in the library's file."""
    place = next(iter(Path("/usr/lib").glob(f"*/lib{package}.so")), None)
    asked = subprocess.run(
        ["pkg-config", "--modversion", package], check=False, capture_output=True, text=True
    )
    if place is None or asked.returncode:
        pytest.skip(f"lib{package}.so or its pkg-config file is not installed")
    version, content = asked.stdout.strip(), place.read_bytes()
    names = [h.name for h in known().values() if h.library == library and is_in(h, version)]
    # Of drivers that few builds have, and of PnetCDF's --enable-subfiling and -burst-buffering.
    few = ("romio_lustre_", "start_iodevice", "direct_", "nc_burst_buf", "nc_num_subfiles")
    names = [name for name in names if not name.startswith((*few, "pnetcdf_subfiling"))]
    assert len(names) > 5
    assert [name for name in names if f"\0{name}\0".encode() not in content] == [], version


def test_the_page_of_hints_is_made_of_the_table() -> None:
    made = (pages.DOCS / "reference" / "hints.md").read_text(encoding="utf-8")
    assert made == pages.hints_page(""), "run python -m tools.pages"
    assert [name for name in known() if f"`{name}`" not in made] == []
