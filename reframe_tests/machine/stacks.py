# SPDX-License-Identifier: BSD-3-Clause
"""Stacks: an environ's `features` and `extras`, and whether the machine really has it."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from iogauge.common.files import pairs
from reframe_tests.machine import spack
from reframe_tests.machine.calls import CALLS

# Tests, by hash, and the only stacks that each may run on: "1f2e3d4c=openmpi,mpich", or a file.
ONLY = "IOGAUGE_ONLY_STACKS"


def chosen(hashcode: str) -> list[str]:
    """The stacks that the variable ONLY names for a test; none if it does not mention it."""
    names = pairs(os.environ.get(ONLY, "")).get(hashcode)
    return names.split(",") if names else []


def only(stacks: Mapping[str, Sequence[str]]) -> str:
    """That variable's value for these tests."""
    return " ".join(f"{test}={','.join(names)}" for test, names in stacks.items())


def extras(environ: Any) -> dict[str, Any]:
    site: dict[str, Any] = environ.extras
    found = spack_environment(environ)
    if not isinstance(found, spack.Environment):
        return site
    return {**found.extras(site.get("launcher_options", [])), **site}


def spack_environment(environ: Any) -> spack.Environment | spack.CannotUse | None:
    """The environment named by `extras['spack_env']`, or why it is unusable; None without."""
    variant = environ.extras.get("spack_env")
    return spack.find(variant) if variant else None


def inside(environ: Any) -> list[str]:
    """The words before a command to run it inside (`extras['inside']`), or none."""
    return list(environ.extras.get("inside", []))


def packages(environ: Any) -> dict[str, str]:
    """Each package's version, if known: Spack's, with the hash, or `extras['versions']`."""
    environment = spack_environment(environ)
    if isinstance(environment, spack.Environment):
        return environment.provenance
    file = environ.extras.get("versions")
    if not file or not Path(file).is_file():
        return {}
    lines = (line.split() for line in Path(file).read_text().splitlines())
    return {words[0]: words[1] for words in lines if len(words) == 2}


def missing(environ: Any, features: Sequence[str]) -> str | None:
    """What `environ` lacks here for `features`, as a reason to skip, or None."""
    environment = spack_environment(environ)
    if isinstance(environment, spack.CannotUse):
        return f"stack {environ.name}: {environment}"
    needs = environ.extras.get("needs", {})
    lacking = [
        f"{need['what']} is missing ({need['from']})"
        for feature in features
        for need in needs.get(feature, [])
        if not _is_there(need["what"])
    ]
    if environment:
        absent = environment.lacking(features)
        lacking += [f"Spack environment {environment.variant} {what}" for what in absent]
    return f"stack {environ.name}: {', '.join(lacking)}" if lacking else None


def _is_there(what: str) -> bool:
    path = Path(what)
    return path.exists() if path.is_absolute() else shutil.which(what) is not None


def promised(environ: Any, modes: bool = False) -> list[str]:
    """The methods that `environ` has a library for and whose needs this machine meets; `modes`:
    the modes with their own feature, as METHOD-MODE (`cgns-multi`)."""
    named = {f"{call.method}-{call.mode}" if modes else call.method for call in CALLS}
    return [name for name in environ.features if name in named and not missing(environ, [name])]


def too_many(environ: Any, processes: int) -> str | None:
    """Why the stack does not run that many processes (`extras['max_processes']`), or None."""
    limit = environ.extras.get("max_processes")
    if limit is None or processes <= limit["count"]:
        return None
    return (
        f"{processes} processes asked for, stack {environ.name} runs at most "
        f"{limit['count']} here: {limit['why']}"
    )


def program_given(environ: Any) -> str | None:
    """An existing `iokernel`: `extras['iokernel']`, a path, or a bare name for the one that the
    stack has installed (in its Spack environment, else on PATH)."""
    given: str | None = environ.extras.get("iokernel")
    if not given or os.sep in given:
        return given
    found = spack_environment(environ)
    if isinstance(found, spack.Environment) and (prefix := found.prefix("iokernel")):
        return str(prefix / "bin" / given)
    return shutil.which(given) or given
