# SPDX-License-Identifier: BSD-3-Clause
"""The real IOR's summaries, recorded from IOR 4.1.0+dev, as result documents.

Where a number is expected, it is one that IOR prints in the recording (tests/golden/ior), or the
median of those.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from iogauge.analysis.checks.result_file import Wrong, load
from iogauge.analysis.checks.verdict import Expected, check
from reframe_tests.framework.ior_document import Asked, convert, convert_files

RECORDED = Path(__file__).parents[1] / "golden" / "ior"
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "result.schema.json").read_text())
DISK = {"type": "ext4", "mount": "/", "device": "/dev/sda1", "options": "rw"}
MEMORY = {**DISK, "type": "tmpfs"}
MIB = 2**20


def ceilings(write: float, read: float) -> dict[str, Any]:
    return {"fpp": {"write": write, "read": read}, "shared": {"write": write / 2, "read": read}}


def converted(name: str, method: str, mode: str | None = None, **more: Any) -> dict[str, Any]:
    asked = Asked(method, mode, "/scratch", more.pop("mount", DISK), hosts=("n1",), **more)
    summary, stdout = (RECORDED / f"{name}{end}" for end in (".json", ".out"))
    document = convert(summary.read_text(), stdout.read_text(), asked)
    jsonschema.validate(document, SCHEMA)
    return document


def test_a_shared_file_by_mpi_io() -> None:
    """ior -a MPIIO -c -b 2m -t 256k -s 2 -C -w -r -R -i 3 -e, 2 processes."""
    document = converted("shared", "mpiio", "collective")
    expected = Expected("ior", "mpiio", "collective", 2, 3, 2 * 2 * 2 * MIB, "verified", ours=False)
    check(document, expected)
    assert document["asked"]["fsync"] is True
    assert document["asked"]["pattern_options"]["transfer"] == 256 * 1024
    assert document["payload"]["calls"] == 2 * 8
    assert document["file_count"] == 1
    summary = document["summary"]
    assert summary["write_bw"] == 738.0602
    assert summary["read_bw"] == 6385.2392
    assert summary["open_time"] == 0.0002
    assert document["samples"][0]["write"]["phases"]["create"]["max"] == 0.0027


def test_a_file_for_each_process_by_posix() -> None:
    """ior -a POSIX -F -b 2m -t 256k -s 2 -C -w -r -R -i 2, 2 processes."""
    document = converted("fpp", "posix")
    check(document, Expected("ior", "posix", None, 2, 2, 2 * 2 * 2 * MIB, "verified", ours=False))
    assert document["asked"]["fsync"] is False
    assert document["file_count"] == 2
    assert document["summary"]["write_bw"] == pytest.approx((5641.2966 + 6722.9878) / 2)
    assert document["summary"]["write_fraction_fpp"] is None


def test_wrong_bytes_are_a_mismatch() -> None:
    """One byte of the file was changed between ior -w -k and ior -r -R."""
    document = converted("wrong", "posix-shared")
    assert document["status"] == "failed"
    assert document["verification"]["verdict"] == "mismatch"
    assert document["verification"]["mismatches"] == 1
    with pytest.raises(Wrong, match="Incorrect data on read"):
        check(
            document,
            Expected(
                "ior", "posix-shared", None, 2, 1, 2 * 2 * MIB, "verified", ("read",), ours=False
            ),
        )


def test_an_aborted_run_is_an_error_with_iors_own_words() -> None:
    """ior into a folder that is not there: its summary ends in the middle."""
    document = converted("cut", "posix-shared")
    assert document["status"] == "error"
    assert "No such file or directory" in document["error"]
    with pytest.raises(Wrong, match="No such file or directory"):
        check(document, Expected("ior", "posix-shared", None, 2, 1, MIB, "verified", ours=False))


def test_a_run_that_was_not_checked_is_not_called_verified() -> None:
    text = (RECORDED / "fpp.json").read_text().replace('"checkRead": 1', '"checkRead": 0')
    document = convert(text, "", Asked("posix", None, "/scratch", DISK))
    assert document["verification"]["verdict"] == "not asked"
    assert document["verification"]["bytes"] == 0


def test_ceilings_of_the_same_job_give_fractions() -> None:
    samples = ({"ceilings": ceilings(11282.5932, 30046.5028)},) * 2
    document = converted("fpp", "posix", mount=MEMORY, ceilings=samples, ceilings_uncached=True)
    assert document["used"]["caches"] == "memory"
    # 5641.2966 / 11282.5932 = 0.5 and 6722.9878 / 11282.5932; 7511.6257 / 30046.5028 = 0.25 ...
    half = (0.5 + 6722.9878 / 11282.5932) / 2
    assert document["summary"]["write_fraction_fpp"] == pytest.approx(half)
    assert document["summary"]["write_fraction_shared"] == pytest.approx(2 * half)
    quarter = (0.25 + 8988.5968 / 30046.5028) / 2
    assert document["summary"]["read_fraction_fpp"] == pytest.approx(quarter)


def test_a_cached_read_has_no_share_of_an_uncached_ceiling() -> None:
    samples = ({"ceilings": ceilings(1000.0, 1000.0)},) * 2
    document = converted("fpp", "posix", ceilings=samples, ceilings_uncached=True)
    assert document["used"]["caches"] == "cached"
    assert document["summary"]["read_fraction_fpp"] is None
    assert document["summary"]["write_fraction_fpp"] is not None
    both = converted("fpp", "posix", ceilings=samples, ceilings_uncached=False)
    assert both["summary"]["read_fraction_fpp"] is not None


def test_another_programs_json_is_refused() -> None:
    with pytest.raises(Wrong, match="lacks a part"):
        convert('{"tests": []}', "", Asked("posix", None, "/scratch", DISK))


def test_a_job_that_left_nothing_gives_an_error_document(tmp_path: Path) -> None:
    (tmp_path / "job.out").write_text("ERROR: block size must be a multiple of transfer size\n")
    convert_files(tmp_path, tmp_path / "job.out", Asked("posix", None, "/scratch", DISK))
    document = load(tmp_path / "result.json")
    jsonschema.validate(document, SCHEMA)
    assert document["error"] == "ior: block size must be a multiple of transfer size"
