# SPDX-License-Identifier: BSD-3-Clause
"""A run frees what the kernels have allocated: each pattern and each method once, with gcc's leak
checker preloaded into the program of the other tests. `make test-sanitizers` runs the rest."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from iokernel_stacks import KERNELS, SECONDS, Stack, lacking, listing

from tests.ctest import mpi_end, run_case

FOUND = 23  # LeakSanitizer's exit status
# Slow unwinding: the libraries have no frame pointers, and ten frames reach one in lsan.supp.
OPTIONS = "fast_unwind_on_malloc=0:malloc_context_size=10:print_suppressions=0"


SCHEDULED = ("replay", "extents")


def pairs() -> list[tuple[str, str]]:
    """Each pattern and each method in at least one pair, in few of them."""
    found: list[tuple[str, str]] = []
    patterns: set[str] = set()
    methods: set[str] = set()
    two = {method["name"] for method in listing()["methods"] if "io-processes" in method["options"]}
    able = [(c["pattern"], c["method"]) for c in listing()["cross"] if c["ok"]]
    able = [one for one in able if one[0] not in SCHEDULED and one[1] not in two]
    for fresh in (2, 1):
        for pattern, method in able:
            if (pattern not in patterns) + (method not in methods) >= fresh:
                found.append((pattern, method))
                patterns.add(pattern)
                methods.add(method)
    return found


PAIRS = pairs()


def built(source: Path, program: Path, *options: str) -> Path:
    subprocess.run(["gcc", "-O0", *options, "-o", str(program), str(source)], check=True)
    return program


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a program that is checked: without a launcher, which would be, too."""
    ask = ["gcc", "-print-file-name=liblsan.so"]
    library = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(library).is_absolute(), "gcc has no liblsan.so"
    keep = tmp_path_factory.mktemp("keep") / "keep.so"
    built(KERNELS / "tests" / "leak_origin.c", keep, "-shared", "-fPIC")
    options = f"suppressions={KERNELS / 'tests' / 'lsan.supp'}:exitcode={FOUND}:{OPTIONS}"
    return {
        "LD_PRELOAD": f"{library}:{keep}", "LSAN_OPTIONS": options,
        "OMPI_MCA_ess_singleton_isolated": "1",
    }  # fmt: skip


def run(program: Path, checker: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    def once() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(program), *words], capture_output=True, text=True, env={**os.environ, **checker},
            timeout=SECONDS, check=False,
        )  # fmt: skip

    return mpi_end.twice_at_most(once, lambda done: mpi_end.kernel_blames_mpi(done.stderr))


@pytest.mark.sampled
@pytest.mark.parametrize(("pattern", "method"), PAIRS)
def test_a_run_frees_what_it_allocates(
    openmpi: Stack, checker: dict[str, str], pattern: str, method: str, tmp_path: Path
) -> None:
    if reason := lacking(openmpi.iokernel).get(method):
        pytest.skip(f"{method}: {reason}")
    words = [pattern, *run_case.cases(pattern, False, 1)[0].options, "--method", method]
    words += ["--ceilings", "--dir", str(tmp_path)]
    done = run(openmpi.iokernel, {**checker, **openmpi.variables()}, *words)
    assert "LeakSanitizer" not in done.stderr and done.returncode == 0, done.stderr


def test_the_checker_sees_a_leak(checker: dict[str, str], tmp_path: Path) -> None:
    """Or the test above could not fail."""
    source = tmp_path / "leak.c"
    source.write_text(
        "#include <stdlib.h>\nchar *volatile kept;\n"
        "int main(void) { kept = malloc(100); kept = NULL; return 0; }\n"
    )
    done = run(built(source, tmp_path / "leak"), checker)
    assert done.returncode == FOUND and "LeakSanitizer" in done.stderr, done.stderr
