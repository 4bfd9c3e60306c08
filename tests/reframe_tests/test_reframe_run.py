# SPDX-License-Identifier: BSD-3-Clause
"""Real runs through ReFrame, on both stacks: right ones pass, wrong ones fail and say why."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from iogauge.measure.kernels import build_for_tests
from site_configs.support import push
from tests.analysis_recorded import run_analysis
from tests.reframe_session import Session, changed_site, reframe, strict_site

STACKS = ("openmpi", "mpich")

pytestmark = pytest.mark.skipif(
    not all(shutil.which(f"mpicc.{stack}") for stack in STACKS),
    reason="mpicc.openmpi or mpicc.mpich is missing: environments/debian/setup.sh installs them",
)

ONE = ("-t", "smoke", "-t", "disk", "-n", "S3d.*call=mpiio:collective")

# A case of most benchmarks, and all that CgnsReadProcesses has on a stack.
EACH = (
    "S3d %call=posix-shared", "Ior %call=mpiio:collective", "Metadata %call=posix %files=10",
    "FilePerProcess %processes=2", "CloudModel %call=master",
    "CgnsStructured %call=cgns:collective", "CgnsUnstructured %call=cgns:collective",
    "CgnsBlock %call=cgns:collective", "CgnsZoneProcesses %processes=2",
    "CgnsReadProcesses %call=cgns:serial %processes=1",
    "CgnsReadProcesses %call=cgns:independent %processes=2",
    "Paio %call=ioserver:posix %queue=above", "RamsesOwnFiles %contents=amr %call=posix",
    "RamsesShared %contents=hydro %layout=level-major %call=mpiio:collective",
)  # fmt: skip

# S3D-IO's 16 values of 8 bytes in each of 23 x 19 x 17 points, 2 dumps.
SMOKE_BYTES = 23 * 19 * 17 * 16 * 8 * 2


def run(folder: Path, *options: str, **environment: str) -> Session:
    words = ("-r", *ONE, *options)
    return reframe(folder, *words, tests="s3d.py", environment={**os.environ, **environment})


@contextmanager
def server(most: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A web server on this machine that takes so many documents, and ends: its URL, and what it
    has got."""
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        timeout = 120

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append({"authorization": self.headers["Authorization"], **json.loads(body)})
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as web:
        web.timeout = 240

        def serve() -> None:
            # At its start ReFrame looks if somebody listens: a connection that says nothing.
            for _ in range(most + 2):
                web.handle_request()
                if len(got) >= most:
                    return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{web.server_port}/iogauge/_doc", got
        thread.join(timeout=240)


