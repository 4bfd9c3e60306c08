# SPDX-License-Identifier: BSD-3-Clause
"""What is shown while a session runs: made from ReFrame's lines as it writes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iogauge.common import progress
from iogauge.common.progress import Bar
from iogauge.measure.reframe_lines import Lines, short

RUN = "[ RUN      ] S3d %fs=ram %call=posix %scale=smoke /4f6c0a13 @local:host+mpich\n"
OK = "[       OK ] ( {}/2) S3d %fs=ram %call=posix %scale=smoke /4f6c0a13 @local:host+mpich\n"
FAIL = "[     FAIL ] (2/2) S3d %fs=ram %call=hdf5:collective /5c1 @local:host+openmpi\n"


@pytest.fixture
def bar(monkeypatch: pytest.MonkeyPatch) -> Bar:
    """Without a terminal, with a line whenever it is asked."""
    monkeypatch.setattr(progress, "EVERY", 0.0)
    return Bar("run")


def write(lines: Lines, text: str) -> None:
    lines.written.write(text.encode())
    lines.written.flush()
    lines.look()


def test_a_test_is_named_in_few_words() -> None:
    assert short("S3d %fs=ram %call=posix %scale=smoke /4f6c0a13 @local:host+mpich") == (
        "S3d ram posix mpich"
    )
    assert short("BuildKernels ~local:host+openmpi /297ec8db @local:host+openmpi") == (
        "BuildKernels openmpi"
    )


def test_what_runs_and_how_many_are_left(
    tmp_path: Path, bar: Bar, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where a line comes in two parts, and through two rounds."""
    with Lines(tmp_path / "log" / "1.log", bar, [], 2) as lines:
        write(lines, RUN[:30])
        write(lines, RUN[30:])
        assert capsys.readouterr().err.splitlines()[-1] == "run: S3d ram posix mpich"
        write(lines, OK.format(1))
        assert capsys.readouterr().err.startswith("run: 1 of 4, ")
        write(lines, OK.format(2) + RUN + OK.format(1))
        assert capsys.readouterr().err.startswith("run: 3 of 4, ")
    assert (tmp_path / "log" / "1.log").read_text().count("OK") == 3
    assert capsys.readouterr().out == ""


def test_a_later_round_may_have_fewer_cases(
    tmp_path: Path, bar: Bar, capsys: pytest.CaptureFixture[str]
) -> None:
    with Lines(tmp_path / "1.log", bar, [], 3) as lines:
        for of, said in ((2, "1 of 6"), (1, "3 of 4")):
            write(lines, OK.format(1).replace("/2", f"/{of}"))
            assert f"run: {said}, " in capsys.readouterr().err
            write(lines, OK.format(2))


def test_a_failure_is_said_at_once_with_its_log(
    tmp_path: Path, bar: Bar, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = tmp_path / "stage" / "S3d_5c1"
    stage.mkdir(parents=True)
    (stage / "case.json").write_text(json.dumps({"case": {"fail_reason": "wrong bytes in u"}}))
    (stage / "rfm_job.err").write_text("")
    with Lines(tmp_path / "1.log", bar, [], 1) as lines:
        write(lines, FAIL + f"==> test failed during 'sanity': test staged in '{stage}'\n")
        said = capsys.readouterr().err
    assert said.splitlines()[:2] == [
        "run: FAILED S3d ram hdf5:collective openmpi: wrong bytes in u",
        f"  log: {stage / 'rfm_job.err'}",
    ]


def test_why_a_job_waits_is_said_as_it_waits(
    tmp_path: Path, bar: Bar, capsys: pytest.CaptureFixture[str]
) -> None:
    with Lines(tmp_path / "1.log", bar, [], 1) as lines:
        write(lines, f"{RUN}[S] pbs.j2: in the queue: job 7.n1, 5 minutes: Not Running\n")
        said = capsys.readouterr().err
    assert said.splitlines()[0] == "run: in the queue: job 7.n1, 5 minutes: Not Running"


def test_a_failed_build_is_said_with_its_first_error(
    tmp_path: Path, bar: Bar, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ninja prints what the compiler says on stdout."""
    (tmp_path / "rfm_build.err").write_text("waiting for a build\n")
    said = "[1/2] a.c\na.c:4:1: error: expected ';'\nb.c:1:1: error: another\n"
    (tmp_path / "rfm_build.out").write_text(said)
    build = "[     FAIL ] (1/2) BuildKernels ~local:host+mpich /297 @local:host+mpich\n"
    with Lines(tmp_path / "1.log", bar, [], 1) as lines:
        write(lines, f"{build}==> test failed during 'compile_wait': test staged in '{tmp_path}'\n")
    assert capsys.readouterr().err.splitlines()[:2] == [
        "run: FAILED BuildKernels mpich: a.c:4:1: error: expected ';'",
        f"  log: {tmp_path / 'rfm_build.err'}",
    ]


@pytest.mark.parametrize("words", [["-v"], ["-n", "S3d", "-vv"], ["--verbose"]])
def test_reframes_own_lines_on_request(
    tmp_path: Path, bar: Bar, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with Lines(tmp_path / "1.log", bar, words, 1) as lines:
        write(lines, RUN)
    said = capsys.readouterr()
    assert (said.out, said.err) == (RUN, "")


def test_a_line_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    bar = Bar("run")
    for second in range(35):
        now[0] = float(second)
        bar.count(second, 100, "S3d")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines] == ["10", "20", "30"]
    assert lines[1] == "run: 20 of 100, about 1:20 left, S3d"


def test_builds_do_not_make_the_rest_seem_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of a minute, then cases of a second each. Of few cases nothing is said."""
    now, said = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    bar = Bar("run")
    for done, seconds in enumerate((0, 60, 60, *[1] * 9)):
        now[0] += seconds
        said.append(bar.left(done, 112))
    assert said[:7] == [*[""] * 6, "about 1:46 left"]
    assert capsys.readouterr().err == ""


def test_the_end_of_the_log_where_there_is_no_report(tmp_path: Path, bar: Bar) -> None:
    with Lines(tmp_path / "1.log", bar, [], 1) as lines:
        write(lines, "a\n\nreframe: error: unrecognized arguments: --no\nb\n")
    assert lines.last() == ["reframe: error: unrecognized arguments: --no"]
