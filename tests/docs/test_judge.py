# SPDX-License-Identifier: BSD-3-Clause
"""tests/docs/script_judge.py refuses what a batch system would, and knows what a machine has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reframe_tests.machine.placement import Shape
from tests.docs import script_judge as judge
from tests.docs.script_judge import Refused, Request

GOLDEN = Path(__file__).parents[1] / "golden"
NODES = Shape(cores=4, nodes=8, memory=1024, max_time=3600)
BLUE_GENE = Shape(cores=4, nodes=256, per_node=(1, 2, 4), blocks=(64, 128, 256))


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("slurm", "--ntasks=10", "--ntasks=20"),
        ("slurm", "#SBATCH --mem=0\n", ""),
        ("slurm", "#SBATCH --exclusive\n#SBATCH --mem=0\n", ""),
        ("slurm", "#SBATCH --nodes", "#SBATCH --cpus-per-task=2\n#SBATCH --nodes"),
        ("pbs", "#PBS -S /bin/bash\n", ""),
        ("torque", "#PBS -S /bin/bash\n", "#PBS -S /bin/tcsh\n"),
        ("pbs", "place=scatter:excl", "place=free"),
        ("pbs", ":mem=1024mb", ""),
        ("pbs", "mpiprocs=2", "mpiprocs=1"),
        ("torque", "ppn=2", "ppn=3"),
        ("cobalt", "--mode script", "--mode c4"),
        ("cobalt", "#COBALT -o", "\n#COBALT -o"),
        ("cobalt", ' --block "$COBALT_PARTNAME"', ""),
        ("loadleveler", "# @ queue\n", ""),
        ("loadleveler", "# @ shell = /bin/bash\n", ""),
        ("loadleveler-bluegene", "job_type = bluegene", "job_type = serial"),
    ],
)
def test_what_a_batch_system_would_not_take(name: str, right: str, wrong: str) -> None:
    text = (GOLDEN / f"{name}.sh").read_text()
    read = judge.READERS[f"{name.partition('-')[0]}.j2"]
    assert read(text, NODES).processes == 10
    assert right in text
    with pytest.raises(Refused):
        read(text.replace(right, wrong), NODES)


def test_what_a_machine_does_not_have() -> None:
    right = Request(nodes=2, processes=8, per_node=4, seconds=600, memory=1024)
    assert list(judge.against_machine(right, NODES)) == []
    for wrong in ({"nodes": 9}, {"per_node": 5}, {"cpus": 2}, {"seconds": 3601}, {"memory": 1025}):
        assert list(judge.against_machine(replace(right, **wrong), NODES)), wrong
    right = Request(nodes=65, processes=260, per_node=4, seconds=600, block=128)
    assert list(judge.against_machine(right, BLUE_GENE)) == []
    for wrong in ({"block": 64}, {"block": 100}, {"block": 512}, {"per_node": 3}):
        assert list(judge.against_machine(replace(right, **wrong), BLUE_GENE)), wrong


def test_a_path_of_this_machine_and_a_queue_larger_than_a_node() -> None:
    text = (GOLDEN / "slurm.sh").read_text()
    assert list(judge.places(text)) == []
    group = 'mkdir "/sys/fs/cgroup/memory/iogauge.$$"\n'
    assert list(judge.places(text + group)) == ["/sys/fs/cgroup/memory/iogauge."]
    options = ("weather", "--queue-limit", "4096")
    launch = judge.Launch("mpiexec -n 2", Path("iokernel"), options)
    request = Request(nodes=2, processes=4, per_node=2, seconds=60)
    assert judge.memory(launch, {"buffer_per_process": 1000}, request) == 5096


def test_a_line_that_the_kernels_refuse_is_named(tmp_path: Path) -> None:
    """Read with its hints in place; one of each line is planned."""
    text = (GOLDEN / "slurm.sh").read_text()
    (launch,) = judge.launches(text)
    assert launch.program == Path("/opt/iokernel")
    assert "${hints[@]}" not in launch.options
    planned = judge.without_unplanned(("s3d", "--json", "a b", "--repeat", "3", "--steps", "2"))
    assert planned == ("s3d", "--steps", "2")
