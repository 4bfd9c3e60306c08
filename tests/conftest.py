# SPDX-License-Identifier: BSD-3-Clause
"""Order of the tests."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that would wait for something else come last: by then it has happened."""
    items.sort(key=lambda item: item.get_closest_marker("last") is not None)
