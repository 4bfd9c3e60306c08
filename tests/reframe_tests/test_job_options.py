# SPDX-License-Identifier: BSD-3-Clause
"""`-J`: options of the command line for the batch system."""

from __future__ import annotations

import pytest

from tests.reframe_tests.test_templates import on


@pytest.mark.parametrize(
    ("scheduler", "asked", "lines"),
    [
        ("loadleveler", ["--class=long", "# @ group = g"], ["# @ class=long", "# @ group = g"]),
        ("loadleveler", ["--network.MPI=sn_all,,us"], ["# @ network.MPI=sn_all,,us"]),
        ("pbs", ["--model=ivy", "--ib=", "-q long"],
         ["#PBS -l select=1:ncpus=4:mpiprocs=4:model=ivy:ib", "#PBS -q long"]),
        ("torque", ["--ib=", "#PBS -l x"], ["#PBS -l nodes=1:ppn=4:ib", "#PBS -l x"]),
        ("slurm", ["--constraint=knl", "-p long"], ["#SBATCH --constraint=knl", "#SBATCH -p long"]),
        ("cobalt", ["--attrs=x=1", "-q long"], ["#COBALT --attrs=x=1", "#COBALT -q long"]),
    ],
)  # fmt: skip
def test_options_of_the_command_line_are_the_schedulers(
    scheduler: str, asked: list[str], lines: list[str]
) -> None:
    """`-J class=long` is `--class=long` once ReFrame has read it."""
    text = on(scheduler, options=asked)
    assert all(f"\n{line}\n" in text for line in lines)
