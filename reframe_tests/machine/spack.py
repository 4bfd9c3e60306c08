# SPDX-License-Identifier: BSD-3-Clause
"""Stacks from Spack: the content of an environment of `environments/`, and the shell code that
activates it (docs/spack.md)."""

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iogauge.common import json_file
from iogauge.common.files import write_whole
from iogauge.common.paths import ENVIRONMENTS, ROOT, SPACK_STATE, below
from iogauge.common.tables import libraries

OLDEST = (0, 22)
TIME_LIMIT = 300  # seconds per call: Spack's first one on a cold file system reads a lot

# A feature that a library has from some version on: the feature, Spack's package, the version.
SINCE = (
    ("cgns-multi", "cgns", (4, 4)),
    ("cgns-multi", "hdf5", (1, 14)),
    ("hdf5-multi", "hdf5", (1, 14)),
    ("pnetcdf-aggregation", "parallel-netcdf", (1, 14)),
)

# MPIs whose MPI-IO is not ROMIO, or only if a run asks for it.
OWN_MPI_IO = {"openmpi"}

# The C library of any MPI, as after -l: Open MPI's libmpi.so.40, MPICH's libmpi.so.12, on Debian
# libmpich.so.12, Cray's libmpi_gnu_91.so.12; with the ABI of MPI 5.0, libmpi_abi.so.1.
MPI = r"mpi(?:ch)?(?:_(?!cxx|mpifh|usempi|java)[a-z]+(?:_\d+)?)?"
MPI_LIBRARY = re.compile(rf"lib{MPI}\.so\.\d+")


class CannotUse(Exception):
    """An unusable environment; the text says why, and what to run next."""


@dataclass(frozen=True)
class Package:
    """One installed package. `hash`: Spack's, all 32 characters."""

    name: str
    version: str
    hash: str
    prefix: Path

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version, up to its first word."""
        return tuple(map(int, re.findall(r"(?<![^.])\d+(?=\.|-|$)", self.version)))


@dataclass(frozen=True)
class Environment:
    """`packages`: by name; `mpi`: its MPI's name; `activation`: lines for a POSIX shell."""

    variant: str
    folder: Path
    packages: dict[str, Package]
    mpi: str
    activation: str

    @property
    def lock(self) -> Path:
        return self.folder / "spack.lock"

    @property
    def provenance(self) -> dict[str, str]:
        return {name: f"{p.version}/{p.hash[:7]}" for name, p in sorted(self.packages.items())}

    def prefix(self, name: str) -> Path | None:
        found = self.packages.get(name)
        return found.prefix if found else None

    def lacking(self, features: Sequence[str]) -> list[str]:
        """What it lacks for `features`, as reasons."""
        absent = [
            f"has no {one.package}"
            for one in libraries()
            if one.name in features and one.package not in self.packages
        ]
        return absent + [
            f"has {package} {self.packages[package].version}, and {feature} needs "
            f"{'.'.join(map(str, least))} or newer"
            for feature, package, least in SINCE
            if feature in features
            and package in self.packages
            and self.packages[package].numbers < least
        ]

    @property
    def mpi_library(self) -> Path:
        """The library that programs of this stack must load."""
        root = self.packages[self.mpi].prefix
        for folder in ("lib", "lib64"):
            for path in sorted((root / folder).glob("libmp*.so.*")):
                if MPI_LIBRARY.fullmatch(path.name):
                    return path
        lacks = f"has no libmpi.so.N under {root}, of {self.mpi}"
        raise _cannot(self.variant, lacks, f"install --overwrite {self.mpi}")

    def extras(self, options: list[str]) -> dict[str, Any]:
        """A stack's `extras`, from the packages found. `options`: the site's, for the launcher."""
        bin_folder = self.packages[self.mpi].prefix / "bin"
        found: dict[str, Any] = {
            "mpi_library": self.mpi_library.name,
            "launcher": {"command": str(bin_folder / "mpiexec"), "options": options},
            "cmake": {"mpi": [f"-DCMAKE_C_COMPILER={bin_folder / 'mpicc'}"]},
        }
        for library in libraries():
            if prefix := self.prefix(library.package):
                found["cmake"][library.name] = [f"-D{library.variable}={prefix}"]
        for key, package, path in (("ior", "ior", "bin/ior"), ("darshan", "darshan-runtime", "")):
            if prefix := self.prefix(package):
                found[key] = str(prefix / path)
        return found


