# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps of S3D: weak and strong scaling over nodes and processes of a node, and striping."""

from collections.abc import Mapping
from typing import Any

import reframe.core.runtime as rt
from reframe.core.builtins import run_after

from reframe_tests.benchmarks.peak import cores_of
from reframe_tests.benchmarks.s3d import S3d
from reframe_tests.framework import labels
from reframe_tests.framework.variants import axis, benchmark
from reframe_tests.machine import calls, filesystems

# One call of each library: a sweep of all of them would be thousands of jobs.
CALLS = calls.names(
    without=[
        *("null", "posix-shared", "master", "mpiio:nonblocking", "mpiio:ordered"),
        *("mpiio:independent", "hdf5:independent", "pnetcdf:independent", "pnetcdf:nonblocking"),
        *calls.SERVED,
    ]
)

PARTITIONS = rt.runtime().system.partitions


def sizes(most: int) -> list[int]:
    """1, 2, 4, 16, 64 ... up to `most`: each test of a sweep is made, even for a list of names. The
    step from one node to two is the first one over the network."""
    return [n for n in (1, 2, *(4**n for n in range(1, most.bit_length()))) if n <= most]


class Scaling(S3d):
    """Nodes and processes of a node are `sizes` up to what the largest partition has. Others with
    S3d itself: `-n S3d -t node -P S3d.nodes=3,9 -S S3d.num_tasks_per_node=8`."""

    apart = "scaling"
    call = axis(CALLS)
    on_nodes = axis(sizes(max(part.extras.get("nodes", 1) for part in PARTITIONS)), type=int)
    on_each = axis(sizes(max(map(cores_of, PARTITIONS))), type=int)

    @run_after("init")
    def set_size(self) -> None:
        self.nodes = self.on_nodes
        self.num_tasks_per_node = self.on_each


@benchmark
class WeakScaling(Scaling):
    """The same data for each process: S3D's own way."""

    descr = "S3D, weak scaling"
    scale = axis(["node"])


@benchmark
class StrongScaling(Scaling):
    """The same data in all."""

    descr = "S3D, strong scaling"
    scale = axis(["laptop"])


def with_stripes(fs: str) -> list[str]:
    """Partitions (full names) with the feature `striping` where this file system's can be set."""
    return [
        part.fullname
        for part in PARTITIONS
        if "striping" in part.features
        and (filesystems.of(part).get(fs, {}).get("striping") or {}).get("count")
    ]


@benchmark
class StripeSweep(S3d):
    """Stripe count and size; -1 is over all targets."""

    descr = "S3D, striping"
    apart = "stripes"
    call = axis(CALLS)
    scale = axis(["node"])
    count = axis([1, 4, 16, 64, -1], type=int)
    size = axis(["1M", "4M", "16M"])

    has_label = True

    def label_in_use(self, used: dict[str, Any]) -> tuple[list[str], list[str]]:
        return labels.stripes_in_use(used.get("striping"), self.count, self.size)

    @run_after("init")
    def set_stripes(self) -> None:
        self.stripe_count = self.count
        self.stripe_size = self.size

    @classmethod
    def makes_sense(cls, given: Mapping[str, Any]) -> bool:
        return bool(with_stripes(given["fs"]))

    @run_after("init")
    def set_systems(self) -> None:
        super().set_systems()
        self.valid_systems = with_stripes(self.fs)
