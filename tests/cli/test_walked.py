# SPDX-License-Identifier: BSD-3-Clause
"""Commands as a newcomer types them: no traceback, nothing left, and what a message tells to type
can be typed."""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import ReframeError

from iogauge.analysis.judge import remedies
from iogauge.analysis.judge.bottleneck import Cause
from iogauge.cli import table
from iogauge.cli.main import main, parser_of
from iogauge.cli.run import _asked
from iogauge.common.files import CannotWrite
from iogauge.measure import kernels, sites
from iogauge.measure.certify import recorded
from iogauge.measure.new_site import schedulers
from reframe_tests.machine import leftovers
from tests.reframe_session import reframe

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("words", ["help", "--version", "help why", "expect list"])
def test_a_full_disk_below_stdout_is_an_error(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("IOGAUGE_OUTPUT", str(tmp_path))
    full = Path("/dev/full").open("w")  # noqa: SIM115 (what it holds cannot be written)
    with monkeypatch.context() as patched:
        patched.setattr("sys.stdout", full)
        assert main(words.split()) == 3
    with suppress(OSError):
        full.close()
    assert capsys.readouterr().err == "iogauge: output: No space left on device\n"


def test_an_empty_list_is_one_word(tmp_path: Path, capsys: Capture) -> None:
    assert main(["expect", "list", "--store", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "none\n"


def test_the_commands_of_a_new_site_can_be_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(schedulers, "SYSTEMS", ())
    path = tmp_path / "my sites" / "dawn.py"
    assert main(["site", "new", "dawn", "--output", str(path)]) == 0
    check, _ = (line for line in capsys.readouterr().out.splitlines() if "iogauge" in line)
    assert main(shlex.split(check)[1:]) == 0
    for wrong in map(path.with_suffix, ("", ".yaml")):  # --site would take it for a site's name
        assert main(["site", "new", "dawn", "--output", str(wrong)]) == 2
        said = f"--output {wrong}: use {path}: ReFrame needs a name that ends with .py"
        assert said in capsys.readouterr().err and not wrong.exists()


def test_a_build_of_what_is_not_installed_begins_nothing(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "build"
    words = ("build", "--stack", "wheel:mpich==9.9.9", "--dir", str(folder))
    assert main(words) == 2
    assert "mpicc is missing (environments/wheels/wheel.sh mpich-9.9.9)" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_installation_that_fails_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    built = tmp_path / "build" / "iokernel"
    monkeypatch.setattr(kernels, "build", lambda *_: built)
    assert main(["build", "--prefix", str(tmp_path / "prefix")]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"iogauge: cmake --install {built.parent} --prefix")


def test_no_certificate_says_what_makes_one(tmp_path: Path, capsys: Capture) -> None:
    assert main(["certify", "--show", str(tmp_path / "none")]) == 3
    assert "expected the runs of `iogauge certify`" in capsys.readouterr().err


def test_an_interrupted_certify_ends_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Not with 0: what comes after it in a script would begin."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("IOGAUGE_OUTPUT", str(tmp_path))
    monkeypatch.setattr(recorded, "_run", interrupted)
    monkeypatch.setattr(recorded, "_stacks", lambda _: [SimpleNamespace(name="any")])
    monkeypatch.setattr(recorded, "_about", lambda *_: {"stacks": {}, "seeds": []})
    monkeypatch.setattr(recorded, "notice", lambda _: None)
    assert main(["certify", "--kernels", "none", "--fs", "disk"]) == 130


def test_a_folder_that_cannot_be_marked_is_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk: nobody would ever remove one without a marker."""

    def full(*_: object) -> None:
        raise CannotWrite(28, "No space left on device", "marker")

    monkeypatch.setattr(leftovers, "write_whole", full)
    with pytest.raises(CannotWrite), leftovers.own_folder(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_replay_of_what_is_no_trace_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "log").write_text("no log")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("iogauge.measure.replay.Runner.methods", lambda _: {"posix": ([], 0)})
    words = ("replay", "log", "--dir", "data", "--iokernel", "log", "--launch", "true")
    assert main(words) == 3
    assert "not a Darshan log" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "log"]


def test_what_it_tells_to_run_is_selected(tmp_path: Path) -> None:
    """By ReFrame, as `iogauge run` starts it for a run that left its files in a folder: both of the
    pair, and nothing else; also of a scale that is not measured by default."""
    case = {"name": "S3d %fs=ram %call=mpiio:collective %scale=smoke", "unique_name": "S3d_025"}
    case |= {"fs": "ram", "scale": "smoke", "environ": "mpich", "system": "local"}
    folder = tmp_path / "mpich" / "S3d_483802d4_retry1"
    folder.mkdir(parents=True)
    whole = {"session": {}, "case": {**case, "ended": 1.8e9}}
    (folder / "case.json").write_text(json.dumps(whole))
    asked = {"pattern": "s3d", "method": "mpiio", "mode": "collective"}
    run = remedies.run_of(folder, {"asked": asked})
    told = remedies.remedy(run, Cause("exchange", "write", 0.5, "write", "", "", ""))
    words = told.commands[0].replace(f" --repeat {remedies.ROUNDS}", "")
    verb, *typed = shlex.split(words.removeprefix("iogauge "))
    options = _asked(parser_of(table.BY_NAME[verb]).parse(typed)).words
    found = reframe(tmp_path, "-l", *options, tests="s3d.py").listed
    assert sorted(found) == [
        f"S3d %fs=ram %call=mpiio:{mode} %scale=smoke" for mode in ("collective", "independent")
    ]


def test_where_no_result_can_be_written_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """By `doctor`, which finds it, and by what would write there."""
    why = "results cannot be written to /elsewhere (Permission denied): set IOGAUGE_OUTPUT"

    def unusable(_: Path) -> None:
        raise ReframeError(why)

    monkeypatch.setattr(sites, "load", unusable)
    assert main(["doctor", "--csv"]) == 1
    assert f"results,missing,{sites.FOLDER / 'local.py'}: {why}\n" in capsys.readouterr().out
    assert main(["tune", "--pattern", "s3d"]) == 2
    assert capsys.readouterr().err == f"iogauge: {sites.FOLDER / 'local.py'}: {why}\n"
