# SPDX-License-Identifier: BSD-3-Clause
"""PyDarshan's summary and Drishti's advice on a log."""

import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from .log import Log

SUMMARY = "darshan_summary.html"
SECONDS = 50.0


@dataclass(frozen=True)
class Others:
    """`summary`: PyDarshan's page. `advice`: Drishti's output. `problems`: why one is missing."""

    summary: Path | None = None
    advice: str = ""
    problems: tuple[str, ...] = ()


def ask_others(known: Log, page: Path) -> Others:
    """Run both on the log; the summary is written as `page`."""
    log = known.path
    summary, problem = None, ""
    if any("<" in text for text in (known.command, known.recorder, *(f.path for f in known.files))):
        problem = f"{log}: PyDarshan's summary is left out: it takes '<' in a name for HTML"
    elif any(find_spec(name) is None for name in ("darshan", "pandas")):
        problem = f"PyDarshan's summary is left out: {sys.executable} -m pip install darshan"
    else:
        command = [sys.executable, "-m", "darshan", "summary", str(log.absolute()), "--output"]
        output, problem = _run("PyDarshan's summary", [*command, str(page.absolute())])
        summary = page if output is not None and page.exists() and page.stat().st_size else None
    drishti = Path(sys.executable).with_name("drishti")
    if not drishti.exists():
        return Others(summary, "", (problem,) if problem else ())
    advice, other = _run("Drishti's advice", [str(drishti), str(log.absolute())])
    return Others(summary, advice or "", tuple(filter(None, (problem, other))))


def _run(what: str, command: list[str]) -> tuple[str | None, str]:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return None, f"{what} is left out: it took longer than {SECONDS:g} s"
    if done.returncode:
        message = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return None, f"{what} is left out: {' '.join(command[:4])} failed: {message}"
    return done.stdout, ""
