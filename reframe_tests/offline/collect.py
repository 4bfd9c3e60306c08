# SPDX-License-Identifier: BSD-3-Clause
"""`python -m reframe_tests.collect FOLDER`: what scripts of `reframe_tests.render` left becomes
a session like any other: verified, reported, and seen by `iogauge`.

FOLDER is that of the scripts, with what they left. ReFrame runs the same tests once more, with a
back end in place of the batch system that takes each job's files from there: so each test still
holds the result against its own parameters.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from iogauge.common import json_file
from iogauge.common.paths import ROOT
from reframe_tests.jobs import collected
from reframe_tests.offline.render_scripts import parse, reframe_words


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m reframe_tests.collect", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args(words).folder.absolute()
    try:
        asked = parse(json_file.read(folder / collected.ASKED))
    except (json_file.Unreadable, ValueError) as error:
        print(f"collect: {folder} is no folder of `render`: {error}", file=sys.stderr)
        return 2
    command = [*reframe_words(asked), "-r", "--exec-policy=serial"]
    environment = {**os.environ, collected.VARIABLE: str(folder)}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
