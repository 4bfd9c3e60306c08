# SPDX-License-Identifier: BSD-3-Clause
"""Read one session: ReFrame's report and each test's result document. No other module knows the
report's format (data version 4) or where ReFrame keeps a test's files."""

import re
import reprlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path, PurePath
from typing import Any

from iogauge.common import json_file, schemas
from iogauge.common.run_folder import DOCUMENT, JOB_SCRIPT, build_error
from iogauge.common.text import plain, plain_all

from ..errors import (
    AnalysisError,
    MalformedReportError,
    NothingFoundError,
    StoppedRunError,
    UnknownSchemaError,
    reraised,
)
from ..statistics.spread import Spread
from .case_file import ABORTED, as_it_ended
from .document import check_test, read_document
from .model import DIRECTIONS, Result, Run, Session, Status

SQLITE = b"SQLite format 3\0"  # how ReFrame's results.db begins
DATABASE_VERSION = "1"  # of its schema, the major one
DATA_VERSION = "4"  # major: ReFrame raises it when old readers would break
NO_REPORT = "expected the report of a session, found none; make one with: iogauge run"
REPORTS = "reports"  # below the output folder (site_configs/support/common.py)
PEAK = "peak"  # the tag of tests that measure only the ceilings (benchmarks/peak.py)
SEED_KEY = "order_seed"  # of a report whose jobs ran in random order
UNIT, _UNIT = "MiB/s", 4  # of bandwidths, and its place in an entry of `perfvalues`

# Parameters with separate columns (`call` is method and mode), and the counter of --repeat.
_COLUMNS = {"fs", "pattern", "call", "scale", "processes", "num_tasks", ".repeat_no"}
SCHEMA = Path(__file__).with_name("report.schema.json")  # of what is used of a report
_SUCCESS = {"pass", "xpass"}
INTERRUPTED = "interrupted"  # a key of a report that `recover` made
ROUNDS_KEY = "rounds"  # of iogauge/measure/rounds.py: the rounds' folders
HARNESS = "harness"  # the program that wrote the report, if not ReFrame
_NO_VALUE = {"None", "<undefined>"}  # how ReFrame writes what a test never set


def last_report(output: Path) -> Path:
    """The report of the newest session that ran something; if it is unreadable, no older one."""
    for path in _reports(output):
        if measured(read_report(path)):
            return path
    raise NothingFoundError(f"{output / REPORTS}: {NO_REPORT}")


def all_reports(output: Path, missing_ok: bool = False) -> list[Path]:
    """The reports below `output`, oldest first, dry runs included. Raises NothingFoundError if
    there is none, unless `missing_ok`."""
    found = _reports(output)
    if not found and not missing_ok:
        raise NothingFoundError(f"{output / REPORTS}: {NO_REPORT}")
    return found[::-1]


def _reports(output: Path) -> list[Path]:
    found = [path for path in (output / REPORTS).glob("*.json") if not path.is_symlink()]
    return sorted(found, key=lambda p: (p.stat().st_mtime_ns, p.name), reverse=True)


def folders(info: dict[str, Any]) -> set[str]:
    return {Path(info.get("prefix_output") or "").name, *(info.get(ROUNDS_KEY) or ())}


def measured(data: dict[str, Any]) -> bool:
    """A dry run writes a report too, but measures nothing."""
    return "--dry-run" not in (data["session_info"].get("cmdline") or "").split()


def load_session(
    report: Path, *, strict: bool = False, data: dict[str, Any] | None = None
) -> Session:
    """One row for each test case. A missing or broken document makes a row with status `failed`;
    with `strict`, a broken one that ReFrame accepted raises. `data`: the report's content if it was
    read before, or comes from `report`, a database. Raises an AnalysisError."""
    data = read_report(report) if data is None else _checked(report, data)
    info = data["session_info"]
    # Each test case once: --max-retries reruns failed ones, and the last try counts.
    last = {_key(case): case for run in data["runs"] for case in run["testcases"]}
    tries = list(last.values())
    place = Place(report, info)
    cases = [_with_error(as_it_ended(case, place.folders(case)), place) for case in tries]
    known = {*_SUCCESS, "fail_deps"}  # whose reason is another's
    causes = {plain(_key(case)): why_not(case) for case in cases if case["result"] not in known}
    runs = [
        _run(case, place, causes, order, strict)
        for order, case in enumerate(cases)
        # A fixture (the build) measures nothing; it gets a row only if it failed.
        if not case.get("fixture") or case["result"] not in {*_SUCCESS, "skip"}
    ]
    if not runs:
        raise MalformedReportError(f"{report}: expected test cases, found an empty session")
    info = plain_all(info)
    return Session(
        uuid=info["uuid"],
        report=report,
        # The folder of the session's own files: ReFrame's output prefix, or beside the report.
        output=place.find(place.info.get("prefix_output") or "") or report.parent,
        started=_time(report, info["time_start_unix"]),
        seconds=info["time_elapsed"],
        host=info["hostname"],
        harness=str(info.get(HARNESS) or f"ReFrame {info.get('version') or '(unknown version)'}"),
        command=info.get("cmdline") or "",
        runs=tuple(runs),
        interrupted=bool(info.get(INTERRUPTED)) or any(case["result"] == ABORTED for case in tries),
        order_seed=_whole(info.get(SEED_KEY)),
    )


