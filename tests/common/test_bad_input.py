# SPDX-License-Identifier: BSD-3-Clause
"""Bad input, item by item: one line that names the thing and what is right; no traceback, nothing
outside of the output folder. What stands in another file is named in ELSEWHERE."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import pytest

from iogauge.analysis.errors import EXIT_DATA, EXIT_NOT_VERIFIED, EXIT_OK, ReferenceFileError
from iogauge.analysis.judge import references
from iogauge.cli.main import main
from iogauge.common import text
from tests.analysis_recorded import Json, Recorded, s3d

ROOT = Path(__file__).resolve().parents[2]
CASE = (s3d("mpiio:collective"), "openmpi")
STATUSES = (EXIT_OK, EXIT_NOT_VERIFIED, EXIT_DATA)

# Items of the list that have a separate table or machine: item, file, test.
ELSEWHERE = [
    ("documents that say nothing sensible, or of another method",
     "test_result_file", "test_a_value_that_cannot_be_is_named"),
    ("a line break in note or access",
     "test_site_canary", "test_a_line_break_in_any_text_of_a_site_is_refused"),
    ("a hint's key with ;", "test_site_canary", "test_no_value_of_a_script_is_a_command"),
    ("$(...) in env_vars", "test_site_canary", "test_commands_in_env_vars_are_refused"),
    ("wrong types in a site, job_type",
     "test_site_input", "test_a_wrong_type_is_one_line_with_its_key"),
    ("modules of an environ", "test_site_input", "test_a_stacks_modules_need_a_modules_system"),
    ("-S S3d.nosuch=3", "test_site_input", "test_a_setting_that_nothing_has_is_an_error"),
    ("IOGAUGE_OUTPUT with a blank",
     "test_site_canary", "test_the_local_one_runs_and_makes_nothing_else"),
    ("another's checkout: results", "test_site_input", "test_another_user_is_told_too"),
    ("--json to a folder that is not there",
     "test_kernel_bad_input", "test_a_document_that_cannot_be_written_is_said_first"),
    ("--plan beyond 64 bits", "test_kernel_build", "test_plan_beyond_64_bits"),
    ("--plan of 10^18 processes", "test_kernel_build", "test_plan_of_too_many_processes"),
]  # fmt: skip


@pytest.mark.parametrize(("item", "file", "test"), ELSEWHERE)
def test_items_that_stand_elsewhere_are_there(item: str, file: str, test: str) -> None:
    (path,) = (ROOT / "tests").rglob(f"{file}.py")
    source = path.read_text()
    assert f"\ndef {test}(" in source, item


# ---------------------------------------------------------------- sessions, as commands read them


class Said:
    """What a command printed and left."""

    def __init__(self, status: int, out: str, err: str, pages: list[str]) -> None:
        self.status, self.out, self.err, self.pages = status, out, err, pages

    @property
    def all(self) -> str:
        return "\n".join([self.out, self.err, *self.pages])


Run = Callable[..., Said]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command on a report; asserts what holds of every input. The checkout's page stays."""
    monkeypatch.setenv("IOGAUGE_OUTPUT", str(tmp_path / "out"))

    def call(command: str, report: Path, *more: str) -> Said:
        store = ["--store", str(tmp_path / "out" / "store")] if command != "summary" else []
        status = main([*command.split(), str(report), *store, *more])
        printed = capsys.readouterr()
        pages = [path.read_text() for path in tmp_path.rglob("*.html")]
        said = Said(status, printed.out, printed.err, pages)
        assert status in STATUSES
        assert not text.CONTROL.search(said.all.translate({10: " ", 9: " "})), said.err
        if status == EXIT_DATA:
            assert said.err.startswith("iogauge: ")
            assert said.err.count("\n") == 1
        return said

    return call


def every(key: str, *values: object) -> Callable[[Json], None]:
    """Each test case says so; with several values, one by one."""

    def change(report: Json) -> None:
        for case, value in zip(report["runs"][0]["testcases"], cycle(values), strict=False):
            case[key] = value

    return change


def info(key: str, value: object) -> Callable[[Json], None]:
    return lambda report: report["session_info"].__setitem__(key, value)


HOSTILE = {
    "ESC": "a\x1b[2Jb",
    "C1": "a\x9b31mb",
    "NUL": "a\0b",
    "lone surrogate": "a\ud800b",
    "right to left": "a\u202eb",
    "line break": "a\nb",
    "markup": "[/x]",
    "script": "<script>document.title='ran'</script>",
    "formula": "=1+1",
    "long": "x" * 100_000,
}
OF_SESSION = {"host": "hostname", "command": "cmdline", "version": "version"}
OF_CASE = {
    "stack": "environ", "file system": "fs", "scale": "scale", "partition": "partition",
    "test": "display_name",
}  # fmt: skip


