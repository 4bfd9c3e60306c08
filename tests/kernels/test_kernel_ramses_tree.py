# SPDX-License-Identifier: BSD-3-Clause
"""RAMSES dumps with --values physical: one tree, whichever process's file it is read from, and a
blast wave in it. All follows from RAMSES's documented records (ramses_reader.py) and the numbers
of cells and grids in them, not from how the kernel divides the box. Public readers are in
tests/readers (`make test-newer`)."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ramses_reader as reader
from iokernel_stacks import HOWS, How, Stack
from numpy.typing import NDArray
from ramses_dump import STRUCTURES, dump, make_own_files, run, words
from test_kernel_ramses_files import arrays

PROCESSES, LEVELMIN = 3, 4
PHYSICAL = ("--values", "physical")
Place = tuple[int, int, int, int]  # level and place of a grid, in grids of its level


class Process:
    """One process's grids by their number in its file."""

    def __init__(self, folder: Path, step: int, process: int) -> None:
        self.amr = reader.read_amr(dump(folder, step, "amr", process))
        self.hydro = reader.read_hydro(dump(folder, step, "hydro", process))
        self.most = self.amr.value("ngridmax")
        self.place: dict[int, Place] = {}
        self.cpu: dict[int, int] = {}
        self.row: dict[int, dict[str, tuple[float, ...]]] = {}
        for (level, cpu), block in self.amr.blocks.items():
            numbers = [int(n) for n in block["ind_grid"][0]]
            head = int(self.amr.header["headl"][level * PROCESSES + cpu])
            assert numbers == list(range(head, head + len(numbers)))
            gas = self.hydro.blocks[level, cpu]
            for i, number in enumerate(numbers):
                self.row[number] = {k: tuple(c[i] for c in v) for k, v in (block | gas).items()}
                x, y, z = (c * 2**level - 0.5 for c in self.row[number]["xg"])
                assert (x, y, z) == (int(x), int(y), int(z)), "a centre is in the middle of a grid"
                self.place[number] = (level, int(x), int(y), int(z))
                self.cpu[number] = cpu + 1
                assert self.row[number]["next"] == ((number + 1) if i + 1 < len(numbers) else 0,)
                assert self.row[number]["prev"] == ((number - 1) if i else 0,)

    def cell(self, number: int) -> tuple[Place, int]:
        """Level and place of a cell, in cells of its level; and which of its grid it is."""
        which, grid = divmod(number - 2, self.most)
        level, *at = self.place[grid + 1]
        x, y, z = (2 * a + (which >> d & 1) for d, a in enumerate(at))
        return (level + 1, x, y, z), which


