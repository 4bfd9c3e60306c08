# SPDX-License-Identifier: BSD-3-Clause
"""`stack list`, `stack add`; `stack check`: every spack.yaml, by itself and by Spack if there."""

import argparse
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from iogauge.analysis.errors import EXIT_OK
from iogauge.common.paths import ENVIRONMENTS, ROOT, below
from iogauge.common.text import notice
from iogauge.measure import kernels, stacks
from reframe_tests.machine import spack

from . import formats, options

COLUMNS = ("stack", "installed", "libraries", "lacks")
add_list = formats.add_format


def run_list(args: argparse.Namespace) -> int:
    rows: list[dict[str, formats.Value]] = []
    for name in stacks.known():
        lacks = kernels.lacking(name)
        there, missing = stacks.libraries(name)
        rows.append(
            {
                "stack": name,
                "installed": not lacks,
                "libraries": " ".join(there),
                "lacks": lacks or " ".join(missing),
            }
        )
    formats.show(args, rows, COLUMNS)
    return EXIT_OK


def add_add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stacks", nargs="+")


def run_add(args: argparse.Namespace) -> int:
    stacks.install(args.stacks)
    notice("ready; iogauge stack list shows all")
    return EXIT_OK


SECTIONS = {"mirrors", "packages", "config", "concretizer", "repos", "definitions", "develop"}
SECTIONS |= {"compilers", "env_vars", "modules", "toolchains", "upstreams"}
KEYS = {"include", "specs", "view", *SECTIONS}
# Build tools, not linked into a measured program: any version that works.
UNPINNED = {"cmake", "ninja", "pkgconf"}
MADE = ROOT / ".local"  # generated on each machine, as the head of spack.yaml says
LINK_FARM = "environments/debian/link_farm.sh"
VERSION = re.compile(r"@=?([\w.\-]+)(?![\w.:])")


class Wrong(Exception):
    """A wrong file; the text names file, key and what would be right."""


def environments() -> list[Path]:
    return [ROOT, *sorted(file.parent for file in ENVIRONMENTS.rglob("spack.yaml"))]


def load(file: Path, known: set[str], top: str | None = None) -> dict[str, Any]:
    try:
        data = yaml.safe_load(file.read_text())
        found: dict[str, Any] = data[top] if top else data
        names = {str(key).rstrip(":") for key in found}
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        why = getattr(error, "strerror", "") or error or type(error).__name__
        raise Wrong(f"{file}: {why}") from None
    if not names <= known:
        wrong = ", ".join(sorted(names - known))
        raise Wrong(f"{file}: unknown key {wrong}; use {', '.join(sorted(known))}")
    return found


