# SPDX-License-Identifier: BSD-3-Clause
"""Which recorder is preloaded, and what the job script then says."""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from iogauge.analysis.checks.evidence import Outside
from iogauge.analysis.darshan import library as native
from iogauge.analysis.ledger.ledger import make_ledger
from iogauge.cli import doctor
from reframe_tests.framework import recorders, trace
from reframe_tests.jobs.render import render
from tests.recorded_runs import TRACED, traced
from tests.reframe_tests.test_templates import values as script_values

RUN = "/fs/my runs/iogauge.aX+3"


def installed(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True)
    (folder / name).touch()
    return folder / name


def always(_: Path) -> bool:
    return True


def test_a_real_runtime_wins_and_the_stacks_own_comes_first(tmp_path: Path) -> None:
    embedded = installed(tmp_path / "build", recorders.RECORDER)
    site = installed(tmp_path / "site" / "lib", recorders.RUNTIME)
    user = installed(tmp_path / "user" / "lib64", recorders.RUNTIME)
    program = tmp_path / "build" / "iokernel"

    def found(extras: dict[str, str], prefix: Path | None, *, fits: bool = True) -> str:
        given = str(prefix) if prefix else None
        recorder = recorders.find(extras, program, lambda _: fits, given)
        assert recorder is not None
        assert recorder.real == (recorder.library != str(embedded))
        return recorder.library

    assert found({}, None) == str(embedded)
    assert found({}, tmp_path / "user") == str(user)
    assert found({}, tmp_path / "user", fits=False) == str(embedded)
    assert found({}, tmp_path / "nowhere") == str(embedded)
    assert found({"darshan": str(tmp_path / "site")}, tmp_path / "user") == str(site)
    assert found({"darshan": "$DARSHAN_DIR/lib/libdarshan.so"}, None).startswith("$")


@pytest.mark.parametrize("lib", ["lib", "lib64", ""])
def test_the_doctor_finds_the_runtime_where_runs_do(
    lib: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DARSHAN_PREFIX", str(tmp_path))
    (line,) = doctor._tracing()
    assert (line.state, line.found.partition(":")[0]) == ("-", f"no libdarshan.so in {tmp_path}")
    library = installed(tmp_path / lib, recorders.RUNTIME) if lib else tmp_path / recorders.RUNTIME
    library.touch()
    (line,) = doctor._tracing()
    assert (line.state, line.found) == ("ok", str(library))
    monkeypatch.delenv("DARSHAN_PREFIX")
    (line,) = doctor._tracing()
    assert line.found.startswith("DARSHAN_PREFIX is not set: ")


def test_an_installed_kernel_has_the_recorder_in_lib(tmp_path: Path) -> None:
    library = installed(tmp_path / "lib", recorders.RECORDER)
    recorder = recorders.find({}, tmp_path / "bin" / "iokernel", always)
    assert recorder == recorders.Recorder(str(library), real=False)
    elsewhere = tmp_path / "else" / "bin" / "iokernel"
    assert recorders.find({}, elsewhere, always) is None
    assert recorders.find({}, elsewhere, always, built=True) == recorders.Recorder(
        str(elsewhere.with_name(recorders.RECORDER)), real=False
    )


def prelude(recorder: recorders.Recorder, folder: Path, *, dxt: bool) -> dict[str, str]:
    """What the traced processes find in their environment: the script's block is run."""
    given = recorders.values(recorder, dxt=dxt, quote=lambda word: shlex.quote(str(word)))
    script = script_values(trace=given)
    text = render("local.sh.j2", script)
    start = text.index("# Traced by ")
    block = text[start : text.index("mpiexec", start)].removesuffix("echo before\n")
    done = subprocess.run(
        ["bash", "-euc", f"run_dir={shlex.quote(RUN)}\n{block}\nenv -i \"${{trace[@]}}\" env"],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "SITE": "/site dir"},
    )  # fmt: skip
    # The libraries do not exist here: the loader says so and goes on.
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def test_the_embedded_recorder_is_told_where_and_what(tmp_path: Path) -> None:
    found = prelude(recorders.Recorder("/a b/recorder.so", real=False), tmp_path, dxt=True)
    assert found.pop("IOGAUGE_TRACE_PLANT").isdecimal()
    assert found == {
        "LD_PRELOAD": "/a b/recorder.so",
        "IOGAUGE_TRACE_DIR": f"{tmp_path}/{recorders.RAW}",
        "IOGAUGE_TRACE_INCLUDE": RUN,
        "IOGAUGE_TRACE_SEGMENTS": "0",
    }
    assert (tmp_path / recorders.RAW).is_dir()


