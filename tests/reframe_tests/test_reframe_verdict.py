# SPDX-License-Identifier: BSD-3-Clause
"""Sanity: a document that is right passes, and each way of being wrong is named."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from iogauge.analysis.checks.result_file import Wrong
from iogauge.analysis.checks.verdict import Expected, check, check_run

ROOT = Path(__file__).parents[2]

# s3d, 10 x 10 x 10 points of 16 float64 values, 2 dumps.
BYTES = 10 * 10 * 10 * 16 * 8 * 2

EXPECTED = Expected(
    pattern="s3d",
    method="mpiio",
    mode="collective",
    processes=2,
    repeats=1,
    payload_bytes=BYTES,
    verdict="verified",
)


def phase() -> dict[str, float]:
    return {"min": 0.1, "mean": 0.1, "max": 0.1}


def side(phases: dict[str, Any], bandwidth: float) -> dict[str, Any]:
    seconds = sum(one["max"] for one in phases.values())
    return {"seconds": seconds, "bandwidth": bandwidth, "library_calls": 4, "phases": phases}


def document() -> dict[str, Any]:
    """A run in which all is right, after docs/result-format.md."""
    write = {name: phase() for name in ("create", "write", "flush", "close")}
    read = {name: phase() for name in ("open", "read", "close")}
    speeds = [BYTES / (len(phases) * 0.1) / 2**20 for phases in (write, read)]
    fractions = [f"{d}_fraction_{c}" for d in ("write", "read") for c in ("fpp", "shared")]
    return {
        "schema": "iogauge.result/1",
        "status": "ok",
        "error": None,
        "program": {"name": "iokernel", "version": "1", "build": "Release", "compiler": "GNU 12"},
        "libraries": {"mpi": "Open MPI 4.1.4"},
        "asked": {
            "argv": ["iokernel", "s3d"],
            "pattern": "s3d",
            "pattern_options": {},
            "method": "mpiio",
            "mode": "collective",
            "directory": "/scratch",
            "hints": {},
            "prefix": "",
            "steps": 2,
            "repeats": 1,
            "fsync": True,
            "seed": 1,
        },
        "system": {
            "time": "2026-01-01T00:00:00Z",
            "processes": 2,
            "nodes": 1,
            "hosts": ["n1"],
            "processes_per_node": 2,
            "cores_per_node": 2,
            "kernel": "Linux",
            "filesystem": {"type": "ext4", "mount": "/", "device": "/dev/sda", "options": "rw"},
        },
        "used": {
            "hints": {},
            "hints_ignored": [],
            "mpi_io": "ROMIO",
            "caches": "dropped",
            "resident_fraction": 0.0,
        },
        "payload": {"bytes": BYTES, "calls": 4, "datasets": []},
        "files": [],
        "file_count": 2,
        "file_bytes": BYTES,
        "samples": [
            {
                "repeat": 0,
                "write": side(write, speeds[0]),
                "read": side(read, speeds[1]),
                "ceilings": None,
            }
        ],
        "summary": {
            **dict(zip(("write_bw", "read_bw"), speeds, strict=True)),
            **dict.fromkeys(("open_time", "close_time", "read_open_time"), 0.1),
            **dict.fromkeys(fractions),
        },
        "verification": {
            "verdict": "verified",
            "bytes": BYTES,
            "elements": BYTES // 8,
            "mismatches": 0,
            "first": None,
        },
        "memory": {"peak_rss": 1, "data": BYTES // 4},
    }


def mismatch() -> dict[str, Any]:
    wrong = document()
    wrong["status"], wrong["error"] = "failed", "1 element differs"
    wrong["verification"] |= {
        "verdict": "mismatch",
        "mismatches": 3,
        "first": {
            "dataset": "yspecies",
            "index": [1, 2, 3, 4],
            "file": "/scratch/field.nc",
            "offset": 4711,
            "expected": 0.5,
            "found": 0.25,
            "process": 1,
            "host": "n1",
        },
    }
    return wrong


def test_the_documents_here_are_as_the_contract_says() -> None:
    schema = json.loads((ROOT / "docs" / "result.schema.json").read_text())
    jsonschema.validate(document(), schema)
    jsonschema.validate(mismatch(), schema)


def test_a_right_document_passes() -> None:
    check(document(), EXPECTED)


def test_a_mismatch_says_where() -> None:
    with pytest.raises(Wrong) as caught:
        check(mismatch(), EXPECTED)
    for part in ("yspecies", "[1,2,3,4]", "/scratch/field.nc", "4711", "0.5", "0.25", "n1"):
        assert part in str(caught.value)


def change(*path: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def apply(target: Any) -> None:
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = to

    return apply


WRONG = {
    "stopped": (change("status", to="error"), "status 'error'"),
    "hung": (change("status", to="hung"), "status 'hung'"),
    "not asked": (change("verification", "verdict", to="not asked"), "'not asked'"),
    "nothing moved": (change("verification", "verdict", to="nothing moved"), "'nothing moved'"),
    "a byte less": (change("payload", "bytes", to=BYTES - 1), f"{BYTES - 1}, not {BYTES}"),
    "none verified": (change("verification", "bytes", to=0), "only 0 of"),
    "mismatches": (change("verification", "mismatches", to=2), "2 elements differ"),
    "another method": (change("asked", "method", to="posix"), "asked.method"),
    "another mode": (change("asked", "mode", to=None), "asked.mode"),
    "another pattern": (change("asked", "pattern", to="ior"), "asked.pattern"),
    "fewer processes": (change("system", "processes", to=1), "system.processes"),
    "no repeat": (change("samples", to=[]), "number of samples"),
    "nothing read": (change("samples", 0, "read", to=None), "has no read"),
    "nothing written": (change("samples", 0, "write", to=None), "has no write"),
    "less stored": (change("payload", "stored", to=9), "payload.stored is 9, and the mode"),
    "no payload": (change("payload", to=None), "lacks a part"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name: str) -> None:
    alter, message = WRONG[name]
    wrong = copy.deepcopy(document())
    alter(wrong)
    with pytest.raises(Wrong) as caught:
        check(wrong, EXPECTED)
    assert message in str(caught.value)


def test_what_is_stored_of_compressed_data_is_held_against_the_files() -> None:
    found, expected = document(), dataclasses.replace(EXPECTED, mode="filtered")
    found["asked"]["mode"] = "filtered"
    with pytest.raises(Wrong, match=r"payload\.stored is None, and the mode"):
        check(found, expected)
    found["payload"]["stored"] = BYTES // 2
    check(found, expected)
    for stored in (0, BYTES + 1):
        found["payload"]["stored"] = stored
        with pytest.raises(Wrong, match=f"stored is {stored}, but the files have {BYTES} bytes"):
            check(found, expected)


def test_a_file_system_that_the_site_insists_on_is_checked() -> None:
    found = document()["system"]["filesystem"]["type"]
    check(document(), dataclasses.replace(EXPECTED, fs_type=found))
    with pytest.raises(Wrong, match=f"filesystem.type is '{found}', not 'fuse.glusterfs'"):
        check(document(), dataclasses.replace(EXPECTED, fs_type="fuse.glusterfs"))


def test_an_error_of_the_program_is_quoted() -> None:
    wrong = document()
    wrong["status"], wrong["error"] = "error", "no space left on /scratch"
    with pytest.raises(Wrong, match="no space left on /scratch"):
        check(wrong, EXPECTED)


# ---------------------------------------------------------------------------- a job's folder


def stage(folder: Path, text: str | None, status: str | None = "0", stderr: str = "") -> Path:
    if text is not None:
        (folder / "result.json").write_text(text)
    if status is not None:
        (folder / "exit_status").write_text(status + "\n")
    (folder / "rfm_job.err").write_text(stderr)
    return folder


def complaint(folder: Path) -> str:
    with pytest.raises(Wrong) as caught:
        check_run(folder, EXPECTED, "rfm_job.err")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_right_job_gives_its_document(tmp_path: Path) -> None:
    found = check_run(stage(tmp_path, json.dumps(document())), EXPECTED, "rfm_job.err")
    assert found == document()


def test_no_document_quotes_the_jobs_last_words(tmp_path: Path) -> None:
    words = complaint(stage(tmp_path, None, "2", "one\ntwo\n\nthree\nfour\n"))
    assert "exit status 2" in words
    assert "two / three / four" in words
    assert "no result.json" in words


def test_an_error_is_found_before_the_launchers_page(tmp_path: Path) -> None:
    stderr = "iokernel: error: no such folder\n-----\nPrimary job terminated\n-----\nExit code 2\n"
    assert "stderr: iokernel: error: no such folder;" in complaint(
        stage(tmp_path, None, "2", stderr)
    )


def test_a_killed_job_is_called_so(tmp_path: Path) -> None:
    assert "the job was killed" in complaint(stage(tmp_path, None, None))


def test_half_a_document_is_not_taken(tmp_path: Path) -> None:
    assert "not JSON" in complaint(stage(tmp_path, json.dumps(document())[:100]))


def test_a_list_is_no_document(tmp_path: Path) -> None:
    assert "no result file of iogauge (schema None, this reads" in complaint(stage(tmp_path, "[]"))


@pytest.mark.parametrize("schema", ["iogauge.result/2", None, 1])
def test_an_unknown_schema_is_refused(tmp_path: Path, schema: object) -> None:
    words = complaint(stage(tmp_path, json.dumps(document() | {"schema": schema})))
    assert repr(schema) in words


def test_a_right_document_does_not_excuse_a_failed_job(tmp_path: Path) -> None:
    words = complaint(stage(tmp_path, json.dumps(document()), "1", "rm: cannot remove"))
    assert "exit status 1" in words
    assert "rm: cannot remove" in words
