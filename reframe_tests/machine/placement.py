# SPDX-License-Identifier: BSD-3-Clause
"""How many processes run on how many nodes. Needs no ReFrame."""

from collections.abc import Sequence
from dataclasses import dataclass


class CannotPlace(Exception):
    """The request contradicts itself or does not fit; the text says why."""


@dataclass(frozen=True)
class Shape:
    """What a partition offers; 0 and empty: unknown. `cores`: of a node. `memory`: MiB of a node
    for jobs. `per_node`: the allowed numbers of processes on a node (Blue Gene: powers of two).
    `blocks`: the allowed numbers of nodes of a job. `max_time`: of a job, in seconds."""

    cores: int = 1
    nodes: int = 0
    memory: int = 0
    per_node: tuple[int, ...] = ()
    blocks: tuple[int, ...] = ()
    max_time: int = 0


@dataclass(frozen=True)
class Placement:
    """`nodes` run processes; `block` nodes are allocated (more if only blocks are available)."""

    processes: int
    per_node: int
    nodes: int
    block: int


def shape_of(partition: object) -> Shape:
    """The shape of a ReFrame partition: `processor.num_cpus` and `extras`."""
    extras = partition.extras  # type: ignore[attr-defined]
    return Shape(
        cores=partition.processor.num_cpus or 1,  # type: ignore[attr-defined]
        nodes=extras.get("nodes", 0),
        memory=extras.get("memory", 0),
        per_node=tuple(extras.get("per_node", ())),
        blocks=tuple(extras.get("blocks", ())),
        max_time=extras.get("max_time", 0),
    )


def place(processes: int, per_node: int, nodes: int, shape: Shape) -> Placement:
    """Place processes as requested, 0 for open; with only `nodes`, every core of them gets a
    process."""
    if not processes:
        processes = max(nodes, 1) * (per_node or shape.cores)
    if not per_node:
        per_node = -(-processes // nodes) if nodes else min(processes, shape.cores)
        per_node = smallest(shape.per_node, per_node, "processes per node")
    elif shape.per_node and per_node not in shape.per_node:
        allowed = ", ".join(map(str, shape.per_node))
        raise CannotPlace(
            f"{per_node} processes per node asked for; this partition takes {allowed}"
        )
    needed = -(-processes // per_node)
    if nodes and needed != nodes:
        raise CannotPlace(
            f"{processes} processes at {per_node} per node need {needed} nodes, not {nodes}"
        )
    if shape.nodes and needed > shape.nodes:
        raise CannotPlace(
            f"{processes} processes at {per_node} per node need {needed} nodes, "
            f"the partition has {shape.nodes}"
        )
    return Placement(processes, per_node, needed, smallest(shape.blocks, needed, "nodes"))


def smallest(allowed: Sequence[int], wanted: int, what: str) -> int:
    """The smallest allowed number that is at least `wanted`."""
    if not allowed:
        return wanted
    if fitting := [number for number in allowed if number >= wanted]:
        return min(fitting)
    raise CannotPlace(f"{wanted} {what} asked for; this partition gives at most {max(allowed)}")


def memory_shortage(
    bytes_per_process: int, placement: Placement, shape: Shape, *, files: int = 0
) -> str | None:
    """Why a node's memory is too small, or None. `files`: bytes of a process's share of files that
    live in memory."""
    if not shape.memory:
        return None
    has = shape.memory * 2**20 // placement.per_node
    needs = bytes_per_process + files
    if needs <= has:
        return None
    fit = most_per_node(needs, shape)
    right = f"-S num_tasks_per_node={fit}" if fit else "a smaller scale or more processes"
    if shape.nodes == 1:  # the other processes would have nowhere to go
        right = "a smaller scale"
    of_files = f" ({files / 2**20:.0f} of them for files in memory)" if files else ""
    return (
        f"{needs / 2**20:.0f} MiB of memory per process needed{of_files}, "
        f"{has / 2**20:.0f} MiB are there (extras.memory: {shape.memory} MiB "
        f"for {placement.per_node} processes per node); what fits: {right}"
    )


def most_per_node(bytes_per_process: int, shape: Shape) -> int:
    """How many processes a node has memory for, among the allowed numbers."""
    fit = shape.memory * 2**20 // max(bytes_per_process, 1)
    return max((n for n in shape.per_node if n <= fit), default=0) if shape.per_node else fit
