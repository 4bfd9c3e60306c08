# SPDX-License-Identifier: BSD-3-Clause
"""The names that the kernels' registries hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from iogauge import paths, registry


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty tree in place of the checkout."""
    monkeypatch.setattr(paths, "data", lambda name: tmp_path / name)
    registry.names.cache_clear()
    yield tmp_path
    registry.names.cache_clear()


def write(tree: Path, what: str, text: str) -> Path:
    file = tree / registry.REGISTRIES[what][0]
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return file


def test_names_are_in_the_order_of_the_registry(tree: Path) -> None:
    write(tree, "patterns", "/* IO_PATTERN(id): */\nIO_PATTERN(s3d)\nIO_PATTERN(ramses_amr)\n")
    write(tree, "methods", 'IO_METHOD(zero, "null", none)\nIO_METHOD(posix_shared, NULL)\n')
    assert registry.names("patterns") == ("s3d", "ramses-amr")
    assert registry.names("methods") == ("null", "posix-shared")


def test_the_checkout_has_both() -> None:
    assert {"s3d", "ramses-hydro"} <= set(registry.names("patterns"))
    assert {"posix-shared", "mpiio", "null"} <= set(registry.names("methods"))


def test_a_registry_that_is_missing_or_empty_is_named(tree: Path) -> None:
    with pytest.raises(registry.RegistryError, match=r"patterns\.def: cannot be read"):
        registry.names("patterns")
    write(tree, "methods", "nothing\n")
    with pytest.raises(registry.RegistryError, match=r"methods\.def: expected lines IO_METHOD"):
        registry.names("methods")
