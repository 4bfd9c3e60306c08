# SPDX-License-Identifier: BSD-3-Clause
"""A stack of a certificate: its kernels, built; what they can do; its settings and versions."""

from __future__ import annotations

import fcntl
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iogauge.common.libraries import libraries
from iogauge.common.paths import KERNELS, builds
from iogauge.measure import kernels
from iogauge.measure.certify import settings
from iogauge.measure.certify.settings import Setting
from site_configs.support import chosen

COUNTS = (1, 2, 3, 4, 6, 8, 12, 16)


class NotHere(Exception):
    """A stack that this machine does not have; the message names what brings it."""


@dataclass(frozen=True)
class Call:
    """A pattern by a method in a mode. `words`: what a method that stands in front of another is
    told. `through_mpi_io`: the settings of MPI-IO are its own."""

    pattern: str
    method: str
    mode: str
    words: tuple[str, ...] = ()
    through_mpi_io: bool = True
    one_process: bool = False
    own_files: bool = False  # a file of each process

    @property
    def served(self) -> bool:
        return bool(self.words)


@dataclass(frozen=True)
class Stack:
    name: str
    program: str
    launch: tuple[str, ...]
    variables: Mapping[str, str]
    calls: Sequence[Call]
    settings: Sequence[Setting]
    is_ompio: bool
    counts: Sequence[int]
    limit: str  # why there are no more processes
    versions: Mapping[str, str] = field(default_factory=dict)


def calls(listing: dict[str, Any]) -> list[Call]:
    """What the kernels can, from their list; not what moves no data."""
    methods = {method["name"]: method for method in listing["methods"]}
    alone = {mode["name"] for mode in listing["modes"] if mode["one_process"]}
    able = [(pair["pattern"], methods[pair["method"]]) for pair in listing["cross"] if pair["ok"]]
    found = []
    for pattern, method in able:
        if method["moves_nothing"]:
            continue
        if "inner" in method["options"]:
            found += [
                Call(pattern, method["name"], inner["name"], ("--inner", inner["name"]),
                     bool(inner["modes"]), False, inner["file_per_process"])
                for of, inner in able
                if of == pattern and inner["writes_alone"] and not inner["moves_nothing"]
            ]  # fmt: skip
            continue
        for mode in method["modes"] or [""]:
            on_one = mode in alone
            found.append(
                Call(pattern, method["name"], mode, (), bool(mode) and not on_one, on_one,
                     method["file_per_process"])
            )  # fmt: skip
    return found


def _run(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=600,
            env=kernels.run_environment(),
        )  # fmt: skip
    except OSError as error:
        raise NotHere(f"{words[0]}: {error.strerror}") from None
    if done.returncode:
        raise NotHere(f"{' '.join(words)}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def _there(needs: Sequence[Mapping[str, str]]) -> str:
    """What is missing, with what brings it; empty where all is there."""
    for one in needs:
        what = one["what"]
        if "/" in what and not Path(what).exists():
            return f"{what} is missing; right is: {one['from']}"
    return ""


def _build(name: str, extras: Mapping[str, Any], features: Sequence[str]) -> Path:
    """The kernels with what of the stack's libraries is there; the program."""
    inside = list(extras.get("inside", []))
    words = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF", *extras["cmake"]["mpi"]]
    for library in libraries():
        there = library.name in features and not _there(extras["needs"].get(library.name, []))
        off = [f"-D{library.option}=OFF"]
        words += extras["cmake"].get(library.name, []) if there else off
    folder = builds() / f"certify-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _run([*inside, "cmake", "-S", str(KERNELS), "-B", str(folder), "-G", "Ninja", *words])
        _run([*inside, "cmake", "--build", str(folder), "--parallel", "2"])
    return folder / "iokernel"


def prepare(name: str, built: str = "") -> Stack:
    """The stack of this name (site_configs/support/chosen.py) with its kernels: built here, or from
    the folder `built`, where {stack} is its name. Raises NotHere."""
    environ = chosen.stack(name)
    extras = environ["extras"]
    needs = extras["needs"]
    if lacking := _there([*needs["build"], *needs["mpi"]]):
        raise NotHere(f"stack {name}: {lacking}")
    inside = list(extras.get("inside", []))
    own_name = environ["name"]
    if built:
        program = Path(built.format(stack=own_name)).absolute() / "iokernel"
    elif "iokernel" in extras:
        program = Path(extras["iokernel"])
    else:
        program = _build(own_name, extras, environ["features"])
    listing = json.loads(_run([*inside, str(program), "--list", "--json", "-"]))
    is_ompio = "romio" not in environ["features"]
    launcher = extras["launcher"]
    own = settings.romio()
    if is_ompio:
        beside = Path(launcher["command"]).with_name("ompi_info")
        words = [*inside, "ompi_info"] if inside or not beside.is_absolute() else [str(beside)]
        own = settings.of_openmpi(_run(words))
    most = extras["max_processes"]
    options = [word for option in launcher["options"] for word in option.split()]
    return Stack(
        environ["name"], str(program), (launcher["command"], *options),
        dict(environ.get("env_vars", [])), calls(listing), own, is_ompio,
        [n for n in COUNTS if n <= most["count"]], most["why"],
        {key: str(value) for key, value in listing["libraries"].items() if value},
    )  # fmt: skip
