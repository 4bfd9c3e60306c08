# SPDX-License-Identifier: BSD-3-Clause
"""The names that the kernels' registries hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from iogauge import paths, registry, tables


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty tree in place of the checkout."""
    monkeypatch.setattr(paths, "data", lambda name: tmp_path / name)
    tables._rows.cache_clear()
    yield tmp_path
    tables._rows.cache_clear()


def write(tree: Path, what: str, text: str) -> Path:
    file = tree / "kernels" / registry.REGISTRIES[what][0]
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return file


def test_names_are_in_the_order_of_the_registry(tree: Path) -> None:
    write(
        tree, "patterns", "/* IO_PATTERN(id): a row */\nIO_PATTERN(s3d)\nIO_PATTERN(ramses_amr)\n"
    )
    write(
        tree,
        "methods",
        'IO_METHOD(zero, "null", none, 0)\nIO_METHOD(posix_shared, "posix-shared", none, 0)\n',
    )
    assert registry.names("patterns") == ("s3d", "ramses-amr")
    assert registry.names("methods") == ("null", "posix-shared")


def test_the_checkout_has_them() -> None:
    assert {"s3d", "ramses-hydro"} <= set(registry.names("patterns"))
    assert {"posix-shared", "mpiio", "null"} <= set(registry.names("methods"))
    assert {"collective", "collective-metadata"} <= set(registry.names("modes"))


def test_a_registry_that_is_missing_or_empty_is_named(tree: Path) -> None:
    with pytest.raises(tables.BadTable, match=r"patterns\.def: No such file"):
        registry.names("patterns")
    write(tree, "methods", "nothing\n")
    with pytest.raises(tables.BadTable, match=r"methods\.def: no row IO_METHOD"):
        registry.names("methods")
