# SPDX-License-Identifier: BSD-3-Clause
"""`stack check`: every spack.yaml, without Spack as far as that goes, and with it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from iogauge.common.paths import ENVIRONMENTS, ROOT
from reframe_tests.machine import spack

from . import options

KEYS = {"include", "specs", "view", "packages", "develop", "definitions", "repos"}
SECTIONS = {"mirrors", "packages", "config", "concretizer", "repos", "definitions", "develop"}
# What builds, and is not in a measured program: any version that works.
UNPINNED = {"cmake", "ninja", "pkgconf"}
MADE = ROOT / ".local"  # files there are made on each machine, by what the spack.yaml's head names
LINK_FARM = "environments/debian/link_farm.sh"
VERSION = re.compile(r"@=?([\w.\-]+)(?![\w.:])")


class Wrong(Exception):
    """A file that cannot be right; the text names file, key and what would be right."""


def environments() -> list[Path]:
    """Folders with a spack.yaml: the top one, and all below environments/."""
    return [ROOT, *sorted(file.parent for file in ENVIRONMENTS.rglob("spack.yaml"))]


def load(file: Path, known: set[str], top: str | None = None) -> dict[str, Any]:
    """A YAML file's mapping (below the key `top`), with known keys only."""
    try:
        data = yaml.safe_load(file.read_text())
        found: dict[str, Any] = data[top] if top else data
        names = {str(key).rstrip(":") for key in found}
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise Wrong(f"{file}: {error or type(error).__name__}") from None
    if not names <= known:
        wrong = ", ".join(sorted(names - known))
        raise Wrong(f"{file}: unknown key {wrong}; right are {', '.join(sorted(known))}")
    return found


def included(folder: Path, entry: Any) -> Iterator[dict[str, Any]]:
    """The sections of an `include` entry: a file, or a folder with a file for each section."""
    path = Path(str(entry))
    if path.is_absolute():
        raise Wrong(f"{folder / 'spack.yaml'}: include {entry} is a path of one machine")
    path = (folder / path).resolve()
    if path.is_relative_to(MADE) and not path.exists():
        return
    if not path.exists():
        raise Wrong(f"{folder / 'spack.yaml'}: include {entry} does not exist")
    for file in sorted(path.glob("*.yaml")) if path.is_dir() else [path]:
        yield load(file, SECTIONS)


def merged(folder: Path) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """An environment's packages (the first include wins, as with Spack), definitions, specs."""
    manifest = load(folder / "spack.yaml", KEYS, "spack")
    packages: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for entry in manifest.get("include", []):
        for sections in included(folder, entry):
            for name, settings in sections.get("packages", {}).items():
                # A key that ends with a colon replaces what comes after, instead of adding to it.
                own = {key.rstrip(":"): value for key, value in settings.items()}
                packages[name] = {**own, **packages.get(name, {})}
            for definition in sections.get("definitions", []):
                for name, listed in definition.items():  # lists of one name add up
                    definitions.setdefault(name, []).extend(listed)
    return packages, definitions, manifest.get("specs", [])


def problems(folder: Path) -> Iterator[str]:
    """What is wrong with an environment, by its files alone."""
    try:
        packages, definitions, listed = merged(folder)
    except Wrong as wrong:
        yield str(wrong)
        return
    file = folder / "spack.yaml"
    specs: list[str] = []
    for spec in listed:
        name = spec.lstrip("$")
        if spec.startswith("$") and name not in definitions:
            yield f"{file}: {spec} is not defined; right is one of {', '.join(definitions)}"
        specs += definitions.get(name, []) if spec.startswith("$") else [spec]
    mpi = packages.get("mpi", {}).get("require", "")
    if not mpi:
        yield f"{file}: no `mpi: require:` says which MPI this stack has"
    made_here = any(".local" in str(e) for e in load(file, KEYS, "spack").get("include", []))
    names = {re.split(r"[@+~ ]", mpi if spec == "mpi" else spec)[0] for spec in specs}
    for name in sorted(names - {""}):
        require = str(packages.get(name, {}).get("require", ""))
        pinned = VERSION.search(require) or any(
            VERSION.search(s) for s in specs if s.startswith(name)
        )
        if name not in UNPINNED and not pinned and not made_here:
            yield f"{file}: {name} has no version; pin it in environments/shared/packages.yaml"
        yield from unsatisfied(file, name, packages.get(name, {}))


def unsatisfied(file: Path, name: str, settings: dict[str, Any]) -> Iterator[str]:
    """An external of another version than the one required can never be chosen."""
    wanted = VERSION.search(str(settings.get("require", "")))
    for external in settings.get("externals", []):
        has = VERSION.search(external["spec"])
        if not has:
            yield f"{file}: external {external['spec']} of {name} has no version"
        elif wanted and has[1] != wanted[1]:
            yield f"{file}: external {external['spec']} is not the required @{wanted[1]}"


def not_made(folder: Path) -> str | None:
    """Why Spack cannot be asked about an environment yet, with the command to run, or None."""
    manifest = load(folder / "spack.yaml", KEYS, "spack")
    for entry in map(str, manifest.get("include", [])):
        path = (folder / entry).resolve()
        if path.is_relative_to(MADE) and not path.exists():
            maker = "make spack-mirror" if "spack-mirror" in path.parts else LINK_FARM
            return f"{entry} is not there; run: {maker}"
    return None


def by_spack(program: str, folder: Path, *, concretize: bool) -> str | None:
    """What Spack itself says is wrong, or None."""
    last = ("spec",) if concretize else ("config", "get", "packages")
    try:
        spack.run(program, "-e", str(folder), *last, time_limit=1800)
    except spack.CannotUse as why:
        what = "does not concretize" if concretize else "is not what Spack's schema allows"
        again = f"{spack.command(folder)} {' '.join(last)}"
        return f"{folder / 'spack.yaml'} {what}: {why}; run: {again}"
    return None


def ask_spack(program: str, folders: list[Path], *, concretize: bool) -> list[str]:
    """Prints a line for each environment; returns what is wrong."""
    found = []
    for folder in folders:
        name = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
        try:
            reason = not_made(folder)
        except Wrong:
            continue  # has been said
        if reason:
            print(f"{name}: skipped: {reason}", flush=True)
            continue
        problem = by_spack(program, folder, concretize=concretize)
        print(f"{name}: {'wrong' if problem else 'right'}", flush=True)
        found += [problem] if problem else []
    return found


EXAMPLES = """\
examples:
  iogauge stack check
  iogauge stack check --concretize environments/mpich

Without Spack: the YAML, the keys used, the included files, and that each library has one version.
With `spack` on PATH also Spack's own schema, and with --concretize that there is a solution (half a
minute each; nothing is written). Exit status: 1 where something is wrong.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", nargs="*", type=options.in_path, metavar="FOLDER",
                        help="with a spack.yaml (default: all)")  # fmt: skip
    parser.add_argument("--concretize", action="store_true", help="is there a solution?")


def run(args: argparse.Namespace) -> int:
    folders = [folder.resolve() for folder in args.folders] or environments()
    found = [problem for folder in folders for problem in problems(folder)]
    try:
        program = spack.program()
    except spack.CannotUse as why:
        options.say(f"skipped: {why}")
    else:
        found += ask_spack(program, folders, concretize=args.concretize)
    for problem in found:
        options.say(f"iogauge: {problem}")
    return 1 if found else 0
