# SPDX-License-Identifier: BSD-3-Clause
"""What a build printed, and the one line that says why it failed."""

import pytest

from iogauge.common.text import first_error

CMAKE = "CMake Error at CMakeLists.txt:67 (find_libraries):\n  HDF5 is serial:\n  name another\n"


@pytest.mark.parametrize(
    ("output", "right"),
    [
        ("a.c:1:1: warning: w\na.c:4:1: error: first\nb.c:1:1: error: second\n",
         "a.c:4:1: error: first"),
        ("a.c:1:10: fatal error: mpi.h: No such file or directory\ncompilation terminated.\n",
         "a.c:1:10: fatal error: mpi.h: No such file or directory"),
        ("ld: a.o: undefined reference to `f'\ncollect2: error: ld returned 1 exit status\n",
         "ld: a.o: undefined reference to `f'"),
        ("/usr/bin/ld: cannot find -lpnetcdf: No such file or directory\n",
         "/usr/bin/ld: cannot find -lpnetcdf: No such file or directory"),
        (f"-- Detecting\n{CMAKE}Call Stack (most recent call first):\n  CMakeLists.txt:7\n",
         "HDF5 is serial: name another"),
        (f"{CMAKE}\n\n-- Configuring incomplete\n", "HDF5 is serial: name another"),
        ('CMake Error: The source directory "/x" does not exist.\n\nSpecify --help.\n',
         'The source directory "/x" does not exist.'),
        ("CMake Error at C.cmake:70 (message):\n  The C compiler\n\n  fails:\n\n  gcc: error: no\n",
         "gcc: error: no"),
        ("[1/2] all is well\n0 errors\n", ""),
    ],
)  # fmt: skip
def test_the_first_error_of_a_build(output: str, right: str) -> None:
    assert first_error(output) == right