@pytest.mark.slow
def test_both_stacks_run_and_keep_document_and_script(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("ApiKey abc\n")
    with server(most=2) as (url, pushed):
        wanted = {"IOGAUGE_HTTPJSON_URL": url, "IOGAUGE_HTTPJSON_AUTHORIZATION": tmp_path / "key"}
        session = run(tmp_path, **{name: str(value) for name, value in wanted.items()})
    assert session.status == 0, session.text
    assert sorted(case["environ"] for case in session.cases) == sorted(STACKS)
    check_pushed(pushed, session)
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
    compared = reframe(
        tmp_path, "--performance-compare=now-1d:now/now-1d:now/mean:/", tests="s3d.py"
    )
    assert compared.status == 0 and compared.text.count(" write_bw ") == 2, compared.text
    bundle = tmp_path / "bundle.tar"
    made = run_analysis("bundle", "make", "--output", tmp_path, "--to", bundle)
    assert made.returncode == 0, made.stdout + made.stderr
    verified = run_analysis("bundle", "verify", bundle)
    assert verified.returncode == 5, verified.stdout + verified.stderr
    assert verified.stderr.startswith("NOT SIGNED: ") and "all as it says" in verified.stderr
    with tarfile.open(bundle) as tar:
        member = tar.extractfile("verdicts.json")
        assert member is not None
        judged = json.load(member)
    assert [(run["asked"], run["wrong"]) for run in judged["runs"]] == [(True, "")] * 2


def check_pushed(pushed: list[dict[str, Any]], session: Session) -> None:
    """A document for each case, with the fields of the mapping and all of its values."""
    fields = {*push.mapping()["mappings"]["properties"], "perf", "authorization"}
    of = {case["environ"]: case for case in session.cases}
    assert sorted(one["stack"] for one in pushed) == sorted(STACKS)
    for one in pushed:
        case = of[one["stack"]]
        assert set(one) == fields and one["authorization"] == "ApiKey abc"
        assert (one["pattern"], one["method"], one["fs"]) == ("s3d", "mpiio", "disk")
        assert one["processes"] == case["num_tasks"] and one["case"] == case["display_name"]
        values = {key.split(":")[-1]: value[0] for key, value in case["perfvalues"].items()}
        assert one["perf"] == values and values["write_bw"] > 0


@pytest.mark.slow
def test_a_run_without_a_trace_says_so(tmp_path: Path) -> None:
    session = run(tmp_path, "-S", "trace=false", "-p", "mpich")
    assert session.status == 0, session.text
    (case,) = session.cases
    assert case["ledger"] == "not traced: trace=false"
    assert not [name for name in case["perfvalues"] if "posix" in name]
    assert not (Path(case["outputdir"]) / "trace.darshan").exists()


@pytest.mark.slow
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


def test_benchmarks_move_the_bytes_that_they_expect(tmp_path: Path) -> None:
    only = ["CgnsReadProcesses", *(one.replace(" %", "%.*") + "(%|$)" for one in EACH)]
    names = [word for one in only for word in ("-n", one)]
    kernel = f"kernel_path={build_for_tests('openmpi') / 'iokernel'}"
    words = ("-t", "smoke", "-t", "ram$", "-p", "openmpi", "-S", "repeats=1", "-S", kernel)
    session = reframe(tmp_path, "-r", *words, *names)
    assert session.status == 0, session.text
    ran = [case["display_name"].split() for case in session.cases]
    assert len(ran) == len(EACH)
    assert all(any({*one.split()} <= {*case} for case in ran) for one in EACH), ran


@pytest.mark.slow
def test_the_driver_alone_has_no_share_of_the_ceilings(tmp_path: Path) -> None:
    only = ("-t", "smoke", "-t", "disk", "-n", "S3d.*call=null", "-p", "openmpi")
    session = reframe(tmp_path, "-r", *only, tests="s3d.py")
    assert session.status == 0, session.text
    (case,) = session.cases
    assert not [name for name in case["perfvalues"] if "fraction" in name]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        ('s/"verified"/"not asked"/', "verification says 'not asked', not 'verified'"),
        (f"s/{SMOKE_BYTES}/{SMOKE_BYTES + 1}/", f"{SMOKE_BYTES + 1}, not {SMOKE_BYTES}"),
        ("s/iogauge.result.1/iogauge.result.9/", "schema 'iogauge.result.9'"),
    ],
)
def test_a_wrong_document_fails_the_test(tmp_path: Path, spoil: str, reason: str) -> None:
    words = ("-p", "openmpi", "-S", f"S3d.postrun_cmds=sed -i '{spoil}' result.json")
    session = reframe(tmp_path, "-r", *ONE, *words, tests="s3d.py", config=strict_site(tmp_path))
    assert session.status == 1
    assert reason in session.text


@pytest.mark.slow
def test_a_job_without_a_document_is_quoted(tmp_path: Path) -> None:
    session = run(tmp_path, "-p", "openmpi", "-S", "S3d.hints=cb_buffer_size=none")
    assert session.status == 1
    assert "cb_buffer_size=none" in session.cases[0]["fail_reason"]


@pytest.mark.slow
def test_a_program_of_the_other_stack_is_refused(tmp_path: Path) -> None:
    session = run(tmp_path, "-p", "openmpi")
    assert session.status == 0, session.text
    program = session.cases[0]["executable"]
    mixed = run(tmp_path, "-p", "mpich", "-S", f"kernel_path={program}")
    assert mixed.status == 1
    assert "it is linked to libmpi.so.40; the stack's MPI is libmpich.so.12 alone" in mixed.text


@pytest.mark.slow
def test_a_job_past_its_time_limit_leaves_nothing_behind(tmp_path: Path) -> None:
    slow = ("-S", "S3d.prerun_cmds=sleep 60", "-S", "S3d.time_limit=1s")
    session = run(tmp_path, "-p", "openmpi", *slow)
    assert session.status == 1
    assert "timed out" in session.text
    assert list((tmp_path / "disk").iterdir()) == []
