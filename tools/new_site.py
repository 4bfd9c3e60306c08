# SPDX-License-Identifier: BSD-3-Clause
"""Writes a first site file by looking at this machine: `make site NAME=dawn`.

    python -m tools.new_site NAME [--output FILE]

What it finds is written with how it was found; what it cannot know is marked `CHECK`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from iogauge.mounts import mount_of
from iogauge.paths import ROOT
from reframe_tests.machine.memory import memory

# Found by its submit command; PBS's and Cobalt's have the same name, so a second one decides.
SCHEDULERS = (
    ("loadleveler.j2", ("llsubmit",), "poe"),
    ("cobalt.j2", ("qsub", "cqstat"), "runjob"),
    ("slurm.j2", ("sbatch", "sacct"), "srun"),
    ("squeue.j2", ("sbatch",), "srun"),
    ("pbs.j2", ("qsub", "pbsnodes", "pbs_snapshot"), "mpiexec"),
    ("torque.j2", ("qsub", "pbsnodes"), "mpiexec"),
    ("pbs.j2", ("qsub",), "mpiexec"),
)
# /proc/mounts' types of file systems worth measuring -> striping that a run can set
PARALLEL = {"lustre": "lustre", "gpfs": "gpfs", "pvfs2": "pvfs2", "beegfs": "", "ceph": "",
            "nfs": "", "nfs4": "", "fuse.glusterfs": "", "wekafs": ""}  # fmt: skip
COMPILERS = ("cc", "mpicc.openmpi", "mpicc.mpich", "mpicc")

TEMPLATE = '''"""{name}: written by `make site` on {host}; lines with CHECK are guesses."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from site_configs import common

batch = {{
    "name": "batch",
    "scheduler": "{scheduler}",  # {why}
    "launcher": "{launcher}",
    "environs": ["default"],
    # CHECK: what your jobs must say, for instance a queue: ["--partition=..."] or ["-q ..."].
    "access": [],
    "features": {features},
    "processor": {{"num_cpus": {cores}}},  # CHECK: of this machine; compute nodes may differ
    "extras": {{
        "nodes": 1,  # CHECK
        "memory": {memory},  # MiB; CHECK, as for the cores
        "filesystems": {{
{filesystems}
        }},
    }},
}}

site_configuration = common.site(
    [common.system("{name}", [r"{hostnames}"], [batch], "{name}")],
    # CHECK: add "hdf5" and "pnetcdf" (and "romio", where MPI-IO is ROMIO) for libraries that the
    # compiler finds, modules=[...] that must be loaded, launcher=[...], options of the launcher:
    # with srun often "--mpi=pmix" or "--mpi=pmi2" (srun --mpi=list).
    [common.stack("default", "{compiler}", "{library}", ["peak"], command="{command}")],
)
'''


def scheduler(which: Callable[[str], str | None]) -> tuple[str, str, str]:
    """Back end, launcher, and why."""
    for name, commands, launcher in SCHEDULERS:
        if all(which(command) for command in commands):
            return name, launcher, f"found: {', '.join(commands)}"
    return "local.j2", "stack", "no batch system's commands are on the PATH"


def filesystems(mounts: str, has_lfs: bool) -> list[str]:
    """Lines of entries: parallel and network file systems, else the folder for temporary files."""
    lines = []
    for line in mounts.splitlines():
        _, mount, kind = line.split()[:3]
        if kind not in PARALLEL:
            continue
        name = re.sub(r"\W+", "_", mount).strip("_") or "root"
        striping = PARALLEL[kind]
        more = f', striping={{"kind": "{striping}"}}' if striping == "gpfs" else ""
        if striping == "pvfs2" or (striping == "lustre" and has_lfs):
            more = f', striping={{"kind": "{striping}", "count": 4, "size": "1M"}}'
        # CHECK: a folder of yours there
        lines.append(f'"{name}": common.file_system("{mount}", kind="{kind}"{more}),  # CHECK')
    if not lines:
        kind = mount_of(Path("/tmp"), mounts)["type"]
        lines.append(f'"tmp": common.file_system("/tmp", kind="{kind}"),  # CHECK: nothing better')
    return lines


def compiler(which: Callable[[str], str | None]) -> tuple[str, str, str]:
    """MPI's compiler, its library's name, its launcher."""
    found = next((name for name in COMPILERS[1:] if which(name)), "mpicc")
    path = os.path.realpath(which(found) or "")
    is_mpich = "mpich" in found or "mpich" in path
    suffix = found.partition(".")[2]
    library = ("libmpich.so.12" if suffix else "libmpi.so.12") if is_mpich else "libmpi.so.40"
    return found, library, f"mpiexec.{suffix}" if suffix else "mpiexec"


def site_file(name: str) -> str:
    back_end, launcher, why = scheduler(shutil.which)
    lines = filesystems(Path("/proc/mounts").read_text(), bool(shutil.which("lfs")))
    cc, library, command = compiler(shutil.which)
    host = socket.gethostname().split(".")[0]
    return TEMPLATE.format(
        name=name,
        host=host,
        hostnames=re.sub(r"\d+", r"\\d+", re.escape(host)),
        scheduler=back_end,
        launcher=launcher if back_end != "pbs.j2" else "stack",
        why=why,
        features='["striping"]' if any('"count"' in line for line in lines) else "[]",
        cores=os.cpu_count() or 1,
        memory=memory(),
        filesystems="\n".join(f"            {line}" for line in lines),
        compiler=cc,
        library=library,
        command=command,
    )


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tools.new_site", description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args(words)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", asked.name):
        print(f"new_site: {asked.name!r}: right is a small letter, then a-z 0-9 _", file=sys.stderr)
        return 2
    path = asked.output or ROOT / "site_configs" / f"{asked.name}.py"
    if path.exists():
        print(f"new_site: {path} exists already", file=sys.stderr)
        return 1
    path.write_text(site_file(asked.name))
    print(f"{path}: look for CHECK; then\n")
    print(f"  .venv/bin/reframe -C {path} --system {asked.name} -c reframe_tests -R \\")
    print("      --dry-run -t smoke")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
