# SPDX-License-Identifier: BSD-3-Clause
"""iokernel called as s3d_io.x: S3D-IO's nine arguments, its files and its summary."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import iokernel_model as model
import netCDF4
import numpy as np
import pytest
from iokernel_stacks import Run, Stack

# README of S3D-IO, "Example output from screen" (method 1, restart F, 4096 processes).
SCREEN = """\
 ++++ I/O is done through PnetCDF ++++
 I/O method          : nonblocking APIs
 Run with restart    : False
 No. MPI processes   :    4096
 Global array size   :     800 x    800 x    800
 output file path    : /scratch1/scratchdirs/wkliao/FS_1M_96
 file striping count :      96
 file striping size  : 1048576 bytes
 -----------------------------------------------
 Time for open       :        0.11 sec
 Time for read       :        0.00 sec
 Time for write      :       18.04 sec
 Time for close      :        0.02 sec
 no. read  calls     :        0    per process
 no. write calls     :       20    per process
 total read  amount  :        0.00 GiB
 total write amount  :      305.18 GiB
 read  bandwidth     :        0.00 MiB/s
 write bandwidth     :    17318.78 MiB/s
 -----------------------------------------------
 total I/O   amount  :      305.18 GiB
 total I/O   time    :       18.17 sec
 I/O   bandwidth     :    17201.53 MiB/s
"""
GRID = (64, 32, 16)
DUMP = 128 * 64 * 32 * 16  # bytes


def skeleton(line: str) -> str:
    """A line with its numbers (and the blanks before them) as marks of the same length, so that two
    lines are equal when labels, columns, decimals and units are."""

    def mark(number: re.Match[str]) -> str:
        decimals = len(number[2] or "")
        return "#" * (len(number[0]) - decimals) + "." * decimals

    return re.sub(r"( +\d+)(\.\d+)?\b", mark, line)


def split_screen(run: Run) -> tuple[list[str], list[str]]:
    """Upstream's print_io_hints, and the summary after it; an empty line is between them."""
    lines = run.stdout.splitlines()
    return lines[: lines.index("")], lines[lines.index("") + 1 :]


def number(run: Run, label: str) -> float:
    found = re.search(rf"^ {re.escape(label)} +: +([\d.]+)", run.stdout, re.MULTILINE)
    assert found, f"no line '{label}': {run}"
    return float(found[1])


def s3d_io(stack: Stack, *words: str) -> Run:
    return stack.run(*words, program=stack.build / "s3d_io.x")


@pytest.mark.parametrize("method", ["0", "1"])
def test_screen_and_files(stack: Stack, method: str, tmp_path: Path) -> None:
    run = s3d_io(stack, *map(str, GRID), "2", "1", "1", method, "F", str(tmp_path))
    assert run.status == 0, str(run)
    info, found = split_screen(run)
    right = SCREEN.splitlines()
    assert info[0] == " ---- MPI file info used ----"
    assert all(re.fullmatch(r" {4}.{32} = .*", line) for line in info[1:]), "Fortran's A32"
    assert f"    {'nc_in_place_swap':>32} = enable" in info  # as asked for: set_io_hints
    right[1] = right[1].replace("nonblocking", "nonblocking" if method == "1" else "blocking")
    right[5] = f" output file path    : {tmp_path}"
    assert list(map(skeleton, found)) == list(map(skeleton, right))
    assert found[3] == " No. MPI processes   :       2"
    assert found[4] == " Global array size   :      64 x     32 x     16"
    assert number(run, "no. write calls") == 20
    assert number(run, "no. read  calls") == 0
    assert number(run, "total write amount") == round(5 * DUMP / 2**30, 2)
    assert number(run, "total I/O   amount") == round(5 * DUMP / 2**30, 2)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        f"pressure_wave_test.{time}.field.nc"
        for time in ("0.000E+00", "1.000E-06", "2.000E-06", "3.000E-06", "4.000E-06")
    )
    data = model.S3d(grid=GRID)
    with netCDF4.Dataset(tmp_path / "pressure_wave_test.4.000E-06.field.nc") as file:
        np.testing.assert_array_equal(file.variables["temp"][:], data.array("temp", 4))


