# SPDX-License-Identifier: BSD-3-Clause
"""Bundles: an honest one verifies in another folder, and one that was tampered with does not."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.bundle import archive, contents, manifest
from iogauge.analysis.checks.recheck import judged_by
from iogauge.analysis.ledger.traced import load as load_traced
from iogauge.analysis.ledger.verdict import as_json
from iogauge.cli.main import main
from tests.analysis_recorded import Recorded, s3d
from tests.recorded_runs import DATA, traced

TRACED = "mpich-collective-dxt"
CASE = (s3d("mpiio:collective"), "mpich")
JOBS = 12
FIRST = "runs/0000"
ACCEPTANCE = """\
schema: iogauge.acceptance/1
name: delivery
cases:
- {name: kept, where: {method: mpiio}, quantity: write_bw, at_least: 0.001}
- {name: broken, where: {method: mpiio}, quantity: write_bw, at_least: 1000000}
"""


def session(folder: Path) -> Path:
    """The report of a session of 12 jobs of one recorded run; the first has its trace."""
    made = Recorded(folder)
    run = traced(TRACED)

    def change(report: dict[str, Any]) -> None:
        cases = [
            c for c in report["runs"][0]["testcases"] if (c["display_name"], c["environ"]) == CASE
        ]
        jobs = []
        for number in range(JOBS):
            place = f"{cases[0]['outputdir']}_{number}"
            own = folder / Path(place).relative_to("/checkout")
            own.mkdir()
            keep(run, own, with_trace=number == 0)
            jobs.append({**cases[0], "outputdir": place, "perfvalues": {},
                         "display_name": f"{CASE[0]} %.repeat_no={number}",
                         "unique_name": f"S3d_{number}"})  # fmt: skip
        report["runs"][0]["testcases"] = jobs

    made.edit(change)
    return made.report


def keep(run: Any, own: Path, *, with_trace: bool) -> None:
    """What a test leaves of a run in its folder."""
    shutil.copy(DATA / "darshan" / TRACED / "result.json", own)
    (own / "exit_status").write_text("0\n")
    (own / "rfm_job.sh").write_text("#!/bin/bash\n")
    said = judged_by(run.expected, run.outside, traced=with_trace)
    (own / "case.json").write_text(json.dumps({"session": {}, "case": {"judged_by": said}}))
    if with_trace:
        shutil.copy(DATA / "darshan" / TRACED / "trace.darshan", own)
        found = load_traced(own)
        (own / "ledger.json").write_text(json.dumps(as_json(found.ledger, found.judgement)))


def called(*words: object) -> tuple[int, str]:
    """Exit status, and all that was printed."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(list(map(str, words)))
    return code, said.getvalue()


@dataclass(frozen=True)
class Made:
    report: Path
    bundle: Path
    acceptance: Path
    key: Path
    allowed: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("bundle")
    found = Made(session(folder / "s"), folder / "b.tar", folder / "acceptance.yaml",
                 folder / "key", folder / "allowed")  # fmt: skip
    found.acceptance.write_text(ACCEPTANCE)
    new_key(found.key, found.allowed, "centre@example.org")
    code, said = called(
        "bundle", "make", found.report, "--acceptance", found.acceptance, "--to", found.bundle,
        "--sign", found.key,
    )  # fmt: skip
    assert code == 1 and "1 met, 1 not met: not accepted" in said and "wrong" not in said, said
    return found


def new_key(key: Path, allowed: Path, name: str) -> None:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key)], check=True
    )
    allowed.write_text(f"{name} {key.with_name(key.name + '.pub').read_text()}")


def test_an_honest_bundle_verifies_elsewhere(made: Made, tmp_path: Path) -> None:
    """The session's own folder is gone by then, and any tar and sha256sum can read it."""
    copy = shutil.copy(made.bundle, tmp_path)
    aside = made.report.parents[1].rename(made.report.parents[2] / "aside")
    try:
        code, said = called("bundle", "verify", copy, "--allowed-signers", made.allowed)
    finally:
        aside.rename(made.report.parents[1])
    assert code == 0, said
    assert "signed by centre@example.org" in said and "1 met, 1 not met: not accepted" in said
    (tmp_path / "x").mkdir()
    subprocess.run(["tar", "-xf", copy, "-C", tmp_path / "x"], check=True)
    subprocess.run(["sha256sum", "--check", "--quiet", "MANIFEST"], cwd=tmp_path / "x", check=True)
    there = {path.name for path in (tmp_path / "x" / FIRST).iterdir()}
    assert there == {"result.json", "trace.darshan", "ledger.json", "case.json", "exit_status",
                     "rfm_job.sh"}  # fmt: skip


