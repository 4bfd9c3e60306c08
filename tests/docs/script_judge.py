# SPDX-License-Identifier: BSD-3-Clause
"""Would a job script start? Its request against a model of its machine, by the rules of its batch
system; its `iokernel` lines against `iokernel --plan`."""

from __future__ import annotations

import functools
import json
import re
import runpy
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from iogauge.measure import sites
from reframe_tests.jobs.launchers import BGP_MODES
from reframe_tests.machine.duration import MAX_TIME
from reframe_tests.machine.placement import Shape, shape_of

MIB = 2**20
NUMBER_OF = re.compile(r"(?:^| )(?:-n|-np|--np) (\d+)(?: |$)")


class Refused(Exception):
    """The batch system would not take the script; the text says why."""


@dataclass(frozen=True)
class Request:
    """`per_node`: processes on the fullest node, each with `cpus`; `memory`: MiB of a node, 0: not
    asked for."""

    nodes: int
    processes: int
    per_node: int
    seconds: int
    cpus: int = 1
    memory: int = 0
    block: int = 0


@dataclass(frozen=True)
class Launch:
    """One line that starts a program."""

    launcher: str
    program: Path
    options: tuple[str, ...]


# ---------------------------------------------------------------- reading a script


def launches(text: str) -> Iterator[Launch]:
    """Of `iokernel`, with its hints in place."""
    hints = re.search(r"^hints=\(\n(.*?)^\)$", text, re.MULTILINE | re.DOTALL)
    given = shlex.split(hints[1]) if hints else []
    for line in text.replace("\\\n", " ").splitlines():
        if not re.search(r"/iokernel ", line):
            continue
        words = shlex.split(line)
        at = next(i for i, word in enumerate(words) if Path(word).name == "iokernel")
        options = [o for w in words[at + 1 :] for o in (given if w == "${hints[@]}" else [w])]
        yield Launch(" ".join(words[:at]), Path(words[at]), tuple(options))


def _seconds(text: str) -> int:
    hours, minutes, seconds = map(int, text.split(":"))
    return 3600 * hours + 60 * minutes + seconds


def _directives(text: str, prefix: str) -> list[str]:
    return re.findall(rf"^{re.escape(prefix)} (.*)$", text, re.MULTILINE)


def _has_its_shell(text: str, asked: Sequence[str]) -> None:
    if list(asked) != [ours := text.splitlines()[0].removeprefix("#!")]:
        raise Refused(f"its shell is {list(asked)}: not {ours}, but the user's login shell")


def _started(text: str, least: int = 1) -> int:
    """By the launchers' own option."""
    counts = {int(n) for launch in launches(text) for n in NUMBER_OF.findall(launch.launcher)}
    if len(counts) != 1:
        raise Refused(f"its launchers start {sorted(counts)} processes")
    return counts.pop()


def slurm(text: str, _: Shape) -> Request:
    asked = dict(re.findall(r"^#SBATCH --([\w-]+)(?:=(.*))?$", text, re.MULTILINE))
    nodes, tasks, each = (int(asked[k]) for k in ("nodes", "ntasks", "ntasks-per-node"))
    if not (nodes - 1) * each < tasks <= nodes * each:
        raise Refused(f"--ntasks={tasks} is not on --nodes={nodes} at --ntasks-per-node={each}")
    if "exclusive" in asked and asked.get("mem") != "0":
        raise Refused("--exclusive without --mem=0: the default for a CPU, not the node's memory")
    memory = int(asked.get("mem", "0").removesuffix("M"))
    if "exclusive" not in asked and not memory:
        raise Refused("a shared node without --mem: the default for a CPU, not what it needs")
    cpus = int(asked.get("cpus-per-task", 1))
    if cpus > 1 and f"\nexport SRUN_CPUS_PER_TASK={cpus}\n" not in text:
        raise Refused("srun has one CPU for each process: it does not inherit --cpus-per-task")
    return Request(nodes, tasks, each, _seconds(asked["time"]), cpus, memory)


