# SPDX-License-Identifier: BSD-3-Clause
"""Hints: each to where its library looks for it."""

from __future__ import annotations

import pytest

from iogauge import tables
from iogauge.hints import parse_hints, sort_hints, variable, way


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
        assert way(f"{start}x") == expected
        assert variable(f"{start}x") == (f"{before}{start}x" if expected == "ENVIRONMENT" else None)
    assert way("romio_cb_write") == "MPI_INFO"


@pytest.mark.parametrize("text", ["cb_nodes", "=8", "8=8", "cb_nodes="])
def test_what_is_no_hint_is_quoted(text: str) -> None:
    with pytest.raises(ValueError, match=f"hints: '{text}' is not K=V"):
        parse_hints(f"romio_cb_write=enable {text}")