def test_the_same_session_makes_the_same_bundle(made: Made, tmp_path: Path) -> None:
    words = ("bundle", "make", made.report, "--acceptance", made.acceptance, "--to")
    for name in ("a", "b"):
        called(*words, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("name", ["session", "session-all"])
def test_honest_runs_of_every_pattern_are_right(name: str, tmp_path: Path) -> None:
    """Recorded before runs kept what was asked for: their documents speak alone."""
    made = Recorded(tmp_path / "s", name)
    code, said = called("bundle", "make", made.report, "--to", tmp_path / "b.tar")
    ran = sum(case["result"] == "pass" for case in made.cases())
    assert code == 0 and f"{ran} of {ran} runs do not record" in said, said
    assert "is wrong" not in said


# ---------------------------------------------------------------- tampering


def edit(path: Path, change: Callable[[Any], None]) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def faster(folder: Path) -> None:
    """One number of a document."""
    edit(folder / FIRST / "result.json",
         lambda d: d["samples"][0]["write"].update(bandwidth=9e5))  # fmt: skip


def faster_throughout(folder: Path) -> None:
    """Ten times, in all places of the document that follow from one another."""

    def change(document: dict[str, Any]) -> None:
        for sample in document["samples"]:
            sample["write"]["bandwidth"] *= 10
            sample["write"]["seconds"] /= 10
            for phase in sample["write"]["phases"].values():
                phase.update({key: value / 10 for key, value in phase.items()})
        for key, value in document["summary"].items():
            if value is not None and (key.startswith("write_") or key == "write_bw"):
                document["summary"][key] = value * 10
            elif value is not None and key in ("open_time", "define_time", "close_time"):
                document["summary"][key] = value / 10

    edit(folder / FIRST / "result.json", change)


def verdict(folder: Path) -> None:
    edit(folder / "verdicts.json", lambda d: d["acceptance"][1].update(verdict="met"))


def figure(folder: Path) -> None:
    edit(folder / "verdicts.json", lambda d: d["runs"][0].update(write_bw=[1.0]))


def no_trace(folder: Path) -> None:
    (folder / FIRST / "trace.darshan").unlink()
    (folder / FIRST / "ledger.json").unlink()


def other_trace(folder: Path) -> None:
    shutil.copy(DATA / "darshan" / "mpich-holes" / "trace.darshan", folder / FIRST)


def other_ledger(folder: Path) -> None:
    edit(folder / FIRST / "ledger.json", lambda d: d["sides"][0].update(posix=1))


def bounds(folder: Path) -> None:
    path = folder / "acceptance.yaml"
    path.write_text(path.read_text().replace("at_least: 1000000", "at_least: 0.001"))


def no_acceptance(folder: Path) -> None:
    (folder / "acceptance.yaml").unlink()


def no_run(folder: Path) -> None:
    shutil.rmtree(folder / "runs" / "0003")


def failed(folder: Path) -> None:
    (folder / FIRST / "exit_status").write_text("1\n")


def added(folder: Path) -> None:
    shutil.copytree(folder / FIRST, folder / "runs" / "0099")


def less_asked(folder: Path) -> None:
    """Half of the payload was asked for, the harness is made to say."""
    edit(folder / FIRST / "case.json",
         lambda d: d["case"]["judged_by"]["expected"].update(payload_bytes=1))  # fmt: skip


def not_ours(folder: Path) -> None:
    """Of another program less is known, so less is checked."""
    edit(folder / FIRST / "case.json",
         lambda d: d["case"]["judged_by"]["expected"].update(ours=False))  # fmt: skip


def no_record(folder: Path) -> None:
    edit(folder / FIRST / "case.json", lambda d: d["case"].update(judged_by=None))


TAMPERED = {
    "a number": (faster, "the bandwidth is 900000 MiB/s"),
    "numbers that follow from one another": (faster_throughout, "runs/0000"),
    "a verdict": (verdict, "verdict: 'met' is stated, 'not met' is found"),
    "a figure": (figure, "write_bw"),
    "a trace removed": (no_trace, "it was traced, but trace.darshan is missing"),
    "a trace swapped": (other_trace, "not what the trace says"),
    "a ledger": (
        other_ledger,
        "not what the trace says: ledger.json: sides[0]: posix: 1 is stated",
    ),
    "bounds": (bounds, "'at least 1e+06' is stated, 'at least 0.001' is found"),
    "bounds removed": (no_acceptance, "acceptance"),
    "a run removed": (no_run, "the run crashed or was killed"),
    "an exit status": (failed, "the job ended with exit status 1"),
    "what was asked for": (less_asked, "payload.bytes is"),
    "which program": (not_ours, "names another program, but iokernel ran"),
    "no record": (no_record, "1 of 12 runs do not record what their test asked for"),
}


def packed(folder: Path, target: Path, *, rehash: bool = True) -> Path:
    """The files of a folder as a bundle; with hashes that fit, unless one is to see the old."""
    names = contents.files(folder)
    (folder / manifest.SIGNATURE).unlink(missing_ok=True)
    if rehash:
        names = [n for n in names if n not in (manifest.MANIFEST, manifest.SIGNATURE)]
        manifest.write(folder, names)
    names = [manifest.MANIFEST, *(n for n in contents.files(folder) if n != manifest.MANIFEST)]
    with target.open("wb") as file:
        archive.write(folder, names, file)
    return target


@pytest.fixture
def opened(made: Made, tmp_path: Path) -> Path:
    folder = tmp_path / "opened"
    folder.mkdir()
    archive.extract(made.bundle, folder)
    return folder


@pytest.mark.parametrize(("change", "said"), TAMPERED.values(), ids=TAMPERED)
def test_what_was_tampered_with_is_refused(
    opened: Path, tmp_path: Path, change: Callable[[Path], None], said: str
) -> None:
    """With hashes that fit: what the raw data say is not what the bundle says."""
    change(opened)
    code, text = called("bundle", "verify", packed(opened, tmp_path / "t.tar"))
    assert code == 1 and said in text, text


@pytest.mark.parametrize("change", [faster, verdict, no_trace, bounds, other_trace, added])
def test_the_hashes_tell_first(
    opened: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    change(opened)
    code, text = called("bundle", "verify", packed(opened, tmp_path / "t.tar", rehash=False))
    words: dict[Callable[[Path], None], str] = {no_trace: "was removed", added: "was added"}
    assert code == 1 and words.get(change, "was changed") in text, text


def test_who_makes_a_new_bundle_of_changed_data_is_told(made: Made, tmp_path: Path) -> None:
    """All hashes and verdicts are new ones; the run still contradicts itself."""
    shutil.copytree(made.report.parents[2], tmp_path / "s")
    report = tmp_path / "s" / made.report.relative_to(made.report.parents[2])
    (document,) = (tmp_path / "s").rglob("*_0/result.json")
    edit(document, lambda d: d["samples"][0]["write"].update(bandwidth=9e5))
    code, text = called("bundle", "make", report, "--to", tmp_path / "t.tar")
    assert code == 1 and "passed, but is wrong: repeat 0, write" in text, text
    code, text = called("bundle", "verify", tmp_path / "t.tar")
    assert code == 1 and "passed, but is wrong: repeat 0, write" in text, text


def test_a_signature_is_of_this_bundle_and_of_one_who_may(
    made: Made, opened: Path, tmp_path: Path
) -> None:
    new_key(tmp_path / "other", tmp_path / "others", "x@example.org")
    code, text = called("bundle", "verify", made.bundle, "--allowed-signers", tmp_path / "others")
    assert code == 1 and "not signed by anybody in" in text
    signature = (opened / manifest.SIGNATURE).read_bytes()
    faster(opened)
    unsigned = packed(opened, tmp_path / "u.tar")
    code, text = called("bundle", "verify", unsigned, "--allowed-signers", made.allowed)
    assert code == 1 and "it is not signed" in text
    (opened / manifest.SIGNATURE).write_bytes(signature)
    names = [manifest.MANIFEST, *(n for n in contents.files(opened) if n != manifest.MANIFEST)]
    with (tmp_path / "s.tar").open("wb") as file:
        archive.write(opened, names, file)
    code, text = called("bundle", "verify", tmp_path / "s.tar", "--allowed-signers", made.allowed)
    assert code == 1 and "the signature is not of this MANIFEST" in text


def test_consistent_but_unsigned_is_said_first_and_is_no_success(
    made: Made, opened: Path, tmp_path: Path
) -> None:
    code, text = called("bundle", "verify", made.bundle)
    assert code == 5 and text.splitlines()[0].startswith("SIGNATURE NOT CHECKED: "), text
    (opened / manifest.SIGNATURE).unlink(missing_ok=True)
    code, text = called("bundle", "verify", packed(opened, tmp_path / "u.tar"))
    assert code == 5 and text.splitlines()[0].startswith("NOT SIGNED: "), text


# ---------------------------------------------------------------- hostile files


def test_a_report_that_points_elsewhere_is_refused(opened: Path, tmp_path: Path) -> None:
    for wrong in ("/etc", "/iogauge-bundle/runs/../../etc", "/iogauge-bundle/sites"):
        data = json.loads((opened / "report.json").read_text())
        data["runs"][0]["testcases"][0]["outputdir"] = wrong
        (opened / "report.json").write_text(json.dumps(data))
        code, text = called("bundle", "verify", packed(opened, tmp_path / "t.tar"))
        assert code == 3 and "is not a folder of a bundle" in text, text


def test_a_damaged_tar_file_is_refused(made: Made, tmp_path: Path) -> None:
    data = made.bundle.read_bytes()
    damaged = {
        "cut off": data[: len(data) // 2],
        "cut off in a header": data[:300],
        "empty": b"",
        "no tar": b"x" * 2048,
        "something behind": data + b"x" * 512,
        "twice": data[: 512 * 2] * 2,
    }
    for name, wrong in damaged.items():
        path = tmp_path / "t.tar"
        path.write_bytes(wrong)
        code, text = called("bundle", "verify", path)
        assert code == 3 and str(path) in text, (name, text)


@pytest.mark.parametrize(
    ("out", "err", "said"),
    [
        (b"all\n", b" no key\r\n\n here \n", "no key here"),
        (b"all\n", b"", "all"),
        (b"", b"", "status 3"),
    ],
)
def test_what_ssh_keygen_says_is_quoted(out: bytes, err: bytes, said: str) -> None:
    assert manifest._output(subprocess.CompletedProcess([], 3, out, err)) == said
