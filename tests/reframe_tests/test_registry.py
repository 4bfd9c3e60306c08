# SPDX-License-Identifier: BSD-3-Clause
"""The names that the kernels' tables hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.analysis.errors import EXIT_DATA
from iogauge.cli.main import main
from iogauge.common import paths, tables
from tests.analysis_recorded import Recorded


def test_patterns_methods_and_modes() -> None:
    """A pattern has dashes where its identifier has underscores; the others say their names."""
    patterns = tables.names("patterns")
    assert patterns[0] == "s3d" and "ramses-amr" in patterns
    methods = tables.names("methods")
    assert methods[0] == "null" and "posix-shared" in methods
    assert {"collective", "collective-metadata"} <= set(tables.names("modes"))


def test_a_table_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "KERNELS", tmp_path)
    tables._rows.cache_clear()
    for what, (name, _) in tables.REGISTRIES.items():
        with pytest.raises(tables.BadTable, match=name.replace(".", r"\.")):
            tables.names(what)


def test_the_analysis_names_it_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """When it sorts its rows, and not when it is imported."""
    report = Recorded(tmp_path).report
    monkeypatch.setattr(paths, "KERNELS", tmp_path / "kernels")
    tables._rows.cache_clear()
    assert main(["summary", str(report)]) == EXIT_DATA
    assert capsys.readouterr().err.startswith(f"iogauge: {tmp_path}/kernels/")
