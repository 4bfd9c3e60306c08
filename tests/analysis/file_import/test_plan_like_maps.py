# SPDX-License-Identifier: BSD-3-Clause
"""Maps that `replay like` refuses."""

from pathlib import Path

import h5py
import netCDF4
import pytest

from iogauge.analysis.file_import import maps
from iogauge.cli.main import main

CDL = "netcdf a { dimensions: x = 4 ; y = 3 ; variables: ushort mask(y, x) ; }"


@pytest.mark.parametrize(
    ("map_", "holds"),
    [
        ("version 2001 npes 1 ndims 2\n2 2\n0 1\n1\n", "a map of 2 dimensions, found y"),
        ("hello", "expected a decomposition map as PIO writes it"),
        ("", "expected a decomposition map as PIO writes it"),
        ("version 2001 npes 2 ndims 1\n3\n0 1\n1\n", "expected a decomposition map"),
        ("version 2001 npes 1 ndims 1\n3\n0 2\n1 1\n", "has a point twice, or one above 3"),
        (
            "version 2001 npes 1 ndims 1\n4\n0 2\n1 2\n",
            "a map of 4 points does not fit y, which is 3",
        ),
        (
            "version 2001 npes 1 ndims 1\n3\n0 2\n0 0\n",
            "0 points of y belong to several processes, 3",
        ),
        ("version 2001 npes 2 ndims 1\n3\n0 2\n1 2\n1 2\n2 3\n", "1 points of y belong to several"),
        ("version 2001 npes 1 ndims 1\n3\n0 1\n" + "9" * 30, "expected a decomposition map"),
    ],
)
def test_a_wrong_map(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], map_: str, holds: str
) -> None:
    (tmp_path / "map").write_text(map_)
    (tmp_path / "a.cdl").write_text(CDL)
    words = ["--list", f"y={tmp_path / 'map'}", "-o", str(tmp_path / "out")]
    assert main(["replay", "like", str(tmp_path / "a.cdl"), *words]) == 3
    assert holds in capsys.readouterr().err


@pytest.mark.parametrize(
    ("map_", "points", "masked"),
    [
        ("3 ndims 1\n6\n0 1\n2\n1 1\n4\n2 0\n\n", [[0, 1, 2], [3, 4, 5], []], 4),
        ("2 ndims 1\n6\n0 4\n0 6 1 0\n1 2\n3 4\n", [[0, 1, 5], [2, 3, 4]], 2),
        ("1 ndims 1\n6\n0 6\n6 5 4 3 2 1\n", [[0, 1, 2, 3, 4, 5]], 0),
    ],
)
def test_masked_points_are_of_the_process_of_the_point_before(
    tmp_path: Path, map_: str, points: list[list[int]], masked: int
) -> None:
    (tmp_path / "map").write_text(f"version 2001 npes {map_}")
    found, holes = maps.read(tmp_path / "map", ("y",), [6])
    assert [mine.tolist() for mine in found] == points
    assert holes == masked


def test_a_map_in_netcdf_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "a.nc"
    with netCDF4.Dataset(data, "w", format="NETCDF3_CLASSIC") as dataset:
        dataset.createDimension("ncol", 6)
        dataset.createVariable("t", "f8", ("ncol",))
    words = ["replay", "like", str(data), "-o", str(tmp_path / "o"), "--list", f"ncol={data}"]
    assert main(words) != 0
    assert f"{data}: not ASCII text; a map in NetCDF or HDF5 is not read" in capsys.readouterr().err


def test_a_map_behind_a_user_block_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["map"] = [1.0, 2.0]
    words = ["replay", "like", str(path), "-o", str(tmp_path / "o"), "--list", f"axis1_2={path}"]
    assert main(words) == 3
    assert f"{path}: not ASCII text; a map in NetCDF or HDF5 is not read" in capsys.readouterr().err
