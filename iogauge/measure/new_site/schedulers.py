# SPDX-License-Identifier: BSD-3-Clause
"""The batch system that answers, and its partitions (queues, classes). Commands on PATH prove
nothing: a login image may have Slurm's without a controller."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from .machine import Machine

NOT_UP = re.compile("offline|down|unknown|stale")  # states of PBS's nodes
UNITS = {"kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40, "": 1, "b": 1}


@dataclass(frozen=True)
class Partition:
    """A partition, with its batch system's name. 0: unknown. `cores`, `memory` (MiB): of the
    smallest node. `access`: options that a job needs. `max_time`: in seconds. `notes`: what to
    check."""

    name: str
    access: str
    nodes: int = 0
    cores: int = 0
    memory: int = 0
    max_time: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class System:
    """`commands`: all must exist. `ask`: a query that it must answer; `partitions` parses the
    answer. `also`: a second query, whose answer has `says`."""

    back_end: str
    launcher: str
    commands: tuple[str, ...]
    ask: tuple[str, ...]
    partitions: Callable[[Machine, str], list[Partition]]
    also: tuple[str, ...] = ()
    says: str = ""


@dataclass(frozen=True)
class Found:
    """`why`: how it was found. `remarks`: what was not taken, and why not."""

    back_end: str
    launcher: str
    why: str
    partitions: list[Partition]
    remarks: list[str]


def find(machine: Machine) -> Found:
    """The first batch system that answers, else this machine alone."""
    remarks: list[str] = []
    for system in SYSTEMS:
        if not all(machine.which(command) for command in system.commands):
            continue
        answer = machine.ask(*system.ask)
        if answer.trouble:
            told = f"{system.ask[0]} is there, but does not answer: {answer.trouble}"
            remarks += [] if told in remarks else [told]
            continue
        also = machine.ask(*system.also) if system.also else answer
        if not also.trouble and system.says in also.text:
            why = f"`{' '.join(system.ask)}` answers"
            parts = system.partitions(machine, answer.text)
            if system.ask is SINFO and any(part.nodes for part in parts):  # else all may be asleep
                empty = [part.name for part in parts if not part.nodes]
                remarks += [f"partition {name} has no nodes: left out" for name in empty]
                parts = [part for part in parts if part.nodes]
            return Found(system.back_end, system.launcher, why, parts, remarks)
    why = "no batch system answers" if remarks else "no batch system's commands are on the PATH"
    return Found("local.j2", "stack", why, [], remarks)


def _number(text: str) -> int:
    """`24`, or `24+` if nodes differ: the minimum."""
    found = re.match(r"\d+", text.strip())
    return int(found[0]) if found else 0


def slurm(_: Machine, text: str) -> list[Partition]:
    """`sinfo`, a line per kind of node: name, state, nodes, sockets, cores, MiB, time limit."""
    found: dict[str, Partition] = {}
    for line in text.splitlines():
        name, available, *numbers, limit = line.split("|")
        if available != "up" or len(numbers) != 4:
            continue
        nodes, sockets, cores, memory = map(_number, numbers)
        access = f"--partition={name}"
        old = found.get(name, Partition(name, access))
        found[name] = Partition(
            name,
            access,
            nodes + old.nodes,
            _least(sockets * cores, old.cores),
            _least(memory, old.memory),
            in_seconds(limit),
        )
    return list(found.values())


def in_seconds(text: str) -> int:
    """`1-12:00:00`, `24:00:00`, `30:00`, and of Slurm `30`, which is minutes; 0 for `infinite`."""
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text.strip())
    if not match:
        return 0
    days, *parts = match.groups()
    given = [int(part) for part in parts if part is not None]
    units = [3600, 60, 1] if days is not None or len(given) == 3 else [60, 1]
    return int(days or 0) * 86400 + sum(a * b for a, b in zip(given, units, strict=False))


def _least(*numbers: int) -> int:
    """The minimum of the known values."""
    return min((number for number in numbers if number), default=0)


def blocks(text: str) -> list[tuple[str, dict[str, str]]]:
    """`qstat -Q -f`, `pbsnodes -a`: a name on a separate line, then `key = value`, indented."""
    found: list[tuple[str, dict[str, str]]] = []
    for line in text.splitlines():
        key, equals, value = line.partition(" = ")
        if equals and found:
            found[-1][1][key.strip()] = value.strip()
        elif line.strip() and not line[0].isspace():
            found.append((line.removeprefix("Queue:").strip(), {}))
    return found


def in_mib(text: str) -> int:
    """`64gb`, `131841612kb`."""
    match = re.fullmatch(r"(\d+)(\w*)", text.strip().lower())
    return int(match[1]) * UNITS.get(match[2], 0) // 2**20 if match else 0


def _status(text: str, key: str) -> str:
    """Torque packs what a node measured of itself into one line: `status = a=1,b=2`."""
    found = re.search(rf"(?:^|,){key}=([^,]*)", text)
    return found[1] if found else ""


def pbs(machine: Machine, text: str) -> list[Partition]:
    """Queues that take jobs from users. Nodes belong to no queue, so each gets the smallest node of
    those that are up."""
    entries = [keys for _, keys in blocks(machine.ask("pbsnodes", "-a").text) if "state" in keys]
    nodes = [node for node in entries if not NOT_UP.search(node["state"])]
    cores = [
        _number(node.get("resources_available.ncpus") or node.get("np") or "") for node in nodes
    ]
    memory = [
        in_mib(node.get("resources_available.mem") or _status(node.get("status", ""), "physmem"))
        for node in nodes
    ]
    is_mixed = len({*zip(cores, memory, strict=True)}) > 1
    differ = ["the nodes differ, and these are the smallest one's figures"] if is_mixed else []
    found = []
    for name, keys in blocks(text):
        is_up = keys.get("enabled") == "True" == keys.get("started")
        if not is_up or keys.get("from_route_only") == "True":
            continue
        lists = [key for key in ("acl_user_enable", "acl_group_enable") if keys.get(key) == "True"]
        closed = [f"{', '.join(lists)}: may you use this queue?"] if lists else []
        least = (len(nodes), _least(*cores), _least(*memory))
        max_time = in_seconds(keys.get("resources_max.walltime", ""))
        found.append(Partition(name, f"-q {name}", *least, max_time, (*closed, *differ)))
    return found


def _below_rule(text: str, rule: str) -> list[list[str]]:
    """The words of the lines between the first and a second line of `rule`, or the end."""
    parts = re.split(f"^{rule}.*$", text, flags=re.MULTILINE)
    lines = parts[1].splitlines() if len(parts) > 1 else []
    return [line.split() for line in lines if line.strip()]


def cobalt(_: Machine, text: str) -> list[Partition]:
    """`cqstat -Q`: a table whose last columns have the queue's state."""
    return [
        Partition(words[0], f"-q {words[0]}")
        for words in _below_rule(text, "===")
        if "running" in words[1:]
    ]


def loadleveler(_: Machine, text: str) -> list[Partition]:
    """`llclass`: name, two time limits, free and most slots, description."""
    return [Partition(words[0], f"class = {words[0]}") for words in _below_rule(text, "---")]


SINFO = ("sinfo", "-h", "-o", "%R|%a|%D|%X|%Y|%m|%l")
QUEUES = ("qstat", "-Q", "-f")
# Systems with unique commands first. `sacct` answers only with accounting.
SYSTEMS = (
    System("loadleveler.j2", "poe", ("llsubmit",), ("llclass",), loadleveler),
    System("cobalt.j2", "runjob", ("qsub", "cqstat"), ("cqstat", "-Q"), cobalt),
    System("slurm.j2", "srun", ("sbatch", "sacct"), SINFO, slurm, ("sacct", "-n", "-X")),
    System("squeue.j2", "srun", ("sbatch",), SINFO, slurm),
    System("pbs.j2", "stack", ("qsub",), QUEUES, pbs, ("qstat", "--version"), "pbs_version"),
    System("torque.j2", "stack", ("qsub",), QUEUES, pbs),
)
