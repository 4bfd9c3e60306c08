# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the analysis make hundreds of sessions of 30 folders each, and measure nothing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ctest.mpi_settings import in_memory

ENOUGH = 2**30  # bytes


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """In memory, where a folder takes a tenth of the time, if there is enough."""
    memory = in_memory()
    if memory is None or shutil.disk_usage(memory).free < ENOUGH:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(
        prefix=f"iogauge-{tmp_path.name}-", dir=memory, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)
