# SPDX-License-Identifier: BSD-3-Clause
"""`python -m reframe_tests.render`: job scripts for a machine where ReFrame cannot run.

ReFrame runs on the machine that writes them; where they run, they need bash, the batch system, MPI
and `iokernel`. What they leave is brought back and collected (reframe_tests/offline/collect.py).

They are those of a dry run, so the very ones that ReFrame would submit, but for two things: the
folder that they work in, and where the kernels are on that machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from iogauge.common.paths import ROOT, site_config
from reframe_tests.jobs import collected


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m reframe_tests.render", description=__doc__)
    parser.add_argument("--system", required=True, help="a file of site_configs/, without .py")
    parser.add_argument("--site", type=Path, metavar="FILE", help="another site file than that")
    parser.add_argument("--partition", default="", help="default: all of the system's")
    parser.add_argument("--output", type=Path, default=Path("scripts"), help="written here")
    parser.add_argument("--folder", help="where they will be on that machine (default: --output)")
    parser.add_argument("--iokernel", default="iokernel", help="its path on that machine")
    parser.add_argument("-S", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("-t", dest="tags", action="append", default=[], metavar="TAG")
    parser.add_argument("tests", nargs="+", metavar="TEST", help="as `reframe -n`")
    return parser.parse_args(words)


def site_file(asked: argparse.Namespace) -> Path:
    """Asked for, or that of the system's name."""
    return asked.site or site_config(asked.system)


def reframe_words(asked: argparse.Namespace) -> list[str]:
    """ReFrame and its options, but for what it is to do."""
    where = f"{asked.system}:{asked.partition}" if asked.partition else asked.system
    command = [str(Path(sys.executable).parent / "reframe"), "--system", where]
    command += ["-C", str(site_file(asked))]
    command += ["-c", str(ROOT / "reframe_tests"), "-R", "-S", f"kernel_path={asked.iokernel}"]
    command += [word for name in asked.tests for word in ("-n", name)]
    command += [word for tag in asked.tags for word in ("-t", tag)]
    return command + [word for setting in asked.settings for word in ("-S", setting)]


def dry_run(asked: argparse.Namespace, output: Path) -> subprocess.CompletedProcess[str]:
    command = [*reframe_words(asked), "--dry-run"]
    environment = {**os.environ, "IOGAUGE_OUTPUT": str(output)}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def write(asked: argparse.Namespace, scripts: list[Path]) -> None:
    """Each to its place, with the folder and the kernels of the machine that it is for."""
    for script in scripts:
        own = collected.place(script.parent)
        target = asked.output / own / collected.SCRIPT
        target.parent.mkdir(parents=True, exist_ok=True)
        there = f"{asked.folder or asked.output.absolute()}/{own}"
        text = script.read_text().replace(str(script.parent), there)
        # A relative name would have been looked for in the folder of the dry run.
        text = text.replace(str(ROOT / asked.iokernel), asked.iokernel)
        target.write_text(text)
        target.chmod(0o755)
        print(target)


def main(words: list[str]) -> int:
    asked = parse(words)
    if not site_file(asked).is_file():
        print(f"render: there is no {site_file(asked)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        done = dry_run(asked, Path(folder))
        scripts = sorted(Path(folder).glob("stage/*/*/*/*/*/rfm_job.sh"))
        if done.returncode or not scripts:
            sys.stderr.write(done.stdout + done.stderr)
            print("render: no test of that name can run there", file=sys.stderr)
            return 1
        write(asked, scripts)
    (asked.output / collected.ASKED).write_text(json.dumps(words, indent=1) + "\n")
    return 0