def manifest(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """An environment's manifest, and the paths it includes; not optional paths, nor those that
    Spack computes or fetches."""
    found = load(folder / "spack.yaml", KEYS, "spack")
    entries = []
    for entry in found.get("include") or []:
        more = entry if isinstance(entry, dict) else {"path": str(entry)}
        path = str(more.get("path", ""))
        is_needed = not more.get("optional") and "when" not in more
        if path and not re.search(r"\$|://", path) and (is_needed or (folder / path).exists()):
            entries.append(path)
    return found, entries


def specs_of(entry: Any) -> Iterator[str]:
    """The specs in a list, a matrix or a requirement."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        parts = (entry.get(key) for key in ("spec", "matrix", "one_of", "any_of"))
        yield from (spec for part in parts for spec in specs_of(part))
    elif isinstance(entry, list):
        yield from (spec for part in entry for spec in specs_of(part))


def is_not_made(path: Path) -> bool:
    return path.is_relative_to(MADE) and not path.exists()


def included(folder: Path, entry: str) -> Iterator[dict[str, Any]]:
    """The sections of an `include` entry: a file, or a folder with a file for each section."""
    if Path(entry).is_absolute():
        raise Wrong(f"{folder / 'spack.yaml'}: include {entry} is a path of one machine")
    path = (folder / entry).resolve()
    if is_not_made(path):
        return
    if not path.exists():
        raise Wrong(f"{folder / 'spack.yaml'}: include {entry} does not exist")
    for file in sorted(path.glob("*.yaml")) if path.is_dir() else [path]:
        yield load(file, SECTIONS)


def merged(folder: Path) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """An environment's packages (the first include wins, as with Spack), definitions, specs."""
    found, entries = manifest(folder)
    packages: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    more = (sections for entry in entries for sections in included(folder, entry))
    for sections in chain([found], more):
        for name, settings in (sections.get("packages") or {}).items():
            # A key that ends with a colon replaces what comes after, instead of adding to it.
            own = {key.rstrip(":"): value for key, value in (settings or {}).items()}
            packages[name] = {**own, **packages.get(name, {})}
        for definition in sections.get("definitions") or []:
            for name in set(definition) - {"when"}:  # lists of one name add up
                definitions.setdefault(name, []).extend(specs_of(definition[name]))
    return packages, definitions, list(specs_of(found.get("specs")))


def problems(folder: Path) -> Iterator[str]:
    file = folder / "spack.yaml"
    try:
        packages, definitions, listed = merged(folder)
        made_here = any(".local" in entry for entry in manifest(folder)[1])
    except Wrong as wrong:
        yield str(wrong)
        return
    specs: list[str] = []
    for spec in listed:
        name = re.sub(r"^\$[%^]?", "", spec)
        if name != spec and name not in definitions:
            yield f"{file}: {spec} is not defined; use one of {', '.join(definitions)}"
        specs += [spec] if name == spec else definitions.get(name, [])
    mpi = next(specs_of(packages.get("mpi", {}).get("require")), "")
    if not mpi:
        yield f"{file}: no `mpi: require:` says which MPI this stack has"
    names = {re.split(r"[@+~%^ ]", mpi if spec == "mpi" else spec)[0] for spec in specs}
    for name in sorted(names - {""}):
        settings = packages.get(name, {})
        given = [
            *specs_of(settings.get("require")),
            *(s for s in [mpi, *specs] if s.startswith(name)),
        ]
        if name not in UNPINNED and not made_here and not any(map(VERSION.search, given)):
            yield f"{file}: {name} has no version; pin it in environments/shared/packages.yaml"
        yield from unsatisfied(file, name, settings)


def unsatisfied(file: Path, name: str, settings: dict[str, Any]) -> Iterator[str]:
    """Externals of another version than required, which Spack can never choose."""
    wanted = VERSION.findall(" ".join(specs_of(settings.get("require"))))
    for external in settings.get("externals", []):
        has = VERSION.search(external["spec"])
        if not has:
            yield f"{file}: external {external['spec']} of {name} has no version"
        elif wanted and has[1] not in wanted:
            right = " or ".join(f"@{version}" for version in wanted)
            yield f"{file}: external {external['spec']} is not the required {right}"


def not_made(folder: Path) -> str | None:
    """Why Spack cannot be asked about an environment yet, with the command to run, or None."""
    for entry in manifest(folder)[1]:
        path = (folder / entry).resolve()
        if is_not_made(path):
            maker = "make spack-mirror" if "spack-mirror" in path.parts else LINK_FARM
            return f"{entry} does not exist yet; run: {maker}"
    return None


def by_spack(program: str, folder: Path, *, concretize: bool) -> str | None:
    """Spack's own complaint, or None."""
    last = ("spec",) if concretize else ("config", "get", "packages")
    try:
        spack.run(program, "-e", str(folder), *last, time_limit=1800)
    except spack.CannotUse as why:
        what = "does not concretize" if concretize else "is not what Spack's schema allows"
        again = f"{spack.command(folder)} {' '.join(last)}"
        return f"{folder / 'spack.yaml'} {what}: {why}; run: {again}"
    return None


def add_check(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folders", nargs="*", type=options.in_path)
    add("--concretize", action="store_true")


def run_check(args: argparse.Namespace) -> int:
    folders = [folder.resolve() for folder in args.folders] or environments()
    found = [problem for folder in folders for problem in problems(folder)]
    try:
        program = spack.program()
    except spack.CannotUse as why:
        notice(f"skipped: {why}")
        folders = []
    for folder in folders:
        name = below(ROOT, folder)
        try:
            reason = not_made(folder)
        except Wrong:
            continue  # already reported
        problem = None if reason else by_spack(program, folder, concretize=args.concretize)
        print(f"{name}: {f'skipped: {reason}' if reason else (problem and 'wrong') or 'ok'}")
        found += [problem] if problem else []
    for problem in found:
        notice(f"iogauge: {problem}")
    return 1 if found else 0