def folder_of(variant: str) -> Path:
    """`default` is the top-level spack.yaml."""
    return ROOT if variant == "default" else ENVIRONMENTS / variant


def activation_file(variant: str) -> Path:
    """What jobs source."""
    return SPACK_STATE / f"{variant.replace('/', '-')}.sh"


def command(folder: Path) -> str:
    where = below(ROOT, folder)
    return f"spack -e {where}" if where == folder else f"spack -e ./{where}"


def _cannot(variant: str, why: str, words: str) -> CannotUse:
    """`words`: of the command that helps."""
    helps = f"{command(folder_of(variant))} {words}"
    return CannotUse(f"Spack environment {variant} {why}; run: {helps}")


def program() -> str:
    """The `spack` on PATH, or in SPACK_ROOT. `CannotUse` if there is none or an old one."""
    in_root = Path(os.environ.get("SPACK_ROOT", "/nowhere")) / "bin" / "spack"
    found = shutil.which("spack") or (str(in_root) if in_root.is_file() else None)
    least = ".".join(map(str, OLDEST))
    if not found:
        raise CannotUse(
            f"spack is not on PATH; with Spack {least} or newer at hand, run: "
            ". SPACK/share/spack/setup-env.sh (docs/spack.md)"
        )
    text = run(found, "--version")
    match = re.match(r"(\d+)\.(\d+)", text)
    if not match or tuple(map(int, match.groups())) < OLDEST:
        raise CannotUse(
            f"{found} is version {text.strip() or 'unknown'}, too old: {least} is the oldest that "
            "works; run: git -C $(spack location -r) pull, or put a newer one first on PATH"
        )
    return found


def run(
    *words: str, environment: dict[str, str] | None = None, time_limit: float = TIME_LIMIT
) -> str:
    """The standard output of a command. Raises `CannotUse`. `time_limit`: seconds."""
    shown = " ".join(words)
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=time_limit, check=False, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotUse(f"{shown}: {error}; run it by hand to see why") from None
    if done.returncode:
        output = " ".join((done.stderr or done.stdout).split())[-300:]
        raise CannotUse(f"{shown} ended with status {done.returncode}: {output}")
    return done.stdout


@functools.cache
def find(variant: str) -> Environment | CannotUse:
    """The environment, or why it is unusable. Cached: every test asks."""
    try:
        return _open(variant)
    except CannotUse as why:
        return why


def features(variant: str) -> list[str]:
    """What an environment has, by its lock file: libraries, `romio`, features of a version. If it
    is not concretized, or its lock file is broken: all, so that tests of each feature exist and are
    skipped with the reason."""
    possible = [*(one.name for one in libraries()), *dict.fromkeys(row[0] for row in SINCE)]
    try:
        lock = json_file.read(folder_of(variant) / "spack.lock")
        specs = lock["concrete_specs"]
        mpi = next(specs[root["hash"]]["name"] for root in lock["roots"] if root["spec"] == "mpi")
        packages = {
            spec["name"]: Package(spec["name"], spec["version"], digest, Path())
            for digest, spec in specs.items()
        }
    except (OSError, json_file.Unreadable, KeyError, TypeError, AttributeError, StopIteration):
        return ["romio", *possible]
    found = Environment(variant, folder_of(variant), packages, mpi, "")
    absent = {feature for feature, package, _ in SINCE if package not in packages}
    romio = [] if mpi in OWN_MPI_IO else ["romio"]
    return romio + [one for one in possible if one not in absent and not found.lacking([one])]


