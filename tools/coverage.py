# SPDX-License-Identifier: BSD-3-Clause
"""What the tests have entered: lines of C and Python by folder, and the error paths that none has.

    python -m tools.coverage

It reads what the parts of `make coverage` left: the counts of the stack's test build, with which
CTest and pytest run the kernels; and of Python, also of programs that tests start. Processes that
are killed leave no counts.

Exit status: 0, or 1 where there is nothing to read.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from slipcover.slipcover import Slipcover

from iogauge.common.paths import KERNELS, ROOT
from iogauge.measure import kernels
from tools.counted.sitecustomize import PACKAGES

COUNTS = ROOT / ".local" / "coverage" / "python"

# Where an error is said, in each language.
SAYS = {
    ".c": re.compile(r"\bio_fail\w*\("),
    ".py": re.compile(r"^\s*(raise (?!SystemExit\(main)|except\b)"),
}


class NothingToRead(Exception):
    """No counts; the text says which command leaves them."""


@dataclass(frozen=True)
class Entered:
    """A file: its lines that can be entered, and those that no test has."""

    path: str
    lines: int
    missed: tuple[int, ...]


def of_c(build: Path) -> list[Entered]:
    if not any(build.rglob("*.gcda")):
        raise NothingToRead(f"{build} has no counts: run make coverage")
    command = [sys.executable, "-m", "gcovr", "--root", str(ROOT), "--json", "-"]
    command += ["--filter", rf"{KERNELS}/.*\.c", "--exclude", f"{KERNELS}/tests/", str(build)]
    for odd in ("negative_hits", "suspicious_hits"):  # of processes that ended in the middle
        command.append(f"--gcov-ignore-parse-errors={odd}.warn_once_per_file")
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    found = []
    for file in json.loads(done.stdout)["files"]:
        counts: dict[int, int] = defaultdict(int)
        for line in file["lines"]:
            counts[line["line_number"]] += line["count"]
        missed = tuple(sorted(number for number, count in counts.items() if not count))
        found.append(Entered(file["file"], len(counts), missed))
    return found


def of_python(folder: Path = COUNTS, root: Path = ROOT) -> list[Entered]:
    """From what the tests' processes left (tools/counted/sitecustomize.py)."""
    entered: dict[str, set[int]] = defaultdict(set)
    for path in folder.glob("*.json"):
        with suppress(ValueError):  # of a process that was killed
            for name, lines in json.loads(path.read_text(encoding="utf-8")).items():
                entered[name].update(lines)
    if not entered:
        raise NothingToRead(f"{folder} has no counts: run make coverage")
    found = []
    for path in sorted(path for name in PACKAGES for path in (root / name).rglob("*.py")):
        if path.name == "sitecustomize.py":  # what counts cannot count itself
            continue
        name = str(path.relative_to(root))
        code = compile(path.read_text(encoding="utf-8"), name, "exec")
        lines = set(Slipcover.lines_from_code(code))
        found.append(Entered(name, len(lines), tuple(sorted(lines - entered[name]))))
    return found


def by_folder(files: Iterable[Entered]) -> Iterator[tuple[str, int, int]]:
    """Folder, its lines, and how many of them were entered; all of them last."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file in files:
        for place in (str(Path(file.path).parent), ""):
            sums[place][0] += file.lines
            sums[place][1] += file.lines - len(file.missed)
    for place in sorted(sums, key=lambda name: (not name, name)):
        lines, entered = sums[place]
        yield place or "all", lines, entered


def error_paths(files: Iterable[Entered], root: Path = ROOT) -> Iterator[str]:
    """Lines in which an error is said, and that no test entered: `file:line: text`."""
    for file in files:
        says = SAYS[Path(file.path).suffix]
        text = (root / file.path).read_text(encoding="utf-8").splitlines()
        for number in file.missed:
            if says.search(text[number - 1]):
                yield f"{file.path}:{number}: {text[number - 1].strip()}"


def show(language: str, files: list[Entered]) -> None:
    print(f"\n{language:28} {'lines':>7} {'entered':>8}")
    for place, lines, entered in by_folder(files):
        if lines:
            print(f"{place:28} {lines:7} {entered / lines:8.1%}")
    missed = list(error_paths(files))
    print(f"\nError paths in {language} that no test enters: {len(missed)}")
    for line in missed:
        print(f"  {line}")


def main() -> int:
    try:
        show("C", of_c(kernels.test_folder(kernels.COVERED)))
        show("Python", of_python())
    except NothingToRead as nothing:
        print(f"tools.coverage: {nothing}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
