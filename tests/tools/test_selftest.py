# SPDX-License-Identifier: BSD-3-Clause
"""The self-test's own judgement: what it would say of outcomes, and what it chooses to try."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tests.selftest import cases, damage, injector, known, payload, table
from tests.selftest.injector import Fired, Plan
from tests.selftest.judge import Judgement, verdict_of, verdict_of_place
from tests.selftest.run import Outcome, Place
from tests.selftest.session import Reference, Session

ERROR = "iokernel: error: process 0: write: Input/output error\n"
OK: dict[str, Any] = {"status": "ok"}
FAILED: dict[str, Any] = {"status": "error"}
SHOT = Fired(0, "write:flip", 1, 0, 1, 0, Path("/file"))


def outcome(
    status: int | None = 0,
    said: str = "",
    document: dict[str, Any] | None = OK,
    fired: bool = True,
    left: tuple[str, ...] = (),
    processes: int = 0,
) -> Outcome:
    shots = [SHOT] if fired else []
    return Outcome("iokernel", status, said, said, document, shots, list(left), 1.0, processes)


def test_an_error_is_seen_in_the_middle_of_a_line_of_the_other_output(tmp_path: Path) -> None:
    """MPICH's launcher passes on what it has, also half a line."""
    place = Place(tmp_path, tmp_path / "no library")
    words = f"printf '0.12 MiB read'; printf '{ERROR.strip()}\\n' >&2; echo ' back'; exit 1"
    found = place.run(["bash", "-c", words])
    assert (found.status, found.errors) == (1, [ERROR.strip()])
    assert "read back" in found.said
    assert ERROR in found.said


@pytest.mark.parametrize(
    ("fault", "right", "came", "verdict"),
    [
        ("write:flip", False, outcome(), "missed"),
        ("write:flip", True, outcome(), "mended"),
        ("write:flip", False, outcome(1, ERROR, FAILED), "caught"),
        ("write:flip", False, outcome(fired=False), "idle"),
        ("write:flip", False, outcome(1, ERROR, FAILED, fired=False), "broken"),
        ("write:flip", False, outcome(1, "", FAILED), "silent"),
        ("write:flip", False, outcome(1, ERROR, OK), "missed"),
        ("write:flip", True, outcome(0, "", None), "missed"),
        ("write:EIO", True, outcome(), "missed"),
        ("close:EIO", True, outcome(), "missed"),
        ("open:EIO", True, outcome(), "mended"),
        ("open:EIO", False, outcome(), "missed"),
        ("read:EIO", False, outcome(), "missed"),
        ("write:short", False, outcome(), "mended"),
        ("read:EINTR", False, outcome(), "mended"),
        ("write:kill", False, outcome(9, "", None), "caught"),
        ("write:kill", False, outcome(255, "mpiexec: process manager error", None), "caught"),
        ("write:kill", False, outcome(9, "", OK), "missed"),
        ("write:kill", True, outcome(), "missed"),
        ("write:stop", False, outcome(None), "hung"),
        ("write:stop", False, outcome(1, ERROR, FAILED, processes=1), "hung"),
    ],
)
def test_verdicts(fault: str, right: bool, came: Outcome, verdict: str) -> None:
    call, _, what = fault.partition(":")
    assert verdict_of(Plan(call, what), came, lambda: right)[0] == verdict


def test_a_place_on_which_no_run_succeeds() -> None:
    assert verdict_of_place(outcome())[0] == "missed"
    assert verdict_of_place(outcome(1, ERROR, FAILED))[0] == "caught"
    assert verdict_of_place(outcome(1, "", FAILED))[0] == "silent"
    assert verdict_of_place(outcome(None))[0] == "hung"


def judged(name: str, verdict: str, *left: str) -> Judgement:
    stack, _, rest = name.partition("-")
    how, fault = rest.split(" ")
    subject = cases.Subject(stack, Path("iokernel"), "s3d", how)
    why = known.reason(name, verdict, list(left))
    return Judgement.of(subject, fault, (verdict, "why"), outcome(left=left), why)


class Racing(Place):
    """Its runs are caught but for the first and the fourth: another process writes last."""

    runs = 0

    def run_case(self, case: cases.Case, *more: str) -> Outcome:
        self.runs += 1
        self.data.mkdir(parents=True, exist_ok=True)
        passes = self.runs in (1, 4)
        (self.data / "file").write_bytes(b"right" if passes else b"wrong")
        return outcome() if passes else outcome(1, ERROR, FAILED)


