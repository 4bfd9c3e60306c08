# SPDX-License-Identifier: BSD-3-Clause
"""Fills a mirror for Spack with source archives: `python -m tools.spack_mirror [FOLDER ...]`.

The archives are the lines of environments/from-source/archives.txt. Each is looked for by its
sha256 in the FOLDERs, under any name, and else in Debian's archive. A FOLDER may have its own
archives.txt, with the names of its files in place of paths: its lines come first.

In .local/spack-mirror: `archives` (the mirror), `repo` (package recipes with these versions) and
`settings` (what an environment includes). Exit status: 1 if something needed is missing.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from iogauge.analysis.bundle.manifest import digest
from iogauge.common.files import write_whole
from iogauge.common.paths import ROOT

TABLE = ROOT / "environments" / "from-source" / "archives.txt"
MIRROR = ROOT / ".local" / "spack-mirror"
LINE = re.compile(r"([a-z0-9-]+) ([\w.-]+) ([0-9a-f]{64}) (\S+)((?: (?:autoreconf|optional))*)")
ENDING = re.compile(r"\.(?:tar\.(?:gz|bz2|xz)|tgz)$")
APT_HELPER = Path("/usr/lib/apt/apt-helper")
BUILDERS = ("autoconf", "automake", "libtool", "m4")

RECIPE = Path(__file__).with_name("spack_recipe.py.in")


class Wrong(Exception):
    """A wrong table or archive; the text names file, line and what is right."""


@dataclass(frozen=True)
class Archive:
    """A line of a table. `where`: a path below Debian's archive, a file, or `-`."""

    package: str
    version: str
    sha256: str
    where: str
    autoreconf: bool
    optional: bool

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


def read(table: Path) -> list[Archive]:
    """The archives of a table, in order; paths are relative to a folder's own table."""
    found = []
    for number, text in enumerate(table.read_text().splitlines(), 1):
        line = text.strip()
        if not line or line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if not match:
            right = "PACKAGE VERSION SHA256 WHERE [autoreconf] [optional]"
            raise Wrong(f"{table}:{number}: expected {right}")
        own = table != TABLE and match[4] != "-"
        where = str(table.parent / match[4]) if own else match[4]
        words = match[5].split()
        reconf, optional = "autoreconf" in words, "optional" in words
        found.append(Archive(match[1], match[2], match[3], where, reconf, optional))
    return found


def given(folders: Sequence[Path]) -> dict[str, Path]:
    files = (file for folder in folders for file in sorted(folder.rglob("*")))
    return {digest(file): file for file in files if file.is_file() and ENDING.search(file.name)}


def debian() -> str | None:
    """The archive that this machine's apt takes its packages from."""
    apt = shutil.which("apt-get")
    if not apt or not APT_HELPER.is_file():
        return None
    words = ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"]
    done = subprocess.run(
        [apt, *words, "Label: Debian"], capture_output=True, text=True, check=False
    )
    return next(iter(done.stdout.split()), None)