@pytest.fixture(scope="module")
def folder(openmpi: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_own_files(openmpi, tmp_path_factory.mktemp("physical"), *PHYSICAL)


@pytest.fixture(scope="module")
def dumps(folder: Path) -> list[Process]:
    return [Process(folder, 1, process) for process in range(PROCESSES)]


def wrapped(place: Place, axis: int, by: int) -> Place:
    at = list(place[1:])
    at[axis] = (at[axis] + by) % 2 ** place[0]
    return (place[0], at[0], at[1], at[2])


def owned(dumps: list[Process]) -> dict[Place, tuple[int, Process, int]]:
    """Every grid of the box once, as its own process has it."""
    found = {}
    for cpu, process in enumerate(dumps, 1):
        for number, place in process.place.items():
            if process.cpu[number] == cpu:
                assert place not in found, "a grid belongs to one process"
                found[place] = (cpu, process, number)
    return found


def test_levels_fill_the_box_and_domains_part_it(dumps: list[Process]) -> None:
    grids = owned(dumps)
    for level in range(LEVELMIN):
        assert sum(place[0] == level for place in grids) == 8**level
    assert any(place[0] > LEVELMIN for place in grids), "two levels more"
    header = dumps[0].amr.header
    for (level, *at), (cpu, _, _) in grids.items():
        node, axis = 1, 0
        while header["next"][node - 1]:  # cmp_bisection_cpumap
            centre = (at[axis] + 0.5) / 2**level
            high = centre >= header["wall"][node - 1]
            node = int(header["next"][node - 1 + high * (len(header["next"]) // 2)])
            axis = (axis + 1) % 3
        assert header["indx"][node - 1] == cpu
    assert dumps[0].amr.header["coarse_cpu"] == (grids[0, 0, 0, 0][0],)


def test_every_process_has_the_tree_around_its_grids(dumps: list[Process]) -> None:
    grids = owned(dumps)
    for cpu, process in enumerate(dumps, 1):
        here = {place: number for number, place in process.place.items()}
        assert len(here) == len(process.place), "no grid twice"
        for number, place in process.place.items():
            level, row = place[0], process.row[number]
            if level == 0:
                assert row["father"] == (1,) and row["nbor"] == (1,) * 6
                continue
            assert process.cell(int(row["father"][0]))[0] == place
            for direction, neighbour in enumerate(row["nbor"]):
                right = wrapped(place, direction // 2, direction % 2 * 2 - 1)
                if neighbour:
                    assert process.cell(int(neighbour))[0] == right
                else:  # only ghosts end somewhere
                    assert process.cpu[number] != cpu
                    assert (level - 1, *(a // 2 for a in right[1:])) not in here
        for number, place in process.place.items():
            level, row = place[0], process.row[number]
            for which, son in enumerate(row["son"]):
                x, y, z = (2 * a + (which >> d & 1) for d, a in enumerate(place[1:]))
                assert here.get((level + 1, x, y, z), 0) == son
                assert row["flag1"][which] == ((level + 1, x, y, z) in grids)
        for place, (owner, _, _) in grids.items():  # a layer of ghosts on full levels
            if place[0] < LEVELMIN and owner == cpu:
                for by in product((-1, 0, 1), repeat=3):
                    near = place
                    for axis, step in enumerate(by):
                        near = wrapped(near, axis, step)
                    assert near in here


def test_ghosts_are_copies(dumps: list[Process]) -> None:
    grids = owned(dumps)
    same = ["xg", "cpu_map", "flag1", *reader.VARIABLES]
    ghosts = 0
    for cpu, process in enumerate(dumps, 1):
        for number, place in process.place.items():
            owner, other, there = grids[place]
            assert process.cpu[number] == owner
            assert {k: process.row[number][k] for k in same} == {
                k: other.row[there][k] for k in same
            }
            ghosts += owner != cpu
            for which, cell_cpu in enumerate(process.row[number]["cpu_map"]):
                x, y, z = (2 * a + (which >> d & 1) for d, a in enumerate(place[1:]))
                son = grids.get((place[0] + 1, x, y, z))
                assert cell_cpu == (son[0] if son else owner)
    assert ghosts > 300


def leaves(dumps: list[Process]) -> NDArray[np.float64]:
    """Of each leaf: width, x, y, z, and the gas."""
    rows = []
    for (level, *at), (_, process, number) in owned(dumps).items():
        row = process.row[number]
        for which in range(8):
            if row["son"][which]:
                continue
            centre = [(2 * a + (which >> d & 1) + 0.5) / 2 ** (level + 1) for d, a in enumerate(at)]
            gas = [row[name][which] for name in reader.VARIABLES]
            rows.append([0.5 ** (level + 1), *centre, *gas])
    return np.array(rows)


def test_blast_wave(openmpi: Stack, tmp_path: Path) -> None:
    """Sedov's solution for gamma 1.4: the shock's radius (alpha of the published table, 0.851), the
    jump there, and mass, momentum and energy of the box as they were before."""
    for pattern in ("ramses-amr", "ramses-hydro"):
        command = words(
            pattern, How("posix", None), tmp_path, *PHYSICAL, "--keep", "--overwrite", size=32
        )
        run(openmpi, PROCESSES, *command, "--steps", "3", folder=tmp_path).good()
    for step in (1, 2):
        time = 0.01 * (step + 1)
        radius = (time**2 / 0.851) ** 0.2
        cells = leaves([Process(tmp_path, step, p) for p in range(PROCESSES)])
        volume, r = cells[:, 0] ** 3, np.sqrt(((cells[:, 1:4] - 0.5) ** 2).sum(axis=1))
        density, velocity, pressure = cells[:, 4], cells[:, 5:8], cells[:, 8]
        assert volume.sum() == pytest.approx(1, rel=1e-12)
        assert (density * volume).sum() == pytest.approx(1, rel=0.02)
        assert abs((velocity * (density * volume)[:, None]).sum(axis=0)).max() < 1e-9
        kinetic = (density * (velocity**2).sum(axis=1) / 2 * volume).sum()
        thermal = (pressure / 0.4 * volume).sum()
        assert kinetic + thermal == pytest.approx(1, rel=0.1)
        assert thermal / (kinetic + thermal) == pytest.approx(0.78, abs=0.04)
        assert r[density > 1.5].max() == pytest.approx(radius, abs=1 / 32)
        outside = r > radius + 1 / 32
        assert (density[outside] == 1).all() and (velocity[outside] == 0).all()
        shock = (r < radius) & (r > radius - 1 / 64)
        assert 4 < density[shock].max() <= 6
        speed = 0.4 * radius / time
        outward = (velocity * (cells[:, 1:4] - 0.5)).sum(axis=1) / r
        assert outward[shock].max() == pytest.approx(speed / 1.2, rel=0.05)
        # Published for gamma 1.4: the pressure is even near the center, 0.366 of that at the shock.
        inner = pressure[r < radius / 4] / (speed**2 / 1.2)
        assert inner == pytest.approx(np.full(len(inner), 0.366), rel=0.01)
        assert np.sqrt((velocity**2).sum(axis=1)) == pytest.approx(np.abs(outward), abs=1e-9)


SHARED = [
    *(how for how in HOWS if how.mode == "collective" and how.method in ("hdf5", "pnetcdf")),
    *(how for how in HOWS if how.method in ("posix-shared",)),
    *(how for how in HOWS if how.method == "mpiio" and how.mode == "collective"),
]


@pytest.mark.parametrize("layout", ["level-major", "process-major"])
@pytest.mark.parametrize("how", SHARED, ids=str)
def test_shared_files_hold_the_same(
    openmpi: Stack, folder: Path, how: How, layout: str, tmp_path: Path
) -> None:
    """The grids of every process, level after level or process after process."""
    for pattern in ("ramses-amr", "ramses-hydro"):
        more = [*PHYSICAL, "--refine", "--keep", "--layout", layout]
        run(openmpi, PROCESSES, *words(pattern, how, tmp_path, *more), folder=tmp_path).good()
        kind = pattern.removeprefix("ramses-")
        (path,) = tmp_path.glob(f"{kind}_*")
        shared: dict[str, Any] = arrays(path, pattern, 6, PROCESSES)
        read = reader.read_amr if kind == "amr" else reader.read_hydro
        files = [read(dump(folder, 0, kind, p)) for p in range(PROCESSES)]
        order = list(product(range(6), range(PROCESSES)))
        if layout == "process-major":
            order.sort(key=lambda at: at[1])
        for name, _, components in STRUCTURES[pattern]:
            for c in range(components):
                right: list[float] = []
                for level, process in order:
                    for cpu in range(PROCESSES):
                        block = files[process].blocks.get((level, cpu))
                        right += block[name][c] if block else ()
                found = shared[name][c] if components > 1 else shared[name]
                assert found.tolist() == right, (name, c)