@pytest.mark.parametrize(("payload_is", "verdict"), [(b"right", "mended"), (b"other", "missed")])
def test_a_run_that_passed_is_judged_by_one_that_passes(
    tmp_path: Path, payload_is: bytes, verdict: str
) -> None:
    subject = cases.Subject("openmpi", Path("iokernel"), "s3d", "posix-shared")
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference/file").write_bytes(payload_is)
    reference = Reference(tmp_path / "reference", payload.Regions(()))
    place = Racing(tmp_path, tmp_path / "no library")
    session = Session(place, {subject.name: reference})
    assert session.judge(cases.Case(subject, Plan("write", "double"))).verdict == verdict
    assert place.runs == 4


def test_what_is_bad() -> None:
    assert not judged("mpich-s3d-posix write:flip", "caught").bad
    assert judged("mpich-s3d-posix write:flip", "missed").bad
    assert judged("mpich-s3d-posix write:flip", "caught", "file.bin").bad
    assert judged("mpich-s3d-mpiio close:EIO", "missed").bad


def test_what_is_known_is_named() -> None:
    dropped = judged("openmpi-s3d-mpiio-collective close:EIO", "missed")
    assert not dropped.bad and dropped.known == "OMPIO drops the error of close"
    assert judged("openmpi-s3d-mpiio-collective close:EIO", "missed", "file.bin").bad
    assert judged("openmpi-s3d-mpiio-collective fsync:EIO", "missed").bad
    assert not judged("mpich-s3d-posix write:kill", "caught", "file.bin").bad
    assert judged("mpich-s3d-posix write:kill", "missed", "file.bin").bad


def test_tables_add_up() -> None:
    some = [
        judged("mpich-s3d-posix write:flip", "caught"),
        judged("mpich-s3d-posix write:flip", "idle"),
        judged("openmpi-s3d-posix write:flip", "missed"),
        judged("openmpi-s3d-mpiio close:EIO", "missed"),
    ]
    rows = table.rows(some, table.by_fault)
    assert rows["write:flip"]["injected"] == 3
    assert rows["write:flip"]["fired"] == 2
    assert rows["write:flip"]["caught"] == rows["write:flip"]["missed"] == 1
    assert rows["close:EIO"]["known"] == 1 and rows["close:EIO"]["missed"] == 0
    text = table.text(some)
    assert re.search(r"\| all +\| +4 \|", text) and "OMPIO drops" in text


COUNTS = {call: {0: 3, 1: 2} for call in injector.FAULTS}


def subject(pattern: str, method: str, mode: str | None = None) -> cases.Subject:
    return cases.Subject("mpich", Path("iokernel"), pattern, method, mode)


SUBJECTS = [subject(p, m) for p in ("s3d", "ior") for m in ("posix", "mpiio", "hdf5")]


def test_every_fault_of_every_method_comes_first() -> None:
    """The first round has each of them once; a job that is stopped needs only one."""
    planned = cases.cases([(s, COUNTS) for s in SUBJECTS], 1)
    kinds = {f"{call}:{fault}" for call, faults in injector.FAULTS.items() for fault in faults}
    first = planned[: 3 * len(kinds)]
    assert Counter((c.subject.how, c.plan.kind) for c in first) == Counter(
        {(how, kind): 1 for how in ("posix", "mpiio", "hdf5") for kind in kinds}
    )
    stops = [case for case in planned if case.plan.fault == "stop"]
    assert len(stops) == 2 * 3 and all(case.plan.rank is not None for case in stops)
    assert planned == cases.cases([(s, COUNTS) for s in SUBJECTS], 1)
    assert planned != cases.cases([(s, COUNTS) for s in SUBJECTS], 2)


def test_a_sample_has_all_faults_and_all_methods() -> None:
    planned = cases.cases([(s, COUNTS) for s in SUBJECTS], 1)
    kinds = {case.plan.kind for case in planned}
    chosen = cases.sample(planned, len(kinds))
    assert {case.plan.kind for case in chosen} == kinds
    assert {case.subject.how for case in chosen} == {"posix", "mpiio", "hdf5"}


def test_only_calls_that_are_made() -> None:
    planned = cases.cases([(SUBJECTS[0], {"write": {0: 2}})], 1)
    assert {case.plan.call for case in planned} == {"write"}
    assert all(case.plan.nth <= 2 for case in planned)


