# SPDX-License-Identifier: BSD-3-Clause
"""A first site file, from what this machine shows; what cannot be known is marked `CHECK`."""

import os
import re
import socket
from dataclasses import replace
from pathlib import Path

from iogauge.common.paths import ROOT, is_checkout
from reframe_tests.jobs.render import environment
from reframe_tests.machine.memory import memory
from reframe_tests.machine.spack import MPI

from . import mounts
from .machine import Machine, find_modules
from .schedulers import Found, Partition

COMPILERS = ("mpicc.openmpi", "mpicc.mpich", "mpicc")
TEMPLATE = Path(__file__).with_name("site.py.j2")


def compiler(machine: Machine) -> tuple[str, str, str]:
    """MPI's compiler, launcher, and library's name, "" if the compiler does not tell. With Cray's
    wrapper, `cc` is MPI's compiler."""
    here = [name for name in COMPILERS if machine.which(name)]
    is_cray = bool(machine.variable("CRAYPE_VERSION"))
    found = "cc" if is_cray else (here or ["mpicc"])[0]
    suffix = found.partition(".")[2]
    shown = machine.ask(found, "--cray-print-opts=libs" if is_cray else "-show").text
    linked = re.search(rf"-l({MPI})(?![\w+])", shown)
    is_openmpi = "Open MPI" in machine.ask(found, "--showme:version").text
    library = f"lib{linked[1]}.so.{40 if is_openmpi else 12}" if linked else ""
    return found, f"mpiexec.{suffix}" if suffix else "mpiexec", library


def launcher_options(machine: Machine, launcher: str, library: str) -> list[str]:
    """`--mpi` for srun, if Slurm's own setting would start each process alone."""
    settings = machine.ask("scontrol", "show", "config").text if launcher == "srun" else ""
    if not re.search(r"^MpiDefault\s*= none$", settings, re.MULTILINE):
        return []
    offered = machine.ask("sh", "-c", "srun --mpi=list 2>&1").text.split()
    wanted = ("pmi2", "pmix") if library.endswith(".12") else ("pmix", "pmi2")
    return [f"--mpi={name}" for name in wanted if name in offered][:1]


def names(parts: list[Partition]) -> list[str]:
    """The partitions' names, as ReFrame takes them: different, and none begins with a digit."""
    found: list[str] = []
    for part in parts:
        name = re.sub(r"^(?![A-Za-z_])", "_", re.sub(r"[^A-Za-z0-9_-]", "_", part.name))
        while name in found:
            name += "_"
        found.append(name)
    return found


def site_file(name: str, machine: Machine, batch: Found, path: Path) -> str:
    """The site file, to be written to `path`. What the batch system does not report of a partition
    is taken from here."""
    cc, command, library = compiler(machine)
    host = socket.gethostname().split(".")[0]
    parts = batch.partitions or [Partition("batch", "")]
    template = environment().from_string(TEMPLATE.read_text())
    return template.render(
        name=name,
        host=host,
        hostnames=re.sub(r"\d+", r"\\d+", re.escape(host)),
        file_systems=mounts.entries(machine, bool(batch.partitions)),
        batch=batch,
        partitions=[replace(p, name=n) for p, n in zip(parts, names(parts), strict=True)],
        cores=os.cpu_count() or 1,
        memory=memory(),
        software=find_modules(machine),
        in_checkout=is_checkout(),
        beside=path.resolve().parent.parent == ROOT,
        root=str(ROOT),
        compiler=cc,
        library=library,
        command=command,
        options=launcher_options(machine, batch.launcher, library),
    )
