# SPDX-License-Identifier: BSD-3-Clause
"""Job scripts for a machine where ReFrame cannot run, from a dry run; and collecting their results:
ReFrame runs the same tests again, with a back end that takes each job's files from the folder."""

import json
import os
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from iogauge.analysis.errors import AnalysisError, UsageError
from iogauge.analysis.session.loader import why_not
from iogauge.common import json_file
from iogauge.common.files import permit, write_whole
from iogauge.common.paths import ROOT, output
from reframe_tests.jobs import collected
from reframe_tests.machine.filesystems import CHOICE
from site_configs.support import common

from . import sites
from .session import REFRAME, cases_of
from .sites import Asked

# Settings that name stacks: a path in them names programs and modules that would run.
STACKS = ("IOGAUGE_STACKS", "IOGAUGE_SPACK")
# Options of ReFrame that `collect` takes from a folder, with and without a value.
VALUED = ("-C", "-c", "--system", "-n", "-x", "-t", "-p", "-S", "-J")
PLAIN = ("-R", "-v", "--exec-policy=serial")


class NothingRenderedError(AnalysisError):
    """No test can run there; the text says why."""

    exit_code = 1


def render(asked: Asked, target: Path, there: str, iokernel: str) -> tuple[list[Path], str]:
    """Write the scripts below `target`. Returns them, and what was skipped. `there`, `iokernel`:
    their folder and the program on the target machine. Raises NothingRenderedError."""
    options = [*asked.options(), "-S", f"kernel_path={iokernel}"]
    settings = {name: os.environ.get(name, "") for name in sorted(_settings(asked.site))}
    record = {"options": options, "settings": settings}
    record_file, text = target / collected.ASKED, json.dumps(record, indent=1) + "\n"
    if record_file.exists() and record_file.read_text(errors="replace") != text:
        right = "name another folder with --output, or remove this one"
        raise UsageError(f"{record_file}: belongs to scripts of other options; {right}")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "IOGAUGE_OUTPUT": folder, collected.THERE: there}
        done = subprocess.run(
            [REFRAME, *options, "--dry-run"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        reports = map(json_file.read, Path(folder).glob("reports/*.json"))
        cases = [case for report in reports for case in cases_of(report)]
        reasons = [why_not(case) for case in cases if case["result"] == "skip"]
        left_out, written = skipped(reasons, len(cases)), []
        scripts = sorted(Path(folder).glob("stage/*/*/*/*/*/rfm_job.sh"))
        if done.returncode or not scripts or len(reasons) == len(cases) > 0:
            output = done.stdout.splitlines()
            lines = [line for line in output if "ERROR" in line or "error:" in line]
            why = lines[-1] if lines else left_out or "nothing was selected"
            raise NothingRenderedError(f"no such test can run there: {why}")
        for script in scripts:
            path = target / collected.place(script.parent) / collected.SCRIPT
            # A relative name would be relative to the dry run's folder.
            write_whole(path, script.read_text().replace(str(ROOT / iokernel), iokernel))
            permit(path, 0o777)
            written.append(path)
    write_whole(record_file, text)
    return written, left_out


def skipped(reasons: list[str], selected: int) -> str:
    """Each reason once, with its number of tests."""
    lines = [f"\n  {number}: {reason}" for reason, number in Counter(reasons).most_common()]
    return f"{len(reasons)} of {selected} tests are skipped:{''.join(lines)}" if reasons else ""


def _settings(site: Path) -> set[str]:
    """The variables that a site file, or the choice of its file systems, reads."""
    sites.partitions(site)
    return {*common.settings_read, CHOICE}


def _harmless(folder: Path, words: list[str], site: Path | None) -> list[str]:
    """The options of a folder that may come from others. Tests and site files are executed, so
    tests must be ours, and the site one of `site list` or `site`. Raises UsageError."""
    trusted = [*sites.files(), *([site.absolute()] if site else [])]
    known = {"-C": set(map(str, trusted)), "-c": {str(ROOT / "reframe_tests")}}
    at = iter(words)
    for word in at:
        value = next(at, "") if word in VALUED else ""
        if word not in (*VALUED, *PLAIN) or value not in known.get(word, {value}):
            raise UsageError(
                f"{folder / collected.ASKED}: {word} {value}: not taken from a folder; "
                "give a site file that you trust as --site FILE, or remove the option"
            )
    return words


def collect(folder: Path, site: Path | None = None) -> int:
    try:
        record = json_file.read(folder / collected.ASKED)
        options, given = record["options"], dict(record.get("settings", {}))
    except (json_file.Unreadable, KeyError, TypeError, ValueError) as error:
        what = "expected a folder of `iogauge run --dry-run`"
        raise UsageError(f"{folder}: {what}: {error}") from None
    words = _harmless(folder, list(map(str, options)), site)
    names = _settings(Path(words[words.index("-C") + 1])) if "-C" in words else set()
    settings = {name: str(given[name]) for name in names & set(given)}
    for name in STACKS:
        value = settings.get(name, "")
        if value != os.environ.get(name, "") and not re.fullmatch(r"[\w -]*", value):
            why = "not taken from a folder; if you trust it, set this variable"
            raise UsageError(f"{folder / collected.ASKED}: {name}={value}: {why}")
    command = [REFRAME, *words, "-r", "--exec-policy=serial"]
    environment = {**os.environ, **settings, collected.VARIABLE: str(folder.absolute())}
    environment["IOGAUGE_OUTPUT"] = str(output())
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