# Each process leaves a file with its number of calls.
COUNTED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int calls;
int ncmpi_wait_all(int file, int n, int *requests, int *states) {
    int (*next)(int, int, int *, int *);
    *(void **)&next = dlsym(RTLD_NEXT, "ncmpi_wait_all");
    calls++;
    return next(file, n, requests, states);
}
__attribute__((destructor)) static void leave(void) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%d", getenv("WAITS"), getpid());
    FILE *file = calls ? fopen(name, "w") : NULL;
    if (file) fprintf(file, "%d", calls);
    if (file) fclose(file);
}
"""


@pytest.mark.parametrize("method", ["0", "1"])
def test_nonblocking_waits_once_for_each_dump(stack: Stack, method: str, tmp_path: Path) -> None:
    """README: "the total number of calls to nfmpi_waitall is equal to i_time_end", 5; and "a single
    call to nfmpi_waitall for read requests". Blocking calls have none."""
    source, library = tmp_path / "count.c", tmp_path / "count.so"
    source.write_text(COUNTED)
    command = ["cc", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    data, program = tmp_path / "data", stack.build / "s3d_io.x"
    data.mkdir()
    for restart, waits in (("F", 5), ("T", 6)):
        counts = tmp_path / restart
        counts.mkdir()
        words = [*map(str, GRID), "2", "1", "1", method, restart, str(data)]
        counting = {"LD_PRELOAD": str(library), "WAITS": str(counts)}
        run = stack.run(*words, program=program, environment=counting)
        assert run.status == 0, str(run)
        found = [int(path.read_text()) for path in counts.iterdir()]
        assert found == ([waits] * 2 if method == "1" else [])


def test_restart_reads_first(stack: Stack, tmp_path: Path) -> None:
    words = [*map(str, GRID), "1", "2", "1", "1", "T", str(tmp_path)]
    first = s3d_io(stack, *words)
    assert first.status == 0, str(first)
    name = tmp_path / "pressure_wave_test.0.000E+00.field.nc"
    assert f" restart file does not exist {name}\n" in first.stdout
    assert number(first, "no. read  calls") == 0
    second = s3d_io(stack, *words)
    assert second.status == 0, str(second)
    assert "does not exist" not in second.stdout
    assert " Run with restart    : True\n" in second.stdout
    assert number(second, "no. read  calls") == 4
    assert number(second, "no. write calls") == 20
    assert number(second, "total read  amount") == round(DUMP / 2**30, 2)
    assert number(second, "read  bandwidth") > 0


@pytest.mark.parametrize("count", [0, 1, 8, 10])
def test_wrong_number_of_arguments(stack: Stack, count: int) -> None:
    words = ["8", "6", "4", "2", "1", "1", "1", "F", ".", "10"][:count]
    line = s3d_io(stack, *words).error(2)
    usage = "Usage: s3d_io.x nx_g ny_g nz_g npx npy npz method restart dir_path"
    assert line.startswith(f"iokernel: error: {usage}")


@pytest.mark.parametrize(
    ("at", "word", "right"),
    [
        (0, "0", "expected"),
        (3, "3", "2 processes"),
        (6, "2", "expected 0 or 1"),
        (6, "x", "expected 0 or 1"),
        (7, "yes", "expected T or F"),
        (7, "", "expected T or F"),
    ],
)
def test_wrong_arguments(openmpi: Stack, at: int, word: str, right: str, tmp_path: Path) -> None:
    words = ["8", "6", "4", "2", "1", "1", "1", "F", str(tmp_path)]
    words[at] = word
    line = s3d_io(openmpi, *words).error(2)
    assert right in line
    assert list(tmp_path.iterdir()) == []


FORTRAN = """\
program steps
   implicit none
   double precision time, tstep, time_ref
   integer i
   character(len=10) name
   time = 0
   tstep = 0
   time_ref = 1.29889001100892417E-005
   do i = 1, 5
      write(name, '(1pe10.3)') time * time_ref
      print '(a, 2(1x, z16.16))', trim(adjustl(name)), transfer(time, 1_8), transfer(tstep, 1_8)
      tstep = 1e-6 / time_ref
      time = time + tstep
   enddo
end program steps
"""


def test_times_are_those_of_fortran(openmpi: Stack, tmp_path: Path) -> None:
    """The attributes of all five dumps, bit by bit, and the files' names, from a Fortran program
    that steps through time as S3D-IO's source does."""
    if not shutil.which("gfortran"):
        pytest.skip("gfortran is not installed")
    (tmp_path / "steps.f90").write_text(FORTRAN)
    subprocess.run(
        ["gfortran", "-o", str(tmp_path / "steps"), str(tmp_path / "steps.f90")], check=True
    )
    said = subprocess.run([str(tmp_path / "steps")], capture_output=True, text=True, check=True)
    place = tmp_path / "data"
    place.mkdir()
    words = ["s3d", "--grid", "8x8x8", "--steps", "5", "--method", "pnetcdf", "--write-only"]
    openmpi.run(*words, "--keep", "--dir", str(place))
    for line in said.stdout.splitlines():
        name, *words = line.split()
        with netCDF4.Dataset(place / f"pressure_wave_test.{name}.field.nc") as file:
            found = [struct.pack(">d", getattr(file, key)).hex() for key in ("time", "tstep")]
        assert found == [word.lower() for word in words], line