def download(source: str, archive: Archive, into: Path) -> str | None:
    """Download with apt, which checks the sum. Returns its message if it fails, or None."""
    part = into.with_name(f"{into.name}.part")
    words = ["download-file", f"{source}{archive.where}", str(part), f"SHA256:{archive.sha256}"]
    done = subprocess.run([APT_HELPER, *words], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        part.replace(into)
        return None
    for left in (part, part.with_name(f"{part.name}.FAILED")):
        left.unlink(missing_ok=True)
    output = done.stdout + done.stderr
    reason = re.search(r"404\s+Not Found|Hash Sum mismatch", output)
    return reason[0] if reason else " ".join(output.split())[-200:]


def place(archive: Archive, folder: Path) -> Path:
    name = archive.where if archive.where != "-" else "archive.tar.gz"
    ending = ENDING.search(name)
    if not ending:
        raise Wrong(f"{archive}: {name} is not a tar archive (.tar.gz, .tar.bz2, .tar.xz)")
    return folder / archive.package / f"{archive.package}-{archive.version}{ending[0]}"


def bring(archive: Archive, here: dict[str, Path], source: str | None, mirror: Path) -> str | None:
    """Put it into the mirror. Returns the reason if that fails, or None."""
    into = place(archive, mirror)
    into.parent.mkdir(parents=True, exist_ok=True)
    if into.is_file() and digest(into) == archive.sha256:
        return None
    if file := here.get(archive.sha256):
        shutil.copyfile(file, into)
        return None
    if archive.where == "-":
        return f"put the archive with sha256 {archive.sha256} into a folder: FROM=FOLDER"
    if Path(archive.where).is_absolute():
        return f"{archive.where} is not there, or its sha256 is not {archive.sha256}"
    if not source:
        return "this machine has no apt with an archive of Debian; give it: FROM=FOLDER"
    problem = download(source, archive, into)
    return f"Debian's {archive.where}: {problem}" if problem else None


def recipe(archive: Archive, mirror: Path) -> str:
    """A package that extends Spack's own by this one version."""
    text = RECIPE.read_text(encoding="utf-8").format(
        module=archive.package.replace("-", "_"),
        name="".join(part.capitalize() for part in archive.package.split("-")),
        version=archive.version,
        sha256=archive.sha256,
        url=place(archive, mirror).as_uri(),
    )
    needs = BUILDERS if archive.autoreconf else ()
    return text + "".join(f'    depends_on("{one}", type="build")\n' for one in needs)


def settings(folder: Path, extra: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What an environment includes: names of files, and their text. `extra`: optional packages that
    have an archive; Spack adds the list to the one of that name in from-source/packages.yaml."""
    made = "# Made by tools.spack_mirror.\n"
    yield "mirrors.yaml", f"{made}mirrors:\n  iogauge: {(folder / 'archives').as_uri()}\n"
    yield "repos.yaml", f"{made}repos:\n- {folder / 'repo'}\n"
    yield "definitions.yaml", f"{made}definitions:\n- given: [{', '.join(extra)}]\n"


def write(found: Sequence[Archive], folder: Path, optional: Collection[str]) -> None:
    repo = folder / "repo"
    shutil.rmtree(repo, ignore_errors=True)
    write_whole(repo / "repo.yaml", "repo:\n  namespace: iogauge_mirror\n")
    for archive in found:
        text = recipe(archive, folder / "archives")
        write_whole(repo / "packages" / archive.package / "package.py", text)
    extra = [row.package for row in found if row.package in optional]
    for name, text in settings(folder, extra):
        write_whole(folder / "settings" / name, text)


def fill(folders: Sequence[Path], folder: Path = MIRROR) -> list[str]:
    """Fill the mirror below `folder`; prints a line for each archive that it takes, and for each
    optional one that it has not. What else is missing, with why."""
    tables = [table for one in folders if (table := one / "archives.txt").is_file()]
    rows = [row for table in (*tables, TABLE) for row in read(table)]
    here, source = given(folders), debian()
    found: dict[tuple[str, str], Archive] = {}
    why: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        key = row.package, row.version
        if key in found:
            continue
        problem = bring(row, here, source, folder / "archives")
        if problem:
            why.setdefault(key, []).append(problem)
        else:
            found[key] = row
            print(f"{row}: {place(row, folder / 'archives').relative_to(folder)}", flush=True)
    optional = {row.package for row in rows if row.optional}
    write(list(found.values()), folder, optional)
    missing = {key: "; or ".join(problem) for key, problem in why.items() if key not in found}
    for (package, version), reason in missing.items():
        if package in optional:
            print(f"left out, optional: {package} {version}: {reason}", flush=True)
    return [f"{' '.join(key)}: {missing[key]}" for key in missing if key[0] not in optional]


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tools.spack_mirror", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    folders = [folder.resolve() for folder in parser.parse_args(words).folders]
    for folder in folders:
        if not folder.is_dir():
            parser.error(f"{folder} is not a folder")
    try:
        missing = fill(folders)
    except Wrong as wrong:
        print(f"tools.spack_mirror: {wrong}", file=sys.stderr)
        return 2
    for line in missing:
        print(f"missing: {line}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
