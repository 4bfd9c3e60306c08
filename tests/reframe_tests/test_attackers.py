# SPDX-License-Identifier: BSD-3-Clause
"""Kernels built to lie: a patch of a few lines each, built, and run through a session. The reason
of the failure names what the lie contradicts (docs/guarantees.md)."""

from __future__ import annotations

import itertools
import os
import zlib
from pathlib import Path

import pytest

from iogauge.common.files import write_whole
from iogauge.measure.certify.stacks import prepare
from iogauge.measure.kernels import build_for_tests, environ, lacking
from reframe_tests.framework import recorders, verifier_check
from tests.changed_kernel import changed_kernel
from tests.reframe_session import reframe
from tests.reframe_tests.lies import calls, ceilings, data, results, times
from tests.reframe_tests.lies.data import WRONG_BYTE
from tests.reframe_tests.lies.lie import Lie

# Of a newer release; by hand also one of the two for all.
STACK = os.environ.get("IOGAUGE_ATTACKED")
STACKS = ("openmpi", "mpich")
pytestmark = [pytest.mark.first, pytest.mark.slow]


# Where the witness is another than the job that changes bits, that job is not run.
OF_THE_CHECK = ("do not notice", WRONG_BYTE, "read back", "values do not depend")


LIES = {**data.LIES, **calls.LIES, **times.LIES, **ceilings.LIES, **results.LIES}


def liar(lie: Lie, stack: str, folder: Path) -> Path:
    """The program with the lie."""
    if reason := lacking(stack):
        pytest.skip(reason)
    honest = build_for_tests(stack) if stack in STACKS else prepare(stack).program.parent
    return changed_kernel(honest, lie.changes, folder, environ(stack)["extras"].get("inside", ()))


def marks(lie: Lie) -> list[pytest.MarkDecorator]:
    """Debian 12's HDF5 has no call for several arrays: `make test-newer` attacks it."""
    return [pytest.mark.newer] if lie.call == "hdf5:multi" else []


def stack_of(name: str, lie: Lie) -> str:
    """One that has the method and the test: which, depends on the lie's name alone."""
    if STACK:
        return STACK
    features = {one: environ(one)["features"] for one in STACKS}
    needs = {lie.call.partition(":")[0], lie.test.lower()} & {*itertools.chain(*features.values())}
    able = [one for one in STACKS if needs <= {*features[one]}]
    return able[zlib.crc32(name.encode()) % len(able)]


@pytest.mark.parametrize(
    ("name", "stack"),
    [pytest.param(name, stack_of(name, lie), marks=marks(lie)) for name, lie in LIES.items()],
)
def test_a_lie_has_a_witness(
    name: str, stack: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    lie = LIES[name]
    program = liar(lie, stack, tmp_path / "lies")
    if not lie.witness.startswith(OF_THE_CHECK):
        passed = verifier_check.stamp_of(program, recorders.find({}, program, lambda _: False))
        write_whole(passed, "")
        request.addfinalizer(passed.unlink)
    which = f"{lie.test}.*call={lie.call}(%|$)"
    one = ("-t", lie.scale, "-t", lie.where, "-n", which, "-p", stack)
    more = ("-S", "repeats=2", "-S", f"kernel_path={program}", *lie.more)
    session = reframe(
        tmp_path, "-r", *one, *more, tests=f"{lie.test.lower()}.py",
        environment={**os.environ, "IOGAUGE_STACKS": stack},
    )  # fmt: skip
    if not session.status and {case["result"] for case in session.cases} == {"skip"}:
        pytest.skip(f"{stack} has no {lie.call}")
    assert session.status == 1, "the lie passed"
    assert lie.witness in session.text, session.text
