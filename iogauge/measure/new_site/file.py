# SPDX-License-Identifier: BSD-3-Clause
"""A first site file, from what this machine shows; what cannot be known is marked `CHECK`."""

import os
import re
import socket
from dataclasses import replace
from pathlib import Path

from iogauge.common.paths import is_checkout
from reframe_tests.jobs.render import environment
from reframe_tests.machine.memory import memory

from . import mounts
from .machine import Machine, find_modules
from .schedulers import Found, Partition

COMPILERS = ("mpicc.openmpi", "mpicc.mpich", "mpicc", "cc")
TEMPLATE = Path(__file__).with_name("site.py.j2")


def compiler(machine: Machine) -> tuple[str, str, str]:
    """MPI's compiler, library name and launcher. With Cray's wrapper, `cc` is MPI's compiler."""
    here = [name for name in COMPILERS[:3] if machine.which(name)]
    found = "cc" if machine.variable("CRAYPE_VERSION") else (here or ["mpicc"])[0]
    path = os.path.realpath(machine.which(found) or "")
    is_mpich = found == "cc" or "mpich" in found or "mpich" in path
    suffix = found.partition(".")[2]
    library = ("libmpich.so.12" if suffix else "libmpi.so.12") if is_mpich else "libmpi.so.40"
    return found, library, f"mpiexec.{suffix}" if suffix else "mpiexec"


def launcher_options(machine: Machine, launcher: str, library: str) -> list[str]:
    """Of srun, if Slurm's own setting would start each process alone."""
    settings = machine.ask("scontrol", "show", "config").text if launcher == "srun" else ""
    if not re.search(r"^MpiDefault\s*= none$", settings, re.MULTILINE):
        return []
    offered = machine.ask("sh", "-c", "srun --mpi=list 2>&1").text.split()
    wanted = ("pmix", "pmi2") if library == "libmpi.so.40" else ("pmi2", "pmix")
    return [f"--mpi={name}" for name in wanted if name in offered][:1]


def site_file(name: str, machine: Machine, batch: Found) -> str:
    """The site file. What the batch system does not report of a partition is taken from here."""
    cc, library, command = compiler(machine)
    host = socket.gethostname().split(".")[0]
    parts = batch.partitions or [Partition("batch", "")]
    template = environment().from_string(TEMPLATE.read_text())
    return template.render(
        name=name,
        host=host,
        hostnames=re.sub(r"\d+", r"\\d+", re.escape(host)),
        file_systems=mounts.entries(machine, bool(batch.partitions)),
        batch=batch,
        partitions=[replace(p, name=re.sub(r"[^A-Za-z0-9_-]", "_", p.name)) for p in parts],
        cores=os.cpu_count() or 1,
        memory=memory(),
        software=find_modules(machine),
        in_checkout=is_checkout(),
        compiler=cc,
        library=library,
        command=command,
        options=launcher_options(machine, batch.launcher, library),
    )
