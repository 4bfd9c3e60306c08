# SPDX-License-Identifier: BSD-3-Clause
"""Makes the recorded session of a test small: only what tests read, no place or person in it.

    python -m tests.cut_session OUTPUT FOLDER [--script TEST]

OUTPUT is what ReFrame left (output/), with one session; FOLDER becomes `results/` of a folder below
tests/data. Of each test its result document and byte ledger stay, on one line each; of the
job scripts only TEST's; of the report, what says something. The checkout is called /checkout, and
the user `user`. Run on what it has made, it changes nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from iogauge.common import user
from iogauge.common.files import write_whole
from iogauge.common.paths import ROOT
from iogauge.common.run_folder import DOCUMENT, JOB_SCRIPT, LEDGER

# Of a test in ReFrame's report: what no reader of ours has ever asked for.
UNREAD = frozenset((
    "build_locally", "build_time_limit", "dependencies_conceptual", "exclusive_access",
    "job_stderr", "job_stdout", "keep_files", "local", "max_pending_time", "modules",
    "num_cpus_per_task", "num_gpus_per_node", "num_tasks_per_core", "num_tasks_per_socket",
    "postbuild_cmds", "postrun_cmds", "prebuild_cmds", "prerun_cmds", "readonly_files",
    "sourcepath", "sourcesdir", "strict_check", "use_multithreading", "valid_prog_environs",
    "valid_systems",
))  # fmt: skip
EMPTY: tuple[Any, ...] = (None, "", [], {})


def without_places(text: str) -> str:
    """The same without this checkout's path and this user's name."""
    return text.replace(str(ROOT), "/checkout").replace(f'"{user.name()}"', '"user"')


def on_one_line(data: Any) -> str:
    return json.dumps(data, separators=(",", ":")) + "\n"


def cut_report(report: dict[str, Any]) -> dict[str, Any]:
    for run in report["runs"]:
        run["testcases"] = [
            {key: value for key, value in case.items() if key not in UNREAD and value not in EMPTY}
            for case in run["testcases"]
        ]
    return report


def cut(output: Path, folder: Path, script: str) -> list[Path]:
    """Write `folder` from `output`; returns what was written. Raises ValueError where a file is
    not JSON, OSError where one cannot be read."""
    written: dict[Path, str] = {}
    for path in sorted(output.glob("reports/*.json")):
        written[path] = on_one_line(cut_report(json.loads(without_places(path.read_text()))))
    for name in (DOCUMENT, LEDGER):
        for path in sorted(output.rglob(name)):
            written[path] = on_one_line(json.loads(without_places(path.read_text())))
    for path in sorted(output.rglob(f"{script}/{JOB_SCRIPT}")) if script else []:
        written[path] = without_places(path.read_text())
    for path, text in written.items():
        write_whole(folder / path.relative_to(output), text)
    return [folder / path.relative_to(output) for path in written]


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.cut_session", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("output", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--script", default="", metavar="TEST", help="keep this folder's job scripts"
    )
    asked = parser.parse_args(words)
    written = cut(asked.output, asked.folder, asked.script)
    print(f"{len(written)} files, {sum(path.stat().st_size for path in written)} bytes")
    return 0 if written else 1


if __name__ == "__main__":
    sys.exit(main())
