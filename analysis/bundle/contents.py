# SPDX-License-Identifier: BSD-3-Clause
"""The contents of a bundle (docs/analysis.md): one session's raw data, and what was derived from
them."""

import platform
import re
import shutil
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from iogauge import version
from iogauge.common import json_file, paths, schemas
from iogauge.common.run_folder import CASE, DOCUMENT, EXIT_STATUS, JOB_SCRIPT, LEDGER, TRACE
from iogauge.common.text import FOLDER

from ..errors import MalformedReportError, reraised
from ..judge import references
from ..session.loader import Place, read_report
from .archive import NAME, BadBundleError

SCHEMA = "iogauge.bundle/1"
REPORT = "report.json"
ACCEPTANCE = "acceptance.yaml"
VERSIONS = "versions.json"
VERDICTS = "verdicts.json"
RUNS, SITES, LOCKS = "runs", "sites", "locks"

# A placeholder path in the report: files are found beside the report instead.
PLACE = "/iogauge-bundle"
_FOLDER = re.compile(rf"{PLACE}/{RUNS}/\d{{4,6}}")
_OF_A_RUN = (
    DOCUMENT,
    TRACE,
    LEDGER,
    CASE,
    EXIT_STATUS,
    JOB_SCRIPT,
    "rfm_job.out",
    "rfm_job.err",
    "ior.json",
)
# For a Spack stack, and for a test with several programs.
_MORE = ("*.lock", "result-*.json")
_LIBRARIES = ("reframe-hpc", "numpy", "duckdb", "darshan")


def gather(report: Path, folder: Path, acceptance: Path | None) -> None:
    data = read_report(report)
    place = Place(report, dict(data["session_info"]))
    cases = [case for run in data["runs"] for case in run["testcases"]]
    for number, case in enumerate(cases):
        found = place.test_folder(case)
        case["outputdir"] = case["stagedir"] = ""
        if found is None:
            continue
        own = folder / RUNS / f"{number:04d}"
        own.mkdir(parents=True)
        case["outputdir"] = f"{PLACE}/{RUNS}/{own.name}"
        more = (path for pattern in _MORE for path in sorted(found.glob(pattern)))
        for path in [*(found / name for name in _OF_A_RUN), *more]:
            if path.is_file() and not path.is_symlink() and NAME.fullmatch(path.name):
                shutil.copyfile(path, own / path.name)
    data["session_info"] |= {"workdir": PLACE, "prefix_output": "", "prefix_stage": ""}
    json_file.write(folder / REPORT, data)
    if acceptance:
        shutil.copyfile(acceptance, folder / ACCEPTANCE)
        for system in sorted({str(case["system"]) for case in cases}):
            if not FOLDER.fullmatch(system):
                continue  # not a valid site name
            _copy_into(folder / SITES, references.site_file(system))
    if paths.is_checkout():
        for lock in sorted((paths.ROOT / "requirements").glob("*.lock")):
            _copy_into(folder / LOCKS, lock)
    json_file.write(folder / VERSIONS, versions())


def _copy_into(folder: Path, path: Path) -> None:
    if path.is_file():
        folder.mkdir(exist_ok=True)
        shutil.copyfile(path, folder / path.name)


def versions() -> dict[str, str]:
    found = {"iogauge": version(), "python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def files(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def check_places(folder: Path) -> None:
    """Raises BadBundleError for a report whose cases would be looked for outside the bundle."""
    try:
        data = read_report(folder / REPORT)
    except MalformedReportError as problem:
        raise BadBundleError(str(problem).replace(f"{folder}/", "")) from None
    info = data["session_info"]
    if info.get("workdir") != PLACE or info.get("prefix_output"):
        raise BadBundleError(f"{REPORT}: its folder is not {PLACE}")
    for run in data["runs"]:
        for case in run["testcases"]:
            for key in ("outputdir", "stagedir"):
                name = str(case.get(key) or "")
                if name and not _FOLDER.fullmatch(name):
                    raise BadBundleError(
                        f"{REPORT}: {key} {name!r:.100} is not a folder of a bundle"
                    )


def claimed(folder: Path) -> Any:
    """The verdicts that the bundle claims. Raises BadBundleError."""
    with reraised((json_file.Unreadable, ValueError), BadBundleError, f"{VERDICTS}: "):
        schemas.check(found := json_file.read(folder / VERDICTS, VERDICTS), SCHEMA)
        return found
