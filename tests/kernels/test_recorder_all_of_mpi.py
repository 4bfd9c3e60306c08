# SPDX-License-Identifier: BSD-3-Clause
"""Every function of MPI by which one process may learn of another is recorded; MPI 4's with
large counts as their older ones are."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from iokernel_stacks import Stack
from test_recorder_order import program_of, races_by_kind, run_of_kinds

from reframe_tests.framework.recorders import RECORDER

# None of these passes a message, but MPI_Start and those that end a request for what was made
# before. Processes that are spawned or connected later have a different world: no trace has it.
LOCAL = re.compile(
    r"MPI_(?:"
    r"(?:Type|Info|Group|Errhandler|Error|Status|Op|Attr|Keyval|Add|Session|T|Get|Grequest)_.*"
    r"|(?:Comm|Win|File)_(?:get|set|create|free|delete|call)_(?:attr|name|info|errhandler|keyval"
    r"|group|size|amode|byte_offset|position|position_shared|view|atomicity|type_extent|parent)"
    r"|(?:Comm|Win|File|Request|Message)_[cf]2[cf]"
    r"|(?:Comm|Win|File)_(?:compare|group|rank|size|remote_group|remote_size|test_inter"
    r"|attach|detach|shared_query|delete|preallocate|seek|seek_shared)"
    r"|(?:Graph|Cart|Dist_graph)_(?:get|map|coords|rank|shift|neighbors|neighbors_count)"
    r"|Graphdims_get|Cartdim_get|Topo_test|Dims_create"
    r"|.*_init|Init|Init_thread|Initialized|Finalized|Is_thread_main|Query_thread|Pcontrol"
    r"|Aint_(?:add|diff)|Address|Alloc_mem|Free_mem|Cancel|Test_cancelled|Wtime|Wtick"
    r"|(?:Pack|Unpack)(?:_.*)?|Buffer_(?:attach|detach)|Reduce_local|Register_datarep"
    r"|Comm_(?:accept|connect|join|spawn|spawn_multiple)|(?:Open|Close)_port"
    r"|(?:Publish|Unpublish|Lookup)_name|Intercomm_create_from_groups"
    r")(?:_c)?"
)
# Kinds of mpi_ordered.c and whether they race: sends, receives and what all call.
LARGE = {
    "send": False, "isend": False, "wildcard": False, "sendrecv": False, "taken": False,
    "taken-later": False, "broadcast": False, "reduce": False, "gather": False, "scatter": False,
    "other-tag": True, "early-send": True, "broadcast-from-1": True, "gather-to-0": True,
}  # fmt: skip


def functions(library: Path) -> set[str]:
    """What a library offers of MPI, but its constants."""
    command = ["nm", "-D", "--defined-only", str(library)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r" [TWi] (MPI_[A-Z][a-z]\w*)$", said, re.MULTILINE))


def of_mpi(stack: Stack) -> set[str]:
    said = subprocess.run(
        ["ldd", str(stack.iokernel)], capture_output=True, text=True, check=True
    ).stdout
    (path,) = re.findall(rf"{re.escape(stack.mpi)} => (\S+)", said)
    return functions(Path(path))


def test_what_may_pass_a_message_is_recorded(stack: Stack) -> None:
    recorded, offered = functions(stack.build / RECORDER), of_mpi(stack)
    assert len(recorded) > 150 and len(offered) > 350
    assert sorted(one for one in offered - recorded if not LOCAL.fullmatch(one)) == []


@pytest.mark.slow
def test_calls_with_large_counts_order(stack: Stack, tmp_path: Path) -> None:
    """The same program, of MPI 4's functions. Those with arrays of counts are left."""
    large = sorted(one for one in of_mpi(stack) if re.fullmatch(r"MPI_[A-Z]\w*[^vw]_c", one))
    if not large:
        pytest.skip(f"{stack.name}: MPI 3 has no large counts")
    header = tmp_path / "large.h"
    names = [one.removesuffix("_c") for one in large if "Reduce_scatter" not in one]
    header.write_text("#include <mpi.h>\n" + "".join(f"#define {n} {n}_c\n" for n in names))
    program = program_of(stack, "mpi_ordered.c", tmp_path, "-include", str(header))
    raced = races_by_kind(run_of_kinds(stack, tmp_path, program, list(LARGE)))
    assert {kind: kind in raced for kind in LARGE} == LARGE
    assert all(races == certain for races, certain in raced.values())
