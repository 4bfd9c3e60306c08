# SPDX-License-Identifier: BSD-3-Clause
"""The ledger's verdicts, on runs made up number by number."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.darshan.log import FileTrace, Log, Work
from iogauge.analysis.ledger.ledger import CEILINGS, DIRECT, Ledger, make_ledger
from iogauge.analysis.ledger.verdict import (
    HOLES,
    ONCE,
    OVERFLOW,
    PADDING,
    READ_SIEVING,
    REWRITING,
    SIEVING,
    judge,
)
from iogauge.common import paths

PAYLOAD = 1000000  # of a repeat
REPEATS = 2
PROCESSES = 4
ALL = PAYLOAD * REPEATS
FILE = "/fs/run/data.bin"
OVERHEAD = 512  # bytes of a header
START = 1.7e9  # Unix time


def document(**more: Any) -> dict[str, Any]:
    return {
        "asked": {"hints": {"cb_nodes": "2"}},
        "used": {"hints": {"cb_nodes": "1", "romio_cb_write": "automatic"}},
        "payload": {"bytes": PAYLOAD},
        "files": [{"path": FILE, "bytes": PAYLOAD}],
        "file_count": 1,
        "file_bytes": PAYLOAD,
        "samples": [{"write": {"seconds": 1.0}, "read": {"seconds": 1.0}}] * REPEATS,
        "verification": {"verdict": "verified"},
        **more,
    }


def trace(module: str, written: int, read: int = ALL, path: str = FILE, **more: int) -> FileTrace:
    values = {"BYTES_WRITTEN": written, "BYTES_READ": read, **more}
    calls = {"POSIX": ("WRITES", "READS"), "MPI-IO": ("COLL_WRITES", "COLL_READS")}[module]
    values = {calls[0]: 8, calls[1]: 8, **values}
    ranks = tuple(Work(r, read // PROCESSES, written // PROCESSES, 0.1) for r in range(PROCESSES))
    return FileTrace(module, path, dict(values), {1000: 4}, ranks)


def log(*files: FileTrace, partial: tuple[str, ...] = ()) -> Log:
    return Log(Path("log"), "test", PROCESSES, START, 1.0, "", partial, (), {}, files)


def ledger(*files: FileTrace, **more: Any) -> Ledger:
    return make_ledger(document(**more), log(*files))


def test_equal_at_each_layer_is_balanced() -> None:
    found = ledger(trace("MPI-IO", ALL), trace("POSIX", ALL))
    assert str(judge(found)) == "balanced"
    write = found.side("write")
    assert write is not None
    assert (write.payload, write.mpiio, write.posix, write.files) == (ALL,) * 4
    assert (write.amplification, write.format_overhead) == (1.0, 0)


@pytest.mark.parametrize(
    ("mode", "verdict"), [("multi", "explained"), ("collective", "unbalanced")]
)
def test_calls_for_several_data_sets_are_not_in_darshans_log(mode: str, verdict: str) -> None:
    """Its runtime counts HDF5's calls for one data set alone: here half of the payload."""
    counts = {"WRITES": 8, "READS": 8, "BYTES_WRITTEN": ALL // 2, "BYTES_READ": ALL}
    sets = FileTrace("H5D", f"{FILE}:u", dict(counts), {}, ())
    found = ledger(sets, trace("POSIX", ALL), asked={"hints": {}, "mode": mode})
    assert judge(found).verdict == verdict


def test_compressed_data_is_held_against_what_it_takes_in_the_files() -> None:
    half = {"payload": {"bytes": PAYLOAD, "stored": PAYLOAD // 2}, "file_bytes": PAYLOAD // 2}
    half["files"] = [{"path": FILE, "bytes": PAYLOAD // 2}]
    found = ledger(trace("POSIX", ALL // 2, read=ALL // 2), **half)
    assert str(judge(found)) == "balanced"
    write = found.side("write")
    assert write is not None and (write.payload, write.stored) == (ALL, ALL // 2)
    less = ledger(trace("POSIX", ALL // 2 - 1, read=ALL // 2), **half)
    assert judge(less).reasons == ("1 bytes of payload were not written by POSIX calls",)
    # ROMIO fills the gap of metadata that is not written yet, and finds nothing there to read.
    size = PAYLOAD // 2 + OVERHEAD
    gap = {**half, "file_bytes": size, "files": [{"path": FILE, "bytes": size}]}
    moved = REPEATS * size
    for extra, verdict in ((OVERHEAD, "explained"), (3 * OVERHEAD, "unbalanced")):
        posix = trace("POSIX", moved + extra, read=moved)
        assert judge(ledger(trace("MPI-IO", moved, read=moved), posix, **gap)).verdict == verdict
    # A chunk of several processes is read by each.
    each = PROCESSES * ALL // 2
    assert judge(ledger(trace("POSIX", ALL // 2, read=each), **half)).verdict == "explained"
    more = ledger(trace("POSIX", ALL // 2, read=each + 20 * ALL), **half)
    assert judge(more).verdict == "unbalanced"


def test_a_header_in_the_file_is_part_of_it() -> None:
    size = PAYLOAD + OVERHEAD
    files = {"files": [{"path": FILE, "bytes": size}], "file_bytes": size}
    found = ledger(trace("POSIX", REPEATS * size, read=REPEATS * size), **files)
    assert str(judge(found)) == "balanced"
    write = found.side("write")
    assert write is not None and write.format_overhead == OVERHEAD * REPEATS


def test_a_header_written_again_is_explained_and_a_second_copy_of_the_data_is_not() -> None:
    assert judge(ledger(trace("POSIX", ALL + 300))).reasons == (f"{REWRITING} (300 bytes)",)
    assert judge(ledger(trace("POSIX", 3 * ALL))).verdict == "unbalanced"


def test_of_many_small_files_each_header_may_be_read_once_more() -> None:
    """10^4 files of 24 bytes with 2 KiB of HDF5 around each: 40 MiB of headers."""
    count, small, header = 10_000, 24, 2048
    size = count * (small + header)
    payload = count * small
    many = {"payload": {"bytes": payload}, "files": [], "file_count": count, "file_bytes": size}
    once_more = REPEATS * (size + count * header)
    read = ledger(trace("POSIX", REPEATS * size, read=once_more), **many)
    assert judge(read).verdict == "explained"
    thrice = ledger(trace("POSIX", REPEATS * size, read=once_more + REPEATS * size), **many)
    assert judge(thrice).verdict == "unbalanced"


@pytest.mark.parametrize(
    "files",
    [
        (trace("POSIX", ALL - 1),),
        (trace("POSIX", ALL, read=ALL - 1),),
        (trace("MPI-IO", ALL - 1), trace("POSIX", ALL)),
        (trace("MPI-IO", ALL), trace("POSIX", ALL - 1)),
        (),
    ],
    ids=["write", "read", "mpi-io", "posix-below-mpi-io", "nothing"],
)
def test_missing_bytes_are_unbalanced(files: tuple[FileTrace, ...]) -> None:
    assert judge(ledger(*files)).verdict == "unbalanced"


def test_what_was_read_and_written_back_is_holes_or_sieving() -> None:
    extra = 400000
    posix = trace("POSIX", ALL + extra, read=ALL + extra)
    collective = judge(ledger(trace("MPI-IO", ALL), posix))
    assert collective.reasons == (f"{HOLES} ({extra} bytes)",)
    independent = trace("MPI-IO", ALL, COLL_WRITES=0, INDEP_WRITES=8)
    assert judge(ledger(independent, posix)).reasons == (f"{SIEVING} ({extra} bytes)",)
    off = {"used": {"hints": {"romio_cb_write": "disable"}}}
    assert judge(ledger(trace("MPI-IO", ALL), posix, **off)).reasons == (
        f"{SIEVING} ({extra} bytes)",
    )


def test_a_header_asked_for_beyond_the_end_is_not_counted_as_read() -> None:
    """PnetCDF asks for 256 KiB of header, also of a smaller file."""
    extra = 200000
    mpiio = trace("MPI-IO", ALL, ALL + 262144, COLL_WRITES=0, INDEP_WRITES=8)
    found = judge(ledger(mpiio, trace("POSIX", ALL + extra, ALL + extra)))
    assert found.verdict == "explained" and f"{SIEVING} ({extra} bytes)" in found.reasons
    found = judge(ledger(mpiio, trace("POSIX", ALL + extra, ALL)))
    assert found.verdict == "unbalanced" and "without reading them" in str(found)


def test_bytes_written_without_being_read_before_have_no_cause() -> None:
    found = judge(ledger(trace("MPI-IO", ALL), trace("POSIX", ALL + 400000)))
    assert found.verdict == "unbalanced" and "without reading them" in str(found)


def test_reads_may_be_as_wide_as_the_file_for_each_process_and_no_wider() -> None:
    wide = trace("POSIX", ALL, read=PROCESSES * ALL)
    found = judge(ledger(trace("MPI-IO", ALL), wide))
    assert found.reasons == (f"{READ_SIEVING} ({(PROCESSES - 1) * ALL} bytes)",)
    wider = trace("POSIX", ALL, read=(PROCESSES + 1) * ALL + 1)
    assert judge(ledger(trace("MPI-IO", ALL), wider)).verdict == "unbalanced"


def test_holes_in_the_file_are_padding() -> None:
    size = PAYLOAD + 4096
    files = {"files": [{"path": FILE, "bytes": size}], "file_bytes": size}
    found = judge(ledger(trace("POSIX", ALL), **files))
    assert found.reasons == (f"{PADDING} ({4096 * REPEATS} bytes)",)


def test_a_partial_log_proves_nothing() -> None:
    for files in ((trace("POSIX", ALL),), (trace("POSIX", 1),)):
        found = judge(make_ledger(document(), log(*files, partial=("POSIX",))))
        assert found.verdict == "inconclusive"


@pytest.mark.parametrize(("module", "written"), [("POSIX", 0), ("MPI-IO", ALL)])
def test_a_file_that_no_posix_call_wrote_is_untraced(module: str, written: int) -> None:
    """POSIX calls only read it, or MPI-IO wrote it by other means."""
    write = ledger(trace(module, written)).side("write")
    assert write is not None and write.untraced == ALL


def test_text_beside_the_data_is_not_missing() -> None:
    listed = [{"path": FILE, "bytes": PAYLOAD}, {"path": "/fs/run/info.txt", "bytes": 800}]
    more = {"files": listed, "file_count": 2, "file_bytes": PAYLOAD + 800}
    found = ledger(trace("POSIX", ALL), **more)
    assert str(judge(found)) == "balanced"
    write = found.side("write")
    assert write is not None and write.untraced == 800 * REPEATS


def test_ceilings_and_other_files_are_kept_apart() -> None:
    ceiling = trace("POSIX", 5 * ALL, path="/fs/run/iogauge-ceiling-fpp.bin.00000000")
    found = ledger(trace("POSIX", ALL), ceiling)
    assert str(judge(found)) == "balanced"
    assert found.other_files == {ceiling.path: 6 * ALL}


def test_a_cut_list_of_files_leaves_out_only_ceilings() -> None:
    other = trace("POSIX", ALL // 2, read=ALL // 2, path="/fs/run/data.bin.00000065")
    first = trace("POSIX", ALL // 2, read=ALL // 2)
    ceiling = trace("POSIX", ALL, path="/fs/run/iogauge-ceiling-shared.bin")
    found = ledger(first, other, ceiling, file_count=2, file_bytes=PAYLOAD)
    assert str(judge(found)) == "balanced"


def test_only_those_who_moved_data_are_writers() -> None:
    ranks = (Work(0, 0, ALL - 500, 1.0), Work(1, 0, 500, 0.1), Work(2, 0, 0, 0.0))
    one = FileTrace("POSIX", FILE, {"BYTES_WRITTEN": ALL, "BYTES_READ": ALL}, {}, ranks)
    found = ledger(one)
    write = found.side("write")
    layer = write.layer("POSIX") if write else None
    assert layer is not None and layer.processes == 1
    assert found.hints["cb_nodes"] == ("2", "1")


def test_one_record_of_all_processes_does_not_say_who_wrote() -> None:
    one = FileTrace("POSIX", FILE, {"BYTES_WRITTEN": ALL, "BYTES_READ": ALL}, {}, ())
    write = ledger(one).side("write")
    layer = write.layer("POSIX") if write else None
    assert layer is not None and layer.processes is None


def test_sizes_above_an_int_are_known_to_be_lost_by_darshan() -> None:
    large = 2**31 * PROCESSES
    more = {"payload": {"bytes": large}, "file_bytes": large}
    files = {"files": [{"path": FILE, "bytes": large}]}
    total = large * REPEATS
    found = judge(ledger(trace("MPI-IO", 0, 0), trace("POSIX", total, total), **more, **files))
    assert OVERFLOW in found.reasons


def test_variables_of_a_format_are_the_api_layer() -> None:
    values: dict[str, float] = {"BYTES_WRITTEN": ALL, "BYTES_READ": ALL, "WRITES": 4, "READS": 4}
    variable = FileTrace("H5D", f"{FILE}:/velocity", values, {}, ())
    found = ledger(variable, trace("MPI-IO", ALL), trace("POSIX", ALL))
    write = found.side("write")
    layer = write.layer("H5D") if write else None
    assert layer is not None and (layer.bytes, layer.calls) == (ALL, 4)


def test_null_moves_nothing() -> None:
    found = ledger(verification={"verdict": "nothing moved"})
    assert str(judge(found)) == "balanced"


def test_prefixes_of_file_systems_are_not_in_the_trace() -> None:
    listed = [{"path": f"ufs:{FILE}", "bytes": PAYLOAD}]
    assert str(judge(ledger(trace("POSIX", ALL), files=listed))) == "balanced"


@pytest.mark.parametrize(
    ("merged", "more", "verdict"),
    [
        (3 * OVERHEAD, {}, "explained"),  # of 4 processes, one wrote it
        (3 * OVERHEAD + 1, {}, "unbalanced"),
        (3 * OVERHEAD, {"COLL_WRITES": 0, "INDEP_WRITES": 8}, "unbalanced"),
    ],
)
def test_metadata_that_all_processes_give_is_written_once(
    merged: int, more: dict[str, int], verdict: str
) -> None:
    given = ALL + PROCESSES * OVERHEAD
    found = judge(ledger(trace("MPI-IO", given, ALL, FILE, **more), trace("POSIX", given - merged)))
    assert found.verdict == verdict
    if verdict == "explained":
        assert f"{ONCE} ({merged} bytes)" in found.reasons


def test_merged_metadata_does_not_hide_missing_payload() -> None:
    found = judge(ledger(trace("MPI-IO", ALL + PROCESSES * OVERHEAD), trace("POSIX", ALL - 1)))
    assert found.verdict == "unbalanced"


def test_names_of_files_beside_a_run_are_the_kernels() -> None:
    """kernels/base/beside.h states them; no other source of the kernels does."""
    header = paths.KERNELS / "base" / "beside.h"
    assert re.findall(r'"(iogauge-\w+)"', header.read_text()) == [CEILINGS, DIRECT]
    sources = [path for path in paths.KERNELS.rglob("*.[ch]") if "tests" not in path.parts]
    with_name = [path for path in sources if re.search(f"{CEILINGS}|{DIRECT}", path.read_text())]
    assert with_name == [header]


def test_the_four_most_common_sizes_are_kept() -> None:
    """As many as Darshan keeps of a file: here of three files together."""
    sizes = [{1: 9, 2: 8, 3: 1, 4: 2}, {1: 1, 5: 7, 6: 3}, {4: 9, 7: 5}]
    files = [
        replace(trace("POSIX", ALL), path=f"{FILE}{i}", sizes=of) for i, of in enumerate(sizes)
    ]
    names = [{"path": file.path, "bytes": PAYLOAD} for file in files]
    found = make_ledger(document(files=names, file_count=len(names)), log(*files)).side("write")
    layer = found.layer("POSIX") if found else None
    assert layer and layer.sizes == {4: 11, 1: 10, 2: 8, 5: 7}
