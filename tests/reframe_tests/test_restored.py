# SPDX-License-Identifier: BSD-3-Clause
"""What ReFrame keeps of each case, for `--restore-session`, is read again by ReFrame's decoder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reframe_session import LOCAL, ROOT, reframe

DECODE = """\
import json, sys
from reframe.core import config, runtime
from reframe.utility import jsonext
site = config.load_config(sys.argv[1])
site.select_subconfig("local")
runtime.init_runtime(site)
with open(sys.argv[2]) as file:
    case = jsonext.load(file)
assert isinstance(case.tags, set)
print(json.dumps([type(case).__qualname__, sorted(case.tags), case.extra_resources, case.env_vars]))
"""


@pytest.mark.slow
def test_a_case_is_read_again(tmp_path: Path) -> None:
    session = reframe(
        tmp_path, "--system", "local", "--dry-run", "-t", "smoke", "-p", "openmpi",
        "-n", "S3d.*fs=ram.*call=posix%", "-S", "env_vars=A:1,B:2", tests="s3d.py",
    )  # fmt: skip
    assert session.status == 0, session.text
    (kept,) = tmp_path.rglob("S3d*/.rfm_testcase.json")
    words = [sys.executable, "-c", DECODE, str(LOCAL), str(kept)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    name, tags, resources, variables = json.loads(done.stdout)
    assert name == "S3d" and {"smoke", "ram"} <= set(tags)
    assert variables == {"A": "1", "B": "2"} and resources == {}