def pbs(text: str, shape: Shape) -> Request:
    """PBS Professional: chunks of `select`; without `scatter` two of them may share a node."""
    asked = dict(re.findall(r"^#PBS -l (\w+)=(.*)$", text, re.MULTILINE))
    _has_its_shell(text, _directives(text, "#PBS -S"))
    chunks = []
    for chunk in asked["select"].split("+"):
        count, *resources = chunk.split(":")
        has = dict(resource.split("=") for resource in resources)
        memory = int(has.get("mem", "0mb").removesuffix("mb"))
        chunks.append((int(count), int(has["ncpus"]), int(has["mpiprocs"]), memory))
    nodes = sum(count for count, *_ in chunks)
    place = asked.get("place", "")
    if nodes > 1 and not place.startswith("scatter"):
        raise Refused(f"place={place}: chunks may share a node")
    if shape.memory and not all(memory for *_, memory in chunks):
        raise Refused("a part of a node, or all of it, but not its memory")
    processes = sum(count * each for count, _, each, _ in chunks)
    if processes != _started(text):
        raise Refused(f"{processes} places for {_started(text)} processes")
    cpus, each = max((cpus, each) for _, cpus, each, _ in chunks)
    return Request(
        nodes, processes, each, _seconds(asked["walltime"]), -(-cpus // each),
        max(memory for *_, memory in chunks),
    )  # fmt: skip


def torque(text: str, _: Shape) -> Request:
    _has_its_shell(text, _directives(text, "#PBS -S"))
    asked = dict(re.findall(r"^#PBS -l (\w+)=(.*)$", text, re.MULTILINE))
    chunks = [tuple(map(int, re.findall(r"\d+", part)[:2])) for part in asked["nodes"].split("+")]
    places = sum(count * each for count, each in chunks)
    if places != _started(text):
        raise Refused(f"{places} places for {_started(text)} processes")
    most = max(each for _, each in chunks)
    return Request(sum(count for count, _ in chunks), places, most, _seconds(asked["walltime"]))


def cobalt(text: str, _: Shape) -> Request:
    """Cobalt stops reading at the first line that is no directive."""
    lines = text.splitlines()[1:]
    last = next(i for i, line in enumerate(lines) if not line.startswith("#COBALT"))
    if any(line.startswith("#COBALT") for line in lines[last:]):
        raise Refused("directives after the first other line")
    asked = dict(line.split(" ")[1:3] for line in lines[:last])
    if asked["--mode"] != "script":
        raise Refused(f"--mode {asked['--mode']}: a script with set-up needs --mode script")
    launched = {launch.launcher for launch in launches(text)}
    each = {int(n) for line in launched for n in re.findall(r"--ranks-per-node (\d+)", line)}
    if len(each) != 1 or not all("--block " in line for line in launched):
        raise Refused(f"runjob: {sorted(launched)}")
    processes, most = _started(text), each.pop()
    nodes = -(-processes // most)
    return Request(nodes, processes, most, 60 * int(asked["-t"]), block=int(asked["-n"]))


def loadleveler(text: str, _: Shape) -> Request:
    lines = _directives(text, "# @")
    if lines[-1] != "queue":
        raise Refused("no `# @ queue` at the end")
    asked = dict(line.split(" = ", 1) for line in lines[:-1])
    _has_its_shell(text, [asked.get("shell", "")])
    seconds = _seconds(asked["wall_clock_limit"])
    if asked["job_type"] == "parallel":
        nodes, processes = int(asked["node"]), int(asked["total_tasks"])
        return Request(nodes, processes, -(-processes // nodes), seconds)
    if asked["job_type"] != "bluegene":
        raise Refused(f"job_type = {asked['job_type']}")
    modes = {mode for one in launches(text) for mode in re.findall(r"-mode (\w+)", one.launcher)}
    each = next(n for n, mode in BGP_MODES.items() if {mode} == modes)
    processes = _started(text)
    return Request(-(-processes // each), processes, each, seconds, block=int(asked["bg_size"]))


READERS: dict[str, Callable[[str, Shape], Request]] = {
    "slurm.j2": slurm, "squeue.j2": slurm, "pbs.j2": pbs, "torque.j2": torque,
    "cobalt.j2": cobalt, "loadleveler.j2": loadleveler,
}  # fmt: skip


# ---------------------------------------------------------------- the machine, and the kernels


@functools.cache
def partitions(system: str) -> dict[str, tuple[str, Shape]]:
    """Scheduler and shape of each, from the site file."""
    site = runpy.run_path(str(sites.find(system)))["site_configuration"]
    found = next(one for one in site["systems"] if one["name"] == system)["partitions"]
    return {
        one["name"]: (
            one["scheduler"],
            shape_of(
                SimpleNamespace(extras=one["extras"], processor=SimpleNamespace(**one["processor"]))
            ),
        )
        for one in found
    }


def against_machine(asked: Request, shape: Shape) -> Iterator[str]:
    if shape.nodes and max(asked.nodes, asked.block) > shape.nodes:
        yield f"{max(asked.nodes, asked.block)} nodes, the partition has {shape.nodes}"
    if asked.per_node * asked.cpus > max([shape.cores, *shape.per_node]):
        yield f"{asked.per_node * asked.cpus} CPUs of a node, which has {shape.cores}"
    if shape.per_node and asked.per_node not in shape.per_node:
        yield f"{asked.per_node} processes on a node; expected one of {shape.per_node}"
    if shape.blocks and (asked.block not in shape.blocks or asked.block < asked.nodes):
        yield f"a block of {asked.block} for {asked.nodes} nodes; expected one of {shape.blocks}"
    if not 0 < asked.seconds <= (shape.max_time or MAX_TIME):
        yield f"{asked.seconds} s; expected at most {shape.max_time or MAX_TIME}"
    if shape.memory and asked.memory > shape.memory:
        yield f"{asked.memory} MiB of a node, which has {shape.memory}"


@functools.cache
def plan(kernel: Path, processes: int, options: tuple[str, ...]) -> Any:
    """The plan's document, or the kernels' message."""
    words = [*map(str, (kernel, *options)), "--plan", "--procs", str(processes), "--json", "-"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def memory(launch: Launch, plan_of: Any, asked: Request) -> int:
    """Bytes on the fullest node: each process holds its data, or a queue."""
    given = dict(zip(launch.options, launch.options[1:], strict=False))
    data, queue = plan_of["buffer_per_process"], int(given.get("--queue-limit", 0))
    queues = min(asked.per_node, -(-int(given.get("--io-processes", 1)) // asked.nodes))
    return int(max(asked.per_node * data, (asked.per_node - queues) * data + queues * queue))


# A script's lines name no other folders than the job's, the kernels', the file system's and these.
EVERYWHERE = ("/proc/", "/dev/null", "/bin/", "/etc/machine-id")
PLACE = re.compile(r"(?<![\w.$/}*])/[\w.-]+/[\w./-]*")


def places(text: str) -> Iterator[str]:
    """Absolute paths of the script's commands that a node may not have."""
    given = re.findall(r"^(?:cd -- |file_system=)(.*)$", text, re.MULTILINE)
    known = [word for text in given for word in shlex.split(text)]
    known += [*EVERYWHERE, *(str(launch.program.parent) for launch in launches(text))]
    commands = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    found = dict.fromkeys(PLACE.findall(commands))
    for place in found:  # the beginning of one with a blank in it is a place too
        if not any(place.startswith(one) or one.startswith(place) for one in known):
            yield place


# Options that change no plan, and the ones that have a value.
WITH_VALUE = {"--json", "--repeat", "--seed", "--ceiling-seconds"}
UNPLANNED = {"--fsync", "--ceilings", "--small", "--drop-caches", "--keep", *WITH_VALUE}


def without_unplanned(options: Sequence[str]) -> tuple[str, ...]:
    """So that lines with the same plan are the same."""
    before = ["", *options]
    pairs = zip(before, options, strict=False)
    return tuple(word for last, word in pairs if word not in UNPLANNED and last not in WITH_VALUE)


def problems(script: Path, system: str, kernel: Path) -> Iterator[str]:
    """What is wrong with the script of a site's partition."""
    text = script.read_text()
    scheduler, shape = partitions(system)[script.parts[-4]]
    try:
        asked = READERS[scheduler](text, shape)
    except (Refused, KeyError, ValueError, StopIteration) as problem:
        yield f"{scheduler}: {problem!r}"
        return
    yield from against_machine(asked, shape)
    for launch in launches(text):
        answer = plan(kernel, asked.processes, without_unplanned(launch.options))
        if isinstance(answer, str):
            yield answer
            continue
        needed, has = memory(launch, answer, asked), asked.memory or shape.memory
        if has and needed > has * MIB:
            yield f"{needed} bytes of buffers on a node, of which it asks for {has} MiB"
        if not {"--seed", "--keep", "--read-only"} & set(launch.options):
            yield "no --seed: another run's data would pass"
    yield from (f"{place} is of this machine" for place in places(text))


# ---------------------------------------------------------------- the shell


def one_of_each_line(scripts: Sequence[Path]) -> list[Path]:
    """Scripts that together have all lines of all, whatever their numbers and names."""
    seen: set[str] = set()
    chosen = []
    for script in scripts:
        text = re.sub(r"^#.*$", "", script.read_text(), flags=re.MULTILINE)
        lines = set(re.sub(r"[\w./%=:-]*[\d/][\w./%=:-]*", "0", text).splitlines())
        if not lines <= seen:
            chosen.append(script)
            seen |= lines
    return chosen