def _time(report: Path, seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc)
    except (ValueError, OverflowError, OSError):
        what = f"expected a time as 'time_start_unix', found {seconds!r}"
        raise MalformedReportError(f"{report}: {what}") from None


def read_report(path: Path) -> dict[str, Any]:
    """ReFrame's report `path`, its form checked. Raises an AnalysisError."""
    if not path.exists():
        raise NothingFoundError(f"{path}: expected ReFrame's report, found no file")
    with reraised(json_file.Unreadable, MalformedReportError, f"{path}: "):
        return _checked(path, json_file.read(path, "report of ReFrame"))


def _checked(path: Path, data: Any) -> dict[str, Any]:
    info = data.get("session_info") if isinstance(data, dict) else None
    version = str(info.get("data_version", "")) if isinstance(info, dict) else ""
    if not version:
        raise MalformedReportError(f"{path}: expected ReFrame's report, found no data_version")
    if version.split(".")[0] != DATA_VERSION:
        what = f"report of another ReFrame (data version {version!r}, this reads {DATA_VERSION}.x)"
        raise MalformedReportError(f"{path}: {what}")
    if wrong := schemas.problem(data, SCHEMA):
        raise MalformedReportError(f"{path}: {wrong}")
    return dict(data)


def _key(case: dict[str, Any]) -> str:
    """One test case, as named by the triples of `dependencies_actual`."""
    return f"{case['unique_name']} {case['system']}:{case['partition']} {case['environ']}"


def _is_folder(path: Path) -> bool:
    with suppress(OSError, ValueError):  # no folder is named so
        return path.is_dir()
    return False


@dataclass(frozen=True)
class Place:
    """Finds a test's files, also in a moved or copied output folder."""

    report: Path
    info: dict[str, Any]

    def find(self, recorded: str) -> Path | None:
        """The folder that the report calls `recorded`; None if it is gone. The place beside the
        report comes first: in a copy of the results, the recorded path may belong to another
        session."""
        base = self.info.get("workdir") or ""
        relative = PurePath(recorded)
        if base and relative.is_relative_to(base):
            relative = relative.relative_to(base)
            # The output folder itself may have been renamed.
            for inside in (relative, PurePath(*relative.parts[1:])):
                for above in self.report.resolve().parents if inside.parts else ():
                    if _is_folder(above / inside):
                        return above / inside
        return Path(recorded) if recorded and _is_folder(Path(recorded)) else None

    def test_folder(self, case: dict[str, Any]) -> Path | None:
        """Where the case's files are: kept in `outputdir`, or after a failure in `stagedir`."""
        for folder in self.folders(case):
            if any((folder / name).exists() for name in (DOCUMENT, JOB_SCRIPT)):
                return folder
        return None

    def folders(self, case: dict[str, Any]) -> list[Path]:
        found = [self.find(str(case.get(key) or "")) for key in ("outputdir", "stagedir")]
        return [folder for folder in found if folder]


def _run(
    case: dict[str, Any], place: Place, causes: dict[str, str], order: int, strict: bool
) -> Run:
    folder = place.test_folder(case)  # the raw name; everything printed is plain text
    case = plain_all(case)
    name = str(case.get("display_name") or case["name"])
    parameters = dict(re.findall(r" %([^=]+)=(\S*)", name))
    status = _status(case)
    reason = "" if status == "ok" else why_not(case, causes)
    result: Result | None = None
    if status != "skipped":
        strictly = strict and status == "ok"
        result, problem = _result(place.report, case, folder, strict=strictly)
        if result and result.verdict == "mismatch":
            problem = result.mismatch or result.error or "some byte read back was wrong"
        if problem and status == "ok":  # the document decides
            status, reason = "failed", problem
        elif status == "failed" and (told := _last_words(case, folder)):
            reason = f"{told} ({reason})"

    def word(key: str) -> str:
        value = str(case.get(key, parameters.get(key, "")))
        return "" if value in _NO_VALUE else value

    others = {k: v for k, v in parameters.items() if k not in _COLUMNS and "." not in k}
    if result and result.inner:  # a part of the parameter `call` that is not a mode
        others = {"inner": result.inner, **others}
    script = folder / JOB_SCRIPT if folder else None
    document = folder / DOCUMENT if folder else None
    return Run(
        session=plain(place.info["uuid"]),
        test=name.split(" %")[0],
        case=re.sub(r" %\.repeat_no=\S*", "", name),
        variant=", ".join(f"{k}={v}" for k, v in others.items()),
        system=case["system"],
        partition=case["partition"],
        stack=case["environ"],
        fs=word("fs"),
        pattern=result.pattern if result else word("pattern"),
        method=result.method if result else word("method"),
        mode=(result.mode or "") if result else word("mode"),
        scale=word("scale"),
        processes=result.processes if result else _whole(case.get("num_tasks")),
        status=status,
        reason=reason,
        is_peak=PEAK in (case.get("tags") or []),
        result=result,
        document=document if document and document.exists() else None,
        job_script=script if script and script.exists() else None,
        published_peak=word("published_peak"),
        order=order,
        packages={k: str(v) for k, v in (case.get("spack_packages") or {}).items()},
        repeat=int(number[:9]) if (number := parameters.get(".repeat_no", "0")).isdecimal() else 0,
    )