@pytest.mark.parametrize("dxt", [False, True])
def test_darshan_is_configured_for_the_runs_folder_alone(tmp_path: Path, dxt: bool) -> None:
    found = prelude(recorders.Recorder("$SITE/libdarshan.so", real=True), tmp_path, dxt=dxt)
    assert found == {
        "LD_PRELOAD": "/site dir/libdarshan.so",
        "DARSHAN_CONFIG_PATH": f"{tmp_path}/{recorders.CONFIG}",
        "DARSHAN_LOGFILE": f"{tmp_path}/{recorders.LOG}",
    }
    config = (tmp_path / recorders.CONFIG).read_text().splitlines()
    # A regular expression without blanks, which matches the folder's name.
    assert "NAME_INCLUDE ^/fs/my.runs/iogauge.aX.3 *" in config
    assert ("MOD_ENABLE DXT_POSIX,DXT_MPIIO" in config) == dxt
    assert "DISABLE_SHARED_REDUCTION" in config
    # With several writers of its log Open MPI 4.1 damages it.
    assert [line for line in config if "cb_nodes" in line] == [recorders.LOG_HINTS]


def test_programs_that_hold_the_runtime_are_told_the_same_without_a_preload(tmp_path: Path) -> None:
    linked = recorders.find({"darshan": "linked"}, tmp_path / "iokernel", always)
    assert linked == recorders.Recorder("", real=True)
    assert prelude(linked, tmp_path, dxt=False) == {
        "DARSHAN_CONFIG_PATH": f"{tmp_path}/{recorders.CONFIG}",
        "DARSHAN_LOGFILE": f"{tmp_path}/{recorders.LOG}",
    }


def test_darshans_memory_has_room_for_a_record_of_each_module() -> None:
    """Its modules take theirs one after the other: of too little, the last have none."""
    a_record = sum(ctypes.sizeof(native.counted_type(*kind)) for kind in native.COUNTED.values())
    assert a_record <= recorders.RECORD_BYTES
    real = recorders.Recorder("/d.so", real=True)
    for records in (recorders.RECORDS, 100_000):
        lines = recorders.values(real, dxt=False, quote=str, records=records)["prepare"]
        limits = dict(line.split()[:2] for line in lines if line.startswith(("MOD", "NAME", "MAX")))
        assert limits["MAX_RECORDS"] == str(records)
        assert int(limits["MODMEM"]) * 2**20 > records * a_record
        assert int(limits["NAMEMEM"]) * 2**20 > records * 256


def test_only_traced_programs_are_started_with_it() -> None:
    programs = [
        {"path": "/opt/ceilings", "options": ["one"], "traced": False},
        {"path": "/opt/ior", "options": ["two"]},
    ]
    given = recorders.values(recorders.Recorder("/r.so", real=False), dxt=False, quote=str)
    text = render("local.sh.j2", script_values(trace=given, programs=programs))
    lines = [line.strip(" \\") for line in text.splitlines()]
    assert lines[lines.index("/opt/ior two") - 1] == 'env "${trace[@]}"'
    assert lines[lines.index("/opt/ceilings one") - 1].startswith("mpiexec")
    assert "trace" not in render("local.sh.j2", script_values())


def test_what_the_harness_sees_of_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it began and ended, by a clock that was not set meanwhile, and what it read."""
    partition = SimpleNamespace(scheduler=SimpleNamespace(is_local=True))
    job: Any = SimpleNamespace(began=None, stagedir=tmp_path, current_partition=partition)
    assert trace.TraceChecks.outside(job) is None
    job.began = (5000.0, 300.0)
    now = SimpleNamespace(time=lambda: 5060.0, monotonic=lambda: 360.0)
    monkeypatch.setattr(trace, "time", now)
    (tmp_path / trace.STORAGE).write_text("100 350\n")
    seen = trace.TraceChecks.outside(job)
    assert seen == Outside(5000.0, 5060.0, 60.0, True, 250, None)
    assert not seen.clock_was_set


@pytest.mark.parametrize("name", TRACED)
def test_the_figures_of_a_test_are_its_ledgers(name: str) -> None:
    """None that the ledger has is missing."""
    run = traced(name)
    ledger = make_ledger(run.document, run.trace)
    job: Any = SimpleNamespace(the_ledger=ledger)
    figures = trace.TraceChecks.ledger_figures(job)
    for side in ledger.as_json()["sides"]:
        direction = side["direction"]
        layers = {layer["name"]: layer for layer in side["layers"]}
        posix = layers.get("POSIX", {"bytes": 0, "calls": 0, "processes": None})
        above = layers.get("MPI-IO", {"bytes": 0, "calls": 0})
        wanted = {
            f"posix_{direction}_bytes": posix["bytes"],
            f"posix_{direction}_calls": posix["calls"],
            f"mpiio_{direction}_bytes": above["bytes"] if above["calls"] else None,
            f"{direction}_amplification": side["amplification"],
            f"{direction}_processes": posix["processes"],
        }
        for figure, value in wanted.items():
            assert figures.get(figure, (None,))[0] == value, figure
    assert not figures or {unit for _, unit in figures.values()} == {"B", "1"}
