# SPDX-License-Identifier: BSD-3-Clause
"""Adding is one file and one line each, as docs/add-a-*.md say: a pattern, a method, a stack and a
site are added to a copy of the tree, and ReFrame lists, builds, runs and verifies them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from iogauge.measure.kernels import STRICT
from tests.reframe_session import ROOT, Session, reframe

ADDED = Path(__file__).parents[1] / "added"

# What a session needs of the tree.
FOLDERS = ("analysis", "docs", "environments", "iogauge", "kernels", "references", "reframe_tests",
           "site_configs", "templates")  # fmt: skip

BENCHMARK = """\
# SPDX-License-Identifier: BSD-3-Clause
import reframe as rfm
from reframe.core.builtins import parameter

from reframe_tests.framework.base import IoBenchmark
from reframe_tests.machine import calls

SCALES = {"smoke": 77}


@rfm.simple_test
class Rows(IoBenchmark):
    descr = "a row of each process"
    pattern = "rows"
    call = parameter(calls.names(), type=str, loggable=True)
    scale = parameter(SCALES, type=str, loggable=True)

    def pattern_options(self):
        return [f"--length {SCALES[self.scale]}"]

    def payload_bytes(self):
        return 8 * SCALES[self.scale] * self.clients * self.dumps
"""

STACK = f"""\
# SPDX-License-Identifier: BSD-3-Clause
import os

from site_configs.support import common


def own():
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return common.stack(
        "own",
        "mpicc.openmpi",
        "libmpi.so.40",
        [],
        command="mpiexec.openmpi",
        launcher=["--oversubscribe", "--bind-to none", *as_root],
        cmake={{"mpi": ["-DCMAKE_C_COMPILER=mpicc.openmpi", {STRICT!r}]}},
    )
"""

# `environments=[own()]` is the stack's one line.
SITE = """\
# SPDX-License-Identifier: BSD-3-Clause
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from site_configs.support import common
from site_configs.own_stack import own

node = {
    "name": "node",
    "scheduler": "local.j2",
    "launcher": "stack",
    "environs": ["own"],
    "processor": {"num_cpus": 2},
    "extras": {
        "nodes": 1,
        "filesystems": {"here": common.file_system(common.OUTPUT / "data", create=True)},
    },
}
site_configuration = common.site(
    [common.system("there", [".*"], [node], "a machine that was added")],
    environments=[own()],
)
"""

FILES = {
    "kernels/patterns/rows.c": (ADDED / "rows.c").read_text(),
    "kernels/methods/plain.c": (ADDED / "plain.c").read_text(),
    "reframe_tests/benchmarks/rows.py": BENCHMARK,
    "site_configs/own_stack.py": STACK,
    "site_configs/there.py": SITE,
}
LINES = {
    "kernels/patterns/patterns.def": "IO_PATTERN(rows)\n",
    "kernels/methods/methods.def": 'IO_METHOD(plain, "plain", none, 0, SHARED)\n',
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("added") / "checkout"
    for folder in FOLDERS:
        shutil.copytree(
            ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", "build-*")
        )
    shutil.copy(ROOT / "VERSION", root)
    for name, text in FILES.items():
        assert not (root / name).exists(), f"{name} is an added file"
        (root / name).write_text(text)
    for name, line in LINES.items():
        with (root / name).open("a") as file:
            file.write(line)
    return root


def session(tree: Path, output: Path, *options: str, tests: str) -> Session:
    return reframe(
        output,
        *("--system", "there", *options),
        config=tree / "site_configs" / "there.py",
        root=tree,
        tests=tests,
    )


@pytest.mark.slow
def test_the_method_is_an_axis_of_every_benchmark(tree: Path, tmp_path: Path) -> None:
    listed = session(tree, tmp_path, "-l", "-n", "call=plain", tests="s3d.py ior.py").listed
    assert {name.split()[0] for name in listed} == {"S3d", "Ior"}


@pytest.mark.slow
def test_all_of_it_runs_verified(tree: Path, tmp_path: Path) -> None:
    """The new pattern by the new method and by an old one, and an old pattern by the new method:
    with the new stack on the new site's file system."""
    only = ("-t", "smoke", "-n", "(Rows|S3d).*call=(plain|posix-shared)", "-S", "repeats=2")
    found = session(tree, tmp_path, "-r", *only, tests="rows.py s3d.py")
    assert found.status == 0, found.text
    ran = [case for case in found.cases if case["result"] == "pass" and case.get("method")]
    assert {(case["pattern"], case["method"]) for case in ran} == {
        *(("rows", "plain"), ("rows", "posix-shared")),
        *(("s3d", "plain"), ("s3d", "posix-shared")),
    }
    assert {case["environ"] for case in ran} == {"own"}
    assert {case["fs"] for case in ran} == {"here"}
