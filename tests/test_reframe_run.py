# SPDX-License-Identifier: BSD-3-Clause
"""Real runs through ReFrame, on both stacks: right ones pass, wrong ones fail and say why."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.analysis_recorded import run_analysis
from tests.reframe_session import Session, changed_site, reframe

STACKS = ("openmpi", "mpich")

pytestmark = pytest.mark.skipif(
    not all(shutil.which(f"mpicc.{stack}") for stack in STACKS),
    reason="mpicc.openmpi or mpicc.mpich is missing: environments/debian/setup.sh installs them",
)

ONE = ("-t", "smoke", "-t", "disk", "-n", "S3d.*call=mpiio:collective")

# S3D-IO's 16 values of 8 bytes in each of 23 x 19 x 17 points, 2 dumps.
SMOKE_BYTES = 23 * 19 * 17 * 16 * 8 * 2


def run(folder: Path, *options: str) -> Session:
    return reframe(folder, "-r", *ONE, *options, tests="s3d.py")


def test_both_stacks_run_and_keep_document_and_script(tmp_path: Path) -> None:
    session = run(tmp_path)
    assert session.status == 0, session.text
    assert sorted(case["environ"] for case in session.cases) == sorted(STACKS)
    for case in session.cases:
        assert case["result"] == "pass"
        kept = Path(case["outputdir"])
        document = json.loads((kept / "result.json").read_text())
        assert document["verification"]["verdict"] == "verified"
        assert document["payload"]["bytes"] == SMOKE_BYTES
        assert (kept / "exit_status").read_text() == "0\n"
        assert f"mpiexec.{case['environ']} " in (kept / "rfm_job.sh").read_text()
        values = {key.split(":")[-1]: value for key, value in case["perfvalues"].items()}
        for name in ("write_bw", "read_bw", "open_time", "close_time"):
            assert values[name][0] == document["summary"][name]
        for name in ("write_fraction_fpp", "read_fraction_fpp", "write_fraction_shared"):
            assert values[name][0] > 0
        assert case["caches"] == document["used"]["caches"]
        moved = SMOKE_BYTES * document["asked"]["repeats"]
        assert values["mpiio_write_bytes"][0] == values["mpiio_read_bytes"][0] == moved
        assert values["posix_write_bytes"][0] >= moved
        assert values["write_amplification"][0] == values["posix_write_bytes"][0] / moved
        assert json.loads((kept / "ledger.json").read_text())["verdict"] in case["ledger"]
        assert case["trace_log"] == "trace.darshan" and (kept / "trace.darshan").is_file()
    assert list((tmp_path / "disk").iterdir()) == []
    log = (tmp_path / "perflogs" / "local" / "host" / "S3d.log").read_text()
    assert log.count("|write_bw|") == 2
    bundle = tmp_path / "bundle.tar"
    for words in (("bundle", "--output", tmp_path, "--to", bundle), ("verify-bundle", bundle)):
        done = run_analysis(*words)
        assert done.returncode == 0, done.stdout + done.stderr
    with tarfile.open(bundle) as tar:
        member = tar.extractfile("verdicts.json")
        assert member is not None
        judged = json.load(member)
    assert [(run["asked"], run["wrong"]) for run in judged["runs"]] == [(True, "")] * 2


def test_a_run_without_a_trace_says_so(tmp_path: Path) -> None:
    session = run(tmp_path, "-S", "trace=false", "-p", "mpich")
    assert session.status == 0, session.text
    (case,) = session.cases
    assert case["ledger"] == "not traced: trace=false"
    assert not [name for name in case["perfvalues"] if "posix" in name]
    assert not (Path(case["outputdir"]) / "trace.darshan").exists()


def test_a_ledger_that_does_not_add_up_fails_the_test(tmp_path: Path) -> None:
    """A recorder that sees only a part of the run: a folder of another name."""
    site = changed_site(
        tmp_path,
        "import reframe_tests.framework.recorders as recorders\n"
        "whole = recorders.values\n"
        "def values(*given, **named):\n"
        "    found = whole(*given, **named)\n"
        "    found['variables']['IOGAUGE_TRACE_INCLUDE'] = '/nowhere'\n"
        "    return found\n"
        "recorders.values = values\n",
    )
    session = reframe(tmp_path, "-r", *ONE, "-p", "mpich", tests="s3d.py", config=site)
    assert session.status != 0
    (case,) = session.cases
    assert case["result"] == "fail" and "the byte ledger does not add up" in case["fail_reason"]


def test_the_driver_alone_has_no_share_of_the_ceilings(tmp_path: Path) -> None:
    only = ("-t", "smoke", "-t", "disk", "-n", "S3d.*call=null", "-p", "openmpi")
    session = reframe(tmp_path, "-r", *only, tests="s3d.py")
    assert session.status == 0, session.text
    (case,) = session.cases
    assert not [name for name in case["perfvalues"] if "fraction" in name]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        ('s/"verified"/"not asked"/', "verification says 'not asked', not 'verified'"),
        (f"s/{SMOKE_BYTES}/{SMOKE_BYTES + 1}/", f"{SMOKE_BYTES + 1}, not {SMOKE_BYTES}"),
        ("s/iogauge.result.1/iogauge.result.9/", "schema 'iogauge.result.9'"),
    ],
)
def test_a_wrong_document_fails_the_test(tmp_path: Path, spoil: str, reason: str) -> None:
    command = f"sed -i '{spoil}' result.json"
    session = run(tmp_path, "-p", "openmpi", "-S", f"S3d.postrun_cmds={command}")
    assert session.status == 1
    assert reason in session.text


def test_a_job_without_a_document_is_quoted(tmp_path: Path) -> None:
    session = run(tmp_path, "-p", "openmpi", "-S", "S3d.hints=cb_buffer_size=none")
    assert session.status == 1
    assert "cb_buffer_size=none" in session.cases[0]["fail_reason"]


def test_a_program_of_the_other_stack_is_refused(tmp_path: Path) -> None:
    session = run(tmp_path, "-p", "openmpi")
    assert session.status == 0, session.text
    program = session.cases[0]["executable"]
    mixed = run(tmp_path, "-p", "mpich", "-S", f"kernel_path={program}")
    assert mixed.status == 1
    assert "it is linked to libmpi.so.40; the stack's MPI is libmpich.so.12 alone" in mixed.text


def test_a_job_past_its_time_limit_leaves_nothing_behind(tmp_path: Path) -> None:
    slow = ("-S", "S3d.prerun_cmds=sleep 60", "-S", "S3d.time_limit=1s")
    session = run(tmp_path, "-p", "openmpi", *slow)
    assert session.status == 1
    assert "timed out" in session.text
    assert list((tmp_path / "disk").iterdir()) == []
