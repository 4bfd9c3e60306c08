# SPDX-License-Identifier: BSD-3-Clause
"""Mode filtered: the chunks and filters of a user's file, or of a hint; other readers find the
model's values behind them, and what the result says of the bytes stored is what the file has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import iokernel_model as model
import netCDF4
import numpy as np
import pytest
from iokernel_stacks import Stack, check_usage

from iogauge.cli.main import main as analysis

SHAPE, CHUNK = (20, 13, 9), (5, 6, 9)
FILTERED = ("--method", "hdf5", "--mode", "filtered")
# NetCDF's wheel brings plugins, built for its own HDF5; Debian's can load them.
PLUGINS = {"HDF5_PLUGIN_PATH": str(Path(netCDF4.__file__).with_name("plugins"))}


@pytest.fixture(scope="module")
def like(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("user") / "dump.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset(
            "warm", SHAPE, "f8", chunks=CHUNK, shuffle=True, compression="gzip", compression_opts=5
        )
        file.create_dataset("plain", SHAPE, "i2")
        file.create_dataset("summed", SHAPE, "u4", chunks=CHUNK, fletcher32=True)
        file.create_dataset("one", (), "f8")
    out = path.with_suffix(".like")
    assert analysis(["replay", "like", str(path), "-o", str(out)]) == 0
    return out


def right(name: str, calm: int) -> Any:
    """The variables stand in the file in the order of their names."""
    order = {"one": ("float64", ()), "plain": ("int16", SHAPE), "summed": ("uint32", SHAPE),
             "warm": ("float64", SHAPE)}  # fmt: skip
    kind, shape = order[name]
    of = model.key(1, list(order).index(name), 0)
    return model.values(kind, of, int(np.prod(shape)), calm).reshape(shape)


def filters(dataset: Any) -> list[int]:
    plist = dataset.id.get_create_plist()
    return [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]


def write(stack: Stack, like: Path, folder: Path, *words: str, calm: float, plugins: Any) -> Any:
    folder.mkdir()
    document = stack.run(
        "file", "--like", str(like), "--dir", str(folder), "--keep", *FILTERED, *words,
        "--compressibility", str(calm), document=folder.with_suffix(".json"),
        environment=plugins,
    ).good()  # fmt: skip
    assert document["verification"]["verdict"] == "verified"
    size = (folder / "dump.00000.h5").stat().st_size
    assert 0 < document["payload"]["stored"] < document["payload"]["bytes"]
    assert document["file_bytes"] == size > document["payload"]["stored"]
    return document


@pytest.mark.parametrize("cut", ["axis3_20=2", "axis3_20=2:cyclic:3"])
def test_those_of_the_users_file(stack: Stack, like: Path, tmp_path: Path, cut: str) -> None:
    """Chunks that are one process's, and chunks that both share."""
    document = write(stack, like, tmp_path / "d", "--cut", cut, calm=0.5, plugins={})
    with h5py.File(tmp_path / "d" / "dump.00000.h5") as made:
        warm = made["warm"]
        assert (warm.chunks, warm.shuffle) == (CHUNK, True)
        assert (warm.compression, warm.compression_opts) == ("gzip", 5)
        assert made["plain"].chunks is None and made["summed"].fletcher32
        stored = sum(made[name].id.get_storage_size() for name in made)
        assert document["payload"]["stored"] == stored
        for name in made:
            np.testing.assert_array_equal(made[name][...], right(name, 64))


@pytest.mark.parametrize(("name", "number"), [("deflate", 1), ("zstd", 32015)])
def test_those_of_a_hint(stack: Stack, like: Path, tmp_path: Path, name: str, number: int) -> None:
    words = ("--hint", f"hdf5_filter={name}", "--cut", "axis1_9=2")
    write(stack, like, tmp_path / "d", *words, calm=0.25, plugins=PLUGINS)
    path = tmp_path / "d" / "dump.00000.h5"
    with h5py.File(path) as made:
        assert filters(made["warm"]) == filters(made["plain"]) == [number]
        assert made["plain"].chunks == (20, 13, 5) and made["one"].chunks is None
    with netCDF4.Dataset(path) as made:  # which has zstd, too
        for one in ("warm", "plain", "summed"):
            np.testing.assert_array_equal(made[one][...], right(one, 32))


def test_szip(stack: Stack, like: Path, tmp_path: Path) -> None:
    """HDF5 1.10.8 loses a chunk that szip cannot make smaller: here it can, of each."""
    alone = {**json.loads(like.read_text())}
    alone["variables"] = [v for v in alone["variables"] if v["name"] in ("warm", "one")]
    (tmp_path / "alone.like").write_text(json.dumps(alone))
    words = ("--hint", "hdf5_filter=szip", "--hint", "hdf5_szip_pixels=8", "--cut", "axis3_20=2")
    write(stack, tmp_path / "alone.like", tmp_path / "d", *words, calm=1, plugins={})
    with h5py.File(tmp_path / "d" / "dump.00000.h5") as made:
        assert filters(made["warm"]) == [4]
        values = model.values("float64", model.key(1, 1, 0), int(np.prod(SHAPE)), 128)
        np.testing.assert_array_equal(made["warm"][...], values.reshape(SHAPE))


def test_a_filter_that_is_not_there(openmpi: Stack, like: Path, tmp_path: Path) -> None:
    words = ["--like", str(like), *FILTERED, "--hint", "hdf5_filter=shuffle,zstd"]
    without = {"HDF5_PLUGIN_PATH": str(tmp_path)}
    line = openmpi.run("file", *words, "--dir", str(tmp_path), environment=without).error(2)
    assert "filter zstd is not available in this HDF5" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "holds"),
    [
        (["--mode", "chunked", "--hint", "hdf5_filter=deflate"], "mode chunked has no filters"),
        (["--mode", "filtered", "--hint", "hdf5_filter=^szip"], "expected the filters"),
        (["--mode", "filtered", "--hint", "hdf5_filter=lz9"], "expected shuffle, deflate"),
        (["--mode", "filtered", "--hint", "hdf5_szip_pixels=9"], "expected an even number"),
    ],
)
def test_a_wrong_hint(openmpi: Stack, tmp_path: Path, words: list[str], holds: str) -> None:
    check_usage(openmpi, ["file", "--method", "hdf5", *words], [holds], tmp_path)
