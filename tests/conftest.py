# SPDX-License-Identifier: BSD-3-Clause
"""Which tests are slow, their order, and what holds for all of them."""

from __future__ import annotations

import atexit
import fcntl
import gc
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from iogauge.measure import sites
from tests.ctest import mpi_settings
from tests.forked_python import ONE_THREAD
from tests.reframe_session import ROOT, Session, reframe

pytest_plugins = ["tests.last_commands"]

# No test depends on speed or chance: hypothesis would fail examples that take long, or long to be
# made, and choose others each time.
hypothesis.settings.register_profile(
    "repeatable", deadline=None, derandomize=True, database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)  # fmt: skip
hypothesis.settings.load_profile("repeatable")


# Kernels are built some twenty times, from the same sources in other folders.
CCACHE = {
    "CMAKE_C_COMPILER_LAUNCHER": "ccache",
    "CCACHE_DIR": str(ROOT / ".local" / "ccache"),
    "CCACHE_BASEDIR": str(ROOT),
    "CCACHE_NOHASHDIR": "1",
    "CCACHE_DEPEND": "1",
}


def pytest_configure(config: pytest.Config) -> None:
    """Each worker has its own session folder of Open MPI. ReFrame runs `srun --version` for each
    case, which without a configuration asks name servers for one."""
    folder = mpi_settings.session_folder()
    os.environ |= mpi_settings.settings(folder.name) | ONE_THREAD | {"SLURM_CONF": os.devnull}
    config.add_cleanup(folder.cleanup)
    if shutil.which("ccache"):
        os.environ |= CCACHE


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected is kept. Looking for garbage in it would take a third of the time, and half
    a second when pytest ends. Python frees it at its own end: else DuckDB reports leaks."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)
        gc.enable()


# A value of a parameter, by name; and how many quick cases of all tests have it.
Value = tuple[str, str]
Met = Counter[Value]


def quick_ones(cases: list[pytest.Item], most: int, free: str, met: Met) -> list[pytest.Item]:
    """At most so many cases of a test, which have as many of its parameters' values as can be; of
    the parameter `free` one, beside other tests."""
    values: dict[pytest.Item, set[Value]] = {
        case: {(name, str(value)) for name, value in case.callspec.params.items()}  # type: ignore[attr-defined]
        for case in cases
    }
    used: Met = Counter()
    chosen: list[pytest.Item] = []
    while len(chosen) < most:
        fresh = {
            case: sum(name != free and not used[name, value] for name, value in values[case])
            for case in cases
            if case not in chosen
        }
        best = max(
            fresh,
            key=lambda case: (
                fresh[case],
                -sum(used[value] for value in values[case]),
                -sum(met[value] for value in values[case] if value[0] == free),
            ),
            default=None,
        )
        if best is None or (chosen and not fresh[best]):
            break
        used.update(values[best])
        met.update(values[best])
        chosen.append(best)
    return chosen


def mark_sampled(items: list[pytest.Item]) -> None:
    """`sampled(N)`: all cases of a test but N are slow; without N, each value of each parameter has
    one that is not."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") and hasattr(item, "callspec"):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    met: Met = Counter()
    for cases in tests.values():
        marker = cases[0].get_closest_marker("sampled")
        assert marker
        most = marker.args[0] if marker.args else len(cases)
        quick = quick_ones(cases, most, marker.kwargs.get("free", ""), met)
        for case in cases:
            if case not in quick:
                case.add_marker("slow")


ORDER = {"first": -1, "last": 1}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Files that take minutes come first, or a worker would be left with one. Those that would wait
    for something else come last: by then it has happened."""
    mark_sampled(items)  # before -m chooses
    yield  # pytest groups tests by parameter

    def place(item: pytest.Item) -> int:
        return next((number for name, number in ORDER.items() if item.get_closest_marker(name)), 0)

    items.sort(key=place)


# What tests want of each site: of S3d and Ior one call, and those whose names stand for hints.
OF_A_SITE = "(S3d|Ior).*call=mpiio:collective|RamsesHints|CgnsMetadata"


@pytest.fixture(scope="session")
def site_dry_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Session]:
    """A site's dry run, with all files of tests: made once, whichever worker wants it first."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "sites"

    def get(system: str) -> Session:
        output, kept = shared / system, shared / f"{system}.json"
        shared.mkdir(exist_ok=True)
        with Path(f"{output}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                words = ("--system", system, "--dry-run", "-t", "smoke", "-n", OF_A_SITE)
                made = reframe(output, *words, config=sites.find(system))
                kept.write_text(json.dumps([made.status, made.text]))
        status, text = json.loads(kept.read_text())
        return Session(status, text, output)

    return get
