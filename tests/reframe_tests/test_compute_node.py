# SPDX-License-Identifier: BSD-3-Clause
"""Compute nodes that see neither the login node's folders nor its network.

A job of the batch stand-in runs in separate mount and network namespaces. It shares with "the
login node" the results, the built kernels and the system, as nodes of a cluster do, and no more.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import batch_standin
from tests.reframe_session import ROOT, Session, reframe, untraced_kernel

SPACES = ("unshare", "--user", "--map-root-user", "--mount", "--net")
# Of the checkout: all that ReFrame reads. Kernels and results are below .local and the output.
ONLY_LOGIN = ("analysis", "iogauge", "kernels", "reframe_tests", "site_configs", "templates")


def problem() -> str:
    """Why there is no such node here, or nothing."""
    if not shutil.which("mpicc.mpich"):
        return "mpicc.mpich is missing: make setup"
    try:
        done = subprocess.run([*SPACES, "true"], capture_output=True, text=True, check=False)
    except OSError as error:
        return f"unshare: {error.strerror}"
    return done.stderr.strip()


pytestmark = pytest.mark.skipif(bool(problem()), reason=f"no namespaces: {problem()}")


def node(folder: Path, *makes: str) -> str:
    """A compute node: words in front of a command. `makes`: shell commands on it."""
    hide = [f"mount -t tmpfs tmpfs {shlex.quote(str(ROOT / name))}" for name in ONLY_LOGIN]
    words = " && ".join(["ip link set lo up", *hide, *makes, 'exec "$@"'])
    return shlex.join([*SPACES, "sh", "-c", words, "node"])


def site(folder: Path, scratch: Path) -> Path:
    """PBS with one file system; its type is not the one that this machine would show."""
    config = folder / "site.py"
    config.write_text(
        "import runpy\n"
        f"site_configuration = runpy.run_path({str(ROOT / 'tests' / 'standin_site.py')!r})[\n"
        "    'site_configuration'\n"
        "]\n"
        "from site_configs.support import common\n"
        "disk = common.file_system(\n"
        f"    {str(scratch)!r}, kind='xfs', mounted_as='tmpfs'\n"
        ")\n"
        "for system in site_configuration['systems']:\n"
        "    system['partitions'][0]['extras']['filesystems'] = {'disk': disk}\n"
    )
    return config


def run(folder: Path, scratch: Path, *makes: str) -> Session:
    batch_standin.install(folder / "standin", "pbs")
    path = f"{folder / 'standin' / 'bin'}:{os.environ['PATH']}"
    return reframe(
        folder,
        *("-r", "--system", "pbs", "-t", "smoke", "-n", "S3d.*call=mpiio:collective"),
        *("-S", f"kernel_path={untraced_kernel(folder)}"),
        config=site(folder, scratch),
        tests="s3d.py",
        environment={**os.environ, "PATH": path, "STANDIN_NODE": node(folder, *makes)},
    )


@pytest.mark.slow
def test_a_file_system_of_the_compute_nodes_alone_is_measured_there(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch" / "of the nodes"
    scratch.parent.mkdir()
    top, own = shlex.quote(str(scratch.parent)), shlex.quote(str(scratch))
    session = run(tmp_path, scratch, f"mount -t tmpfs tmpfs {top}", f"mkdir {own}")
    assert session.status == 0, session.text
    assert not scratch.exists()
    (case,) = session.cases
    document = json.loads((Path(case["outputdir"]) / "result.json").read_text())
    assert document["verification"]["verdict"] == "verified"
    assert document["system"]["filesystem"]["type"] == "tmpfs"


@pytest.mark.slow
def test_a_file_system_of_the_login_node_alone_is_named_with_the_node(tmp_path: Path) -> None:
    scratch = tmp_path / "login" / "scratch"
    scratch.mkdir(parents=True)
    top = shlex.quote(str(scratch.parent))
    session = run(tmp_path, scratch, f"mount -t tmpfs tmpfs {top}")
    assert session.status == 1
    (case,) = session.cases
    assert f"{scratch} is not a folder on " in case["fail_reason"]