def _with_error(case: dict[str, Any], place: Place) -> dict[str, Any]:
    """A failed build's first error: ReFrame's reason is its exit status."""
    reason = str(case.get("fail_reason"))
    if reason.startswith("build error"):
        found = next(filter(None, map(build_error, place.folders(case))), "")
        case = {**case, "fail_reason": f"{reason}: {found}" if found else reason}
    return case


def _status(case: dict[str, Any]) -> Status:
    if case["result"] in _SUCCESS:
        return "ok"
    return "skipped" if case["result"] == "skip" else "failed"


def why_not(case: dict[str, Any], causes: dict[str, str] | None = None) -> str:
    """Why a case is not `ok`; `causes` are the reasons of cases that it may depend on."""
    if case["result"] in ("skip", "fail_deps"):
        # ReFrame's report does not say why a test was skipped: the tests log it in a variable,
        # which a test with a failed build (`fail_deps`) never sets.
        needed = [" ".join(map(str, names)) for names in case.get("dependencies_actual") or []]
        found = [causes[key] for key in needed if causes and key in causes]
        reason = case.get("skip_reason") or next(iter(found), "no reason recorded")
    else:
        reason = case.get("fail_reason") or f"ended as {case['result']!r}, no reason recorded"
    return " ".join(reason.split()).removeprefix("sanity error: ")


def _result(
    report: Path, case: dict[str, Any], folder: Path | None, *, strict: bool
) -> tuple[Result | None, str]:
    if folder is None or not (folder / DOCUMENT).exists():
        return None, f"no result document {DOCUMENT}: the run crashed or was killed"
    try:
        result = read_document(folder / DOCUMENT)
        check_test(folder / DOCUMENT, result, case)
    except UnknownSchemaError:
        raise
    except AnalysisError as error:
        if strict:
            raise
        return None, str(error).removeprefix(f"{folder}/")  # the row already names the run
    stale = _stale(report, case, result)
    return (None, stale) if stale else (result, "")


def _last_words(case: dict[str, Any], folder: Path | None) -> str:
    """Why the harness or the scheduler ended a run; empty for one that reached its checks."""
    judged = ("sanity error", "performance error")
    if folder is None or str(case.get("fail_reason") or "").startswith(judged):
        return ""
    try:
        read_document(folder / DOCUMENT)
    except StoppedRunError as error:
        return str(error)
    except AnalysisError:
        pass
    return ""


def _stale(report: Path, case: dict[str, Any], result: Result) -> str:
    """Why the document is not from this session, or empty: another session may have replaced it.
    Compares the medians, which the report has too, so that no clock must be trusted."""
    logged = {name.split(":")[-1]: entry for name, entry in (case.get("perfvalues") or {}).items()}
    for direction in DIRECTIONS:
        entry = logged.get(f"{direction}_bw")
        if isinstance(entry, list) and len(entry) > _UNIT and entry[_UNIT] != UNIT:
            what = f"expected {direction}_bw in {UNIT}, found {reprlib.repr(entry[_UNIT])}"
            raise MalformedReportError(f"{report}: {case['unique_name']}: {what}")
        value = entry[0] if isinstance(entry, list) and entry else None
        spread = Spread.of(b for s in result.samples if (b := s.bandwidth(direction)))
        if spread is None or not isinstance(value, int | float):
            continue
        if abs(spread.median - value) > 1e-3 * abs(value):
            text = f"{direction} {value:.1f} MiB/s"
            return f"{DOCUMENT} holds {spread.median:.1f} where the report says {text}"
    return ""


def _whole(number: float | None) -> int | None:
    """A schema's integer may be 4.0."""
    return None if number is None else int(number)


def is_database(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE
    return False  # reading it as a report then says what is wrong


def database_reports(path: Path) -> Iterator[dict[str, Any]]:
    """The reports in ReFrame's database (SQLite), oldest first. Raises MalformedReportError."""
    try:
        import sqlite3
    except ImportError:
        raise MalformedReportError(f"{path}: this Python has no sqlite3") from None
    try:
        with sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True) as connection:
            version = connection.execute("SELECT schema_version FROM metadata").fetchone()
            if version is None or str(version[0]).split(".")[0] != DATABASE_VERSION:
                found = version[0] if version else "none"
                what = f"(schema {found!r}, this reads {DATABASE_VERSION}.x)"
                raise MalformedReportError(f"{path}: database of another ReFrame {what}")
            query = "SELECT json_blob FROM sessions ORDER BY session_start_unix"
            for (blob,) in connection.execute(query):
                yield json_file.parse(blob, "report of ReFrame")
    except (sqlite3.Error, json_file.Unreadable, ValueError, TypeError) as error:
        raise MalformedReportError(f"{path}: expected ReFrame's database: {error}") from None
