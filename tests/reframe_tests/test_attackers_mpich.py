# SPDX-License-Identifier: BSD-3-Clause
"""The lies of test_attackers.py that MPICH's kernels tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reframe_tests.test_attackers import STACK, cases, has_a_witness

pytestmark = [pytest.mark.first, pytest.mark.slow]


@pytest.mark.skipif(bool(STACK), reason=f"IOGAUGE_ATTACKED={STACK} asks for one stack")
@pytest.mark.parametrize(("name", "stack"), cases("mpich"))
def test_a_lie_has_a_witness(
    name: str, stack: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    has_a_witness(name, stack, tmp_path, request)
