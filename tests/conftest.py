# SPDX-License-Identifier: BSD-3-Clause
"""Order of the tests, and what holds for all of them."""

from __future__ import annotations

import hypothesis
import pytest

# No test depends on speed: hypothesis fails an example that takes longer than 0.2 s.
hypothesis.settings.register_profile("any speed", deadline=None)
hypothesis.settings.load_profile("any speed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that would wait for something else come last: by then it has happened."""
    items.sort(key=lambda item: item.get_closest_marker("last") is not None)
