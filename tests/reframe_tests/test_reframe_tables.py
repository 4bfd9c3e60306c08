# SPDX-License-Identifier: BSD-3-Clause
"""Tables and small functions of the tests that need no ReFrame session."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.common.mounts import UNKNOWN, mount_of
from reframe_tests.machine import calls, components
from reframe_tests.machine.scales import near_cubic
from site_configs.support import debian
from tests.reframe_session import reframe


def test_a_call_says_what_it_needs_and_how_it_is_asked_for() -> None:
    call = calls.BY_NAME["pnetcdf:nonblocking"]
    assert call.options == ["--method pnetcdf", "--mode nonblocking"]
    assert call.environs == ["+mpi +pnetcdf"]
    assert calls.BY_NAME["posix"].options == ["--method posix"]
    assert calls.BY_NAME["posix"].environs == ["+mpi"]
    behind = calls.BY_NAME["ioserver:hdf5"]
    assert behind.options == ["--method ioserver", "--inner hdf5"]
    assert behind.environs == ["+mpi +hdf5"]
    assert behind.servers == 1


def test_only_null_moves_nothing() -> None:
    assert [call.name for call in calls.CALLS if call.verdict != "verified"] == ["null"]
    assert calls.BY_NAME["null"].verdict == "nothing moved"


def test_calls_for_meshes_are_not_for_others() -> None:
    """And the serial one has its number of processes."""
    more = set(calls.names(mesh=True)) - set(calls.names())
    modes = ("collective", "collective-metadata", "independent", "multi", "serial")
    assert more == {"hdf5:collective-metadata", *(f"cgns:{mode}" for mode in modes)}
    assert calls.BY_NAME["cgns:serial"].environs == ["+mpi +hdf5 +cgns"]
    assert [call.name for call in calls.CALLS if call.processes == 1] == ["cgns:serial"]


def test_a_pattern_can_leave_calls_out_but_not_unknown_ones() -> None:
    assert "mpiio:ordered" in calls.names()
    assert "mpiio:ordered" not in calls.names(without=["mpiio:ordered"])
    assert set(calls.names()) - set(calls.names(without=["mpiio"])) == {
        name for name in calls.names() if name.startswith("mpiio:")
    }
    with pytest.raises(ValueError, match="'mpiio:orderd' is unknown; did you mean 'mpiio:ordered'"):
        calls.names(without=["mpiio:orderd"])


@given(st.integers(min_value=1, max_value=5000))
def test_a_process_grid_uses_all_processes_the_longest_edge_first(processes: int) -> None:
    x, y, z = near_cubic(processes)
    assert x * y * z == processes
    assert x >= y >= z


@pytest.mark.parametrize(("processes", "grid"), [(1, (1, 1, 1)), (2, (2, 1, 1)), (12, (3, 2, 2))])
def test_near_cubic_grids(processes: int, grid: tuple[int, int, int]) -> None:
    assert near_cubic(processes) == grid


def test_a_cube_number_gives_a_cube() -> None:
    assert near_cubic(4096) == (16, 16, 16)


MOUNTS = """\
rootfs / rootfs rw 0 0
/dev/sda1 / ext4 rw,relatime 0 0
tmpfs {base}/ram tmpfs rw,size=1g 0 0
lustre@tcp:/big {base}/with\\040blank lustre rw,flock 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("ram", "tmpfs"),
        ("ram/not/there/yet", "tmpfs"),
        ("ramdisk", "ext4"),  # begins like a mount point, and is none
        ("with blank", "lustre"),
        ("", "ext4"),
    ],
)
def test_the_deepest_mount_point_holds_a_path(tmp_path: Path, path: str, kind: str) -> None:
    for folder in ("ram", "ramdisk", "with blank"):
        (tmp_path / folder).mkdir()
    found = mount_of(tmp_path / path, MOUNTS.format(base=tmp_path))
    assert found["type"] == kind
    assert found["mount"] in (str(tmp_path / path), str(tmp_path / "ram"), "/")


def test_the_later_of_two_mounts_on_a_point_counts(tmp_path: Path) -> None:
    found = mount_of(tmp_path, f"a {tmp_path} xfs rw 0 0\nb {tmp_path} btrfs ro 0 0\n")
    assert found == {"type": "btrfs", "mount": str(tmp_path), "device": "b", "options": "ro"}


def test_no_mounts_are_unknown(tmp_path: Path) -> None:
    assert mount_of(tmp_path, "") == UNKNOWN


@pytest.mark.slow
def test_values_that_readers_read_are_an_option_of_the_test(tmp_path: Path) -> None:
    one = r"^RamsesOwnFiles.*fs=ram.*contents=hydro.*scale=smoke.*call=posix"
    words = ("--system", "local", "-p", "openmpi", "-n", one, "--dry-run")
    for chosen in ("hash", "physical"):
        output = tmp_path / chosen
        session = reframe(
            output, *words, "-S", f"RamsesOwnFiles.values={chosen}", tests="ramses.py"
        )
        (script,) = session.scripts("openmpi")
        assert ("--values physical" in script.read_text()) == (chosen == "physical"), session.text


def test_components_are_those_of_the_table_of_hints() -> None:
    """Each stack's own are among them, and a message names what a stack has."""
    known = set(components.COMPONENTS)
    stacks = [debian.openmpi(), debian.openmpi(debian.Debian("trixie"))]
    assert all(set(stack["extras"]["components"]) <= known for stack in stacks)
    older, newer = (stack["extras"] for stack in stacks)
    assert components.missing("openmpi", older, "two_phase") is None
    said = components.missing("trixie-openmpi", newer, "two_phase")
    assert said is not None and "no component two_phase; it has dynamic" in said
    assert "extras.components" in str(components.missing("mpich", {}, "romio"))
    assert components.COMPONENTS["romio"].environment == {"OMPI_MCA_io": "^ompio"}