def check_tables(recorded: Recorded, run: Run) -> str:
    """The wide table."""
    table, screen = run("summary", recorded.report, "--all"), run("summary", recorded.report)
    assert {table.status, screen.status} <= {EXIT_OK, EXIT_NOT_VERIFIED}
    rows = list(csv.reader(io.StringIO(run("summary", recorded.report, "--csv").out)))
    assert len(rows) > 2
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@"))]
    return table.out


@pytest.mark.parametrize("place", [*OF_CASE, "reason"])
def test_names_are_shown_as_they_are_and_do_nothing(place: str, run: Run, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    recorded.edit(every("result", "fail" if place == "reason" else "pass"))
    recorded.edit(every(OF_CASE.get(place, "fail_reason"), *HOSTILE.values()))
    table = check_tables(recorded, run)
    assert place not in ("stack", "file system") or HOSTILE["markup"] in table


@pytest.mark.parametrize("place", OF_SESSION)
@pytest.mark.parametrize("name", HOSTILE)
def test_so_are_those_of_a_session(name: str, place: str, run: Run, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    recorded.edit(lambda report: report["runs"][0]["testcases"].__delitem__(slice(12, None)))
    recorded.edit(info(OF_SESSION[place], HOSTILE[name]))
    table = check_tables(recorded, run)
    assert (name, place) != ("markup", "host") or "[/x]" in table


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["ESC", "NUL", "lone surrogate", "script", "right to left"])
def test_names_in_pages_and_pictures_do_nothing(name: str, run: Run, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    for place in ("host", "stack", "file system", "scale"):
        change = info if place in OF_SESSION else every
        recorded.edit(change({**OF_SESSION, **OF_CASE}[place], HOSTILE[name]))
    said = run("summary", recorded.report, "--html", str(tmp_path / "page.html"))
    assert said.status == EXIT_OK, said.err
    assert "<script>document" not in said.pages[0]
    stored = run("report", recorded.report, "--html", str(tmp_path / "report.html"))
    assert stored.status == EXIT_OK, stored.err
    assert all("<script>document" not in page for page in stored.pages)


def test_a_formula_in_the_tables_of_the_store(run: Run, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    recorded.edit(every("environ", "=1+1"))
    run("report", recorded.report, "--tables", str(tmp_path / "tables"))
    cells = [
        cell
        for path in (tmp_path / "tables").glob("*.csv")
        for row in csv.reader(path.open())
        for cell in row
    ]
    assert "'=1+1" in cells
    assert "=1+1" not in cells


# ---------------------------------------------------------------- texts that are no report

DEEP = 100_000
TEXTS = {
    "deep lists": "[" * DEEP + "]" * DEEP,
    "deep objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "a little too deep": "[" * 70 + "]" * 70,
    "5000 digits": f'{{"session_info": {"9" * 5000}}}',
    "NaN": '{"session_info": NaN}',
    "1e999": '{"session_info": {"data_version": "4.0", "time_elapsed": 1e999}}',
    "nothing": "",
    "NUL": "\0",
    "a number": "7",
    "a list": "[]",
}


@pytest.mark.parametrize("command", ["summary", "store add", "report"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_is_no_report(name: str, command: str, run: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(TEXTS[name])
    said = run(command, report)
    assert said.status == EXIT_DATA
    assert f"{report}: " in said.err


WRONG: dict[str, Callable[[Json], None]] = {
    "processes 2^70": every("num_tasks", 2**70),
    "processes in words": every("num_tasks", "two"),
    "tags": every("tags", 7),
    "a name that is a list": every("unique_name", ["a"]),
    "a time in words": info("time_start_unix", "now"),
    "a time of 1e300": info("time_start_unix", 1e300),
    "a time of 2^70": info("time_elapsed", 2**70),
    "runs of text": lambda report: report.update(runs="all"),
    "a case that is a number": lambda report: report["runs"][0].update(testcases=[7]),
    "no uuid": lambda report: report["session_info"].pop("uuid"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_report_with_wrong_types(name: str, run: Run, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    recorded.edit(WRONG[name])
    said = run("summary", recorded.report)
    assert said.status == EXIT_DATA
    assert f"{recorded.report}: " in said.err


def sample(**values: object) -> Callable[[Json], None]:
    return lambda document: document["samples"][0]["write"].update(values)


DOCUMENTS: dict[str, Callable[[Json], None]] = {
    "processes 2^70": lambda document: document["system"].update(processes=2**70),
    "processes -3": lambda document: document["system"].update(processes=-3),
    "payload -1": lambda document: document["payload"].update(bytes=-1),
    "a bandwidth of 1.5e302": sample(bandwidth=1.5e302),
    "a bandwidth of 1e-320": sample(bandwidth=1e-320),
    "a bandwidth in words": sample(bandwidth="fast"),
    "samples of text": lambda document: document.update(samples="none"),
    "hosts of text": lambda document: document["system"].update(hosts="many"),
    "schema banana": lambda document: document.update(schema="banana"),
    "status banana": lambda document: document.update(status="banana"),
    "no samples": lambda document: document.update(samples=[]),
    "seconds -1": sample(seconds=-1),
    "another method": lambda document: document["asked"].update(method="posix"),
    "another pattern": lambda document: document["asked"].update(pattern="ior"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_with_wrong_values(name: str, run: Run, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    recorded.edit_document(*CASE, DOCUMENTS[name])
    said = run("summary", recorded.report)
    assert said.status != EXIT_OK
    assert "result.json" in said.all
    stored = run("store add", recorded.report)
    assert stored.status == EXIT_DATA
    assert re.search(r"result\.json(:| is not as)", stored.err)


# ---------------------------------------------------------------- names that become folders


def files(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize(
    "name", ["../../..", "/etc", "..", ".", "", "a/b", "a\0b", "\x1b[2J", "x" * 300, ".hidden"]
)
@pytest.mark.parametrize("place", ["system", "uuid"])
def test_a_name_that_would_lie_elsewhere(place: str, name: str, run: Run, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path / "out" / "session")
    recorded.edit(every("system", name) if place == "system" else info("uuid", name))
    before = files(tmp_path)
    said = run("store add", recorded.report)
    assert said.status == EXIT_DATA
    assert "cannot name a folder: use at most 128 letters" in said.err
    assert {path.relative_to(tmp_path / "out").parts[0] for path in files(tmp_path) - before} <= {
        "store"
    }
    assert not list((tmp_path / "out" / "store").rglob("*.parquet"))


def test_the_page_of_a_session_that_names_another_folder(run: Run, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path / "out")
    (tmp_path / "elsewhere").mkdir()
    recorded.edit(info("prefix_output", str(tmp_path / "elsewhere")))
    assert run("report", recorded.report, "--output", str(recorded.output)).status == EXIT_OK
    assert files(tmp_path / "elsewhere") == set()
    assert (recorded.output / "report.html").is_file()


# ---------------------------------------------------------------- published numbers


def published(folder: Path, row: str) -> Path:
    (folder / "published.yaml").write_text(
        "schema: iogauge.published/1\nsources: {a: A page}\nnumbers:\n"
        "- id: one\n  source: a\n  tag: S\n  system: x\n  conditions: none\n  unit: MB/s\n"
        "  quantity: write_bw\n  columns: [processes, value]\n"
        f"  rows:\n  - {row}\n"
    )
    return folder


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("[1, .nan]", "is not a measurable number"),
        ("[1, .inf]", "is not a measurable number"),
        ("[1, -.inf]", "is not a measurable number"),
        ("[1, -5]", "value: expected a number above zero, found -5"),
        ("[1, 0]", "value: expected a number above zero, found 0"),
        ("[1, true]", "value: expected a number above zero, found True"),
        ("[1, fast]", "value: expected a number above zero, found 'fast'"),
        (f"[1, {2**63}]", "is not a measurable number"),
        (f"[1, {10**30}]", "is not a measurable number"),
        (f"[1, {'9' * 5000}]", "expected YAML"),
        ('[1, "\\e[2J"]', "a control character"),
        ("&a [1, *a]", "an alias"),
        ("[" * 400 + "]" * 400, "nested too deeply"),
        ("[1, 2000-99-99]", "expected YAML"),
        ("{? [1] : 2}", "a key that is not a name"),
    ],
)
def test_a_published_number_that_is_none(row: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ReferenceFileError) as caught:
        references.published(published(tmp_path, row))
    message = str(caught.value)
    assert said in message
    assert re.match(rf"{re.escape(str(tmp_path))}/published\.yaml(:1\d)?: ", message)
    assert message.isprintable()


def test_a_published_number(tmp_path: Path) -> None:
    """The frame of the test above is right."""
    (number,) = references.published(published(tmp_path, "[1, 5]"))
    assert (number.value, number.line) == (5.0, 13)


def test_a_reader_who_may_not_read(tmp_path: Path) -> None:
    """What the system refuses is one line too."""
    code = (
        "import sys; from pathlib import Path; from iogauge.cli import main as m\n"
        "def no(*_, **__): raise PermissionError(13, 'Permission denied', 'the/file')\n"
        "Path.exists = no\n"
        "sys.exit(m.main(['summary', 'report.json']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (3, "iogauge: the/file: Permission denied\n")


def test_the_ledger_of_a_run_that_a_name_broke(tmp_path: Path, run: Run) -> None:
    recorded = Recorded(tmp_path)
    folder = recorded.document(*CASE).parent
    for wrong in ("[]", "[" * DEEP, '{"sides": [{"bytes": 1e999}]}', '{"verdict": "\x1b"}'):
        (folder / "ledger.json").write_text(wrong)
        said = run("store add", recorded.report)
        assert said.status == EXIT_DATA
        assert "ledger.json: " in said.err
    (folder / "ledger.json").write_text(json.dumps({"verdict": "\x1b[2J", "reasons": [2**80]}))
    assert run("store add", recorded.report).status == EXIT_OK
