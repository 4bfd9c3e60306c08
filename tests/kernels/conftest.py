# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures: the stacks' programs, and files that they have written."""

from __future__ import annotations

from pathlib import Path

import pytest
from iokernel_stacks import ROOT, How, Stack, build, lacking, missing, prepared, stacks
from written import PATTERNS, Writer, Written

from tests.selftest.injector import build as build_injector


def pytest_itemcollected(item: pytest.Item) -> None:
    """`make test` has each value of each parameter once, with alternating stacks."""
    if item.path.parent == Path(__file__).parent and not item.get_closest_marker("sampled"):
        item.add_marker(pytest.mark.sampled(free="stack"))


def _stack(name: str) -> Stack:
    stack = stacks()[name]
    reason = missing(stack)
    if reason:
        pytest.skip(reason)
    return prepared(name)


@pytest.fixture(scope="session")
def openmpi() -> Stack:
    return _stack("openmpi")


@pytest.fixture(scope="session")
def mpich() -> Stack:
    return _stack("mpich")


@pytest.fixture(scope="session", params=["openmpi", "mpich"])
def stack(request: pytest.FixtureRequest) -> Stack:
    found: Stack = request.getfixturevalue(request.param)
    return found


@pytest.fixture(autouse=True)
def has_the_method(request: pytest.FixtureRequest) -> None:
    """A method that a stack has no library for is skipped there, by name."""
    named = {"how", "inner"} & set(request.fixturenames)
    if "stack" not in request.fixturenames or not named:
        return
    stack = request.getfixturevalue("stack")
    asked = request.getfixturevalue(named.pop())
    if not isinstance(asked, How | str):
        return  # words of a command line: of methods that every stack has
    method = asked.method if isinstance(asked, How) else asked
    if reason := lacking(stack.iokernel).get(method):
        pytest.skip(f"stack {stack.name}: {method}: {reason}")


@pytest.fixture(scope="session")
def injector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library to preload, with which calls go wrong."""
    return build_injector(tmp_path_factory.mktemp("injector"))


@pytest.fixture(scope="session")
def poor() -> Stack:
    """Open MPI without HDF5 and PnetCDF."""
    stack = stacks()["openmpi"]
    reason = missing(stack)
    if reason:
        pytest.skip(reason)
    without = ["-DIOKERNEL_HDF5=OFF", "-DIOKERNEL_PNETCDF=OFF"]
    return build(stack, ROOT / ".local" / "build" / "test-poor", *without)


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Writer:
    """Written files by (stack, how, pattern), each made once."""
    made: dict[tuple[str, How, str], Written] = {}
    base = tmp_path_factory.mktemp("written")

    def get(stack: Stack, how: How, pattern: str) -> Written:
        known = (stack.name, how, pattern)
        if known not in made:
            folder = base / f"{stack.name}-{how}-{pattern}"
            made[known] = Written(stack, how, PATTERNS[pattern], folder)
        return made[known]

    return get
