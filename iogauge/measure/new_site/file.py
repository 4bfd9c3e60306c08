# SPDX-License-Identifier: BSD-3-Clause
"""A first site file, by looking at this machine: `iogauge site new dawn`.

What it finds is written with how it was found; what it cannot know is marked `CHECK`.
"""

from __future__ import annotations

import json
import os
import re
import socket

from iogauge.measure.new_site import mounts, schedulers
from iogauge.measure.new_site.machine import Machine, find_modules
from iogauge.measure.new_site.schedulers import Partition
from reframe_tests.machine.memory import memory

COMPILERS = ("mpicc.openmpi", "mpicc.mpich", "mpicc", "cc")
PARTITION = """\
    {{
        "name": "{name}",
        **BATCH,
        "access": {access},{check}
        "processor": {{"num_cpus": {cores}}},{of_cores}
        "extras": {{
            "nodes": {nodes}, "memory": {memory},{max_time}{of_nodes}
            "filesystems": FILESYSTEMS,
        }},
    }},
"""
TEMPLATE = '''"""{name}: written by `iogauge site new` on {host}; lines with CHECK are guesses."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from site_configs.support import common

FILESYSTEMS = {{
{filesystems}
}}

{why}
BATCH = {{
    "scheduler": "{scheduler}",
    "launcher": "{launcher}",
    "environs": ["default"],
    "features": {features},
}}

# `memory`: MiB of a node.
PARTITIONS = [
{partitions}]

site_configuration = common.site(
    [common.system("{name}", [r"{hostnames}"], PARTITIONS, "{name}")],
    # CHECK: add "hdf5" and "pnetcdf" (and "romio", where MPI-IO is ROMIO) for libraries that the
    # compiler finds, modules=[...] that must be loaded, launcher=[...], options of the launcher:
    # with srun often "--mpi=pmix" or "--mpi=pmi2" (srun --mpi=list).
{remarks}    [
        common.stack(
            "default",
            "{compiler}",
            "{library}",
            ["peak"],
            command="{command}",
{loads}        )
    ],
)
'''


def compiler(machine: Machine) -> tuple[str, str, str]:
    """MPI's compiler, its library's name, its launcher. `cc` is MPI's where Cray's wrapper is."""
    here = [name for name in COMPILERS[:3] if machine.which(name)]
    found = "cc" if machine.variable("CRAYPE_VERSION") else (here or ["mpicc"])[0]
    path = os.path.realpath(machine.which(found) or "")
    is_mpich = found == "cc" or "mpich" in found or "mpich" in path
    suffix = found.partition(".")[2]
    library = ("libmpich.so.12" if suffix else "libmpi.so.12") if is_mpich else "libmpi.so.40"
    return found, library, f"mpiexec.{suffix}" if suffix else "mpiexec"


def partition(found: Partition, back_end: str) -> str:
    """As the site file has it. What the batch system did not say is this machine's."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", found.name)
    access = [found.access] if found.access else []
    more = {"job_type": "parallel"} if back_end == "loadleveler.j2" else {}
    text = PARTITION.format(
        name=name,
        access=json.dumps(access),
        check="" if access else "  # CHECK: what your jobs must say, such as an account",
        cores=found.cores or os.cpu_count() or 1,
        of_cores="" if found.cores else "  # CHECK: of this machine; compute nodes may differ",
        nodes=found.nodes or 1,
        memory=found.memory or memory(),
        max_time=f' "max_time": {found.max_time},' if found.max_time else "",
        of_nodes="" if found.nodes and found.memory else "  # CHECK, as for the cores",
    )
    for key, value in more.items():
        text = text.replace('"extras": {', f'"extras": {{\n            "{key}": "{value}",')
    return text


def comment(lines: list[str], indent: str = "") -> str:
    return "".join(f"{indent}# {line}\n" for line in lines)


def site_file(name: str, machine: Machine) -> str:
    batch = schedulers.find(machine)
    software = find_modules(machine)
    lines = mounts.entries(machine, bool(batch.partitions))
    cc, library, command = compiler(machine)
    host = socket.gethostname().split(".")[0]
    parts = batch.partitions or [Partition("batch", "")]
    indent = " " * 12
    loads = f"{indent}modules={json.dumps(software.loaded)},\n" if software.loaded else ""
    if software.init:
        loads += f"{indent}modules_init={json.dumps(software.init)},\n"
    return TEMPLATE.format(
        name=name,
        host=host,
        hostnames=re.sub(r"\d+", r"\\d+", re.escape(host)),
        filesystems="\n".join(f"    {line}" for line in lines),
        why=comment([f"Found: {batch.why}.", *batch.silent]).rstrip(),
        scheduler=batch.back_end,
        launcher=batch.launcher,
        features='["striping"]' if any('"count"' in line for line in lines) else "[]",
        partitions="".join(partition(part, batch.back_end) for part in parts),
        remarks=comment(software.remarks, "    "),
        compiler=cc,
        library=library,
        command=command,
        loads=loads,
    )