def test_where_payload_is(tmp_path: Path) -> None:
    path = tmp_path / "file.h5"
    path.write_bytes(bytes(100))
    sets = [{"offset": 10, "bytes": 20}, {"offset": None, "bytes": 5}, {"offset": 50, "bytes": 10}]
    where = payload.regions({"payload": {"datasets": sets}})
    assert where.of(path) == ((10, 30), (50, 60))
    assert where.holds(path, 29, 1) and not where.holds(path, 30, 20)
    raw = payload.regions({"payload": {"datasets": [{"offset": None, "bytes": 5}]}})
    assert raw.of(path) == ((0, 100),)


def test_same_payload(tmp_path: Path) -> None:
    """A header may differ, data may not."""
    where = payload.Regions(((10, 20),))
    for name, header, data in (("a", b"x", b"d"), ("b", b"y", b"d"), ("c", b"x", b"e")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(header * 10 + data * 10)
    assert payload.same(tmp_path / "a", tmp_path / "b", where)
    assert not payload.same(tmp_path / "a", tmp_path / "c", where)
    (tmp_path / "b" / "more").write_bytes(b"")
    assert not payload.same(tmp_path / "a", tmp_path / "b", where)


def chunked(path: Path, first: int, size: int) -> None:
    """An HDF5 file of compressed chunks; one before them moves them."""
    path.parent.mkdir()
    with h5py.File(path, "w") as file:
        file["before"] = np.zeros(size)
        values = np.arange(first, first + 100)
        file.create_dataset("u", data=values, chunks=(30,), compression="gzip", track_times=True)


def test_the_library_says_where_its_chunks_are(tmp_path: Path) -> None:
    """Elsewhere in every run: their bytes are payload, and their values are what is the same."""
    nowhere = payload.Regions(())
    for name, first, size in (("a", 0, 10), ("b", 0, 3000), ("c", 1, 10)):
        chunked(tmp_path / name / "file", first, size)
    a, b, c = (tmp_path / name for name in "abc")
    with h5py.File(a / "file") as file:
        chunk = file["u"].id.get_chunk_info(0)
    assert len(nowhere.of(a / "file")) == 1 + 4  # 100 values in chunks of 30
    assert nowhere.holds(a / "file", chunk.byte_offset, 1)
    assert not nowhere.holds(a / "file", 0, 8)  # the file's own words
    for folder in (a, b, c):
        with h5py.File(folder / "file", "a") as file:
            del file["before"]
    assert (a / "file").read_bytes() != (b / "file").read_bytes()
    assert payload.same(a, b, nowhere) and not payload.same(a, c, nowhere)
    (b / "file").write_bytes((b / "file").read_bytes()[:1000])  # no library reads this
    assert not payload.same(a, b, nowhere)


@pytest.mark.parametrize(
    ("line", "bad"),
    [
        ("iokernel: error: data set u[1], byte 100 of /file: expected 1", False),
        ("iokernel: error: data set u[1], byte 2199023256896 of /file: expected 1", True),
        (
            "iokernel: error: pread: the file ends at byte 100, 5 bytes before the end of its data",
            False,
        ),
        (
            "iokernel: error: pread: the file ends at byte 101, 5 bytes before the end of its data",
            True,
        ),
    ],
)
def test_a_byte_that_the_file_has_not(line: str, bad: bool) -> None:
    assert bool(damage.impossible(outcome(1, line, FAILED), 100)) is bad


def test_a_spoiled_byte_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    damage.spoil(path, 1, 0x20)
    assert path.read_bytes() == b"aBc"
    damage.spoil(path, 1, 0x20)
    assert path.read_bytes() == b"abc"


@pytest.mark.parametrize(
    ("kind", "came", "verdict"),
    [
        (damage.PAYLOAD, outcome(1, ERROR, {"verification": {"mismatches": 8}}), "caught"),
        (damage.PAYLOAD, outcome(1, ERROR, {"verification": {"mismatches": 7}}), "missed"),
        (damage.PAYLOAD, outcome(), "missed"),
        (damage.CHUNKS, outcome(), "missed"),
        (damage.METADATA, outcome(), "mended"),
        (damage.METADATA, outcome(1, "", FAILED), "silent"),
        (damage.METADATA, outcome(1, "iokernel: error: byte 101 of /f", FAILED), "broken"),
        (damage.METADATA, outcome(None), "hung"),
    ],
)
def test_what_is_made_of_wrong_bytes(kind: str, came: Outcome, verdict: str) -> None:
    assert damage.verdict_of(came, kind, 8, 100)[0] == verdict