def _open(variant: str) -> Environment:
    folder = folder_of(variant)
    if not (folder / "spack.yaml").is_file():
        found = ENVIRONMENTS.rglob("spack.yaml")
        names = sorted(str(file.parent.relative_to(ENVIRONMENTS)) for file in found)
        right = f"expected one of default, {', '.join(names)}" if names else "there is none"
        what = f"Spack environment {variant!r} is unknown; {right}"
        raise CannotUse(f"{what} (IOGAUGE_ENVIRONMENTS={ENVIRONMENTS})")
    spack = program()
    roots = _roots(variant, folder)
    layout = "{name}\t{version}\t{hash}\t{prefix}\n"
    packages = {}
    for line in run(spack, "-e", str(folder), "find", "--format", layout).splitlines():
        if line.count("\t") == 3:
            name, version, digest, prefix = line.split("\t")
            packages[name] = Package(name, version, digest, Path(prefix))
    present = {package.hash for package in packages.values()}
    absent = sorted(spec for spec, digest in roots.items() if digest not in present)
    if absent:
        raise _cannot(variant, f"is not installed: {', '.join(absent)} missing", "install")
    if "mpi" not in roots:
        raise _cannot(variant, "has no spec `mpi`", "add mpi")
    mpi = next(package.name for package in packages.values() if package.hash == roots["mpi"])
    return Environment(variant, folder, packages, mpi, _activation(spack, folder))


def _roots(variant: str, folder: Path) -> dict[str, str]:
    """Hash of each requested spec, from the lock file."""
    path = folder / "spack.lock"
    if not path.exists():
        raise _cannot(variant, "is not installed", "install")
    try:
        return {root["spec"]: root["hash"] for root in json_file.read(path)["roots"]}
    except (json_file.Unreadable, KeyError, TypeError) as error:
        raise CannotUse(
            f"{path} cannot be read ({error}); run: {command(folder)} concretize --force"
        ) from None


# Variables of an activation that do not concern a job.
NOT_FOR_JOBS = re.compile(r"SPACK_|PS1$|PYTHONPATH$|MANPATH$|ACLOCAL_PATH$")
EXPORT = re.compile(r"^\s*export (\w+)=(.*);\s*$", re.MULTILINE)
# Stands for the variable's value where the job runs.
THE_JOBS = "/iogauge/the-jobs"


def _activation(spack: str, folder: Path) -> str:
    """`spack env activate` as plain exports, which extend the job's values."""
    bare = {key: value for key, value in os.environ.items() if key in ("HOME", "USER", "TMPDIR")}
    bare |= {key: value for key, value in os.environ.items() if key.startswith("SPACK_")}
    bare.pop("SPACK_ENV", None)
    bare["PATH"] = f"{Path(spack).parent}:/usr/local/bin:/usr/bin:/bin:{THE_JOBS}"
    output = run(spack, "env", "activate", "--sh", "-d", str(folder), environment=bare)
    lines = [f"# `spack env activate -d {folder}`, as ReFrame found it."]
    known = ["", *bare["PATH"].split(":")]
    for name, value in EXPORT.findall(output):
        added = [part for part in value.strip("'\"").split(":") if part not in known]
        if not added or NOT_FOR_JOBS.match(name):
            continue
        rest = f"${{{name}:+:${name}}}" if name.endswith("PATH") else ""
        lines.append(f'export {name}="{":".join(added)}{rest}"')
    return "\n".join(lines) + "\n"


def write_activation(variant: str) -> None:
    """For the build and jobs. For an unusable environment: why, as a comment."""
    found = find(variant)
    text = found.activation if isinstance(found, Environment) else f"# nothing: {found}\n"
    path = activation_file(variant)
    if not path.is_file() or path.read_text() != text:
        write_whole(path, text)  # a running job of another session never sees half of it
