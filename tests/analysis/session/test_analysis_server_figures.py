# SPDX-License-Identifier: BSD-3-Clause
"""What I/O processes hide, of single repeats: as the kernel has it in its medians."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.session.document import read_document
from tests.analysis_recorded import documents

FIGURES = ("apparent_bw", "apparent_speedup", "overlap", "durable_bw")
SERVED = [path for path in documents() if "apparent_bw" in json.loads(path.read_text())["summary"]]

Json = dict[str, Any]


def changed(path: Path, folder: Path, change: Callable[[Json], object]) -> Path:
    document = json.loads(path.read_text())
    change(document)
    copied = folder / "result.json"
    copied.write_text(json.dumps(document))
    return copied


@pytest.mark.parametrize("path", SERVED, ids=lambda path: path.parent.name)
def test_their_medians_are_the_kernels(path: Path) -> None:
    summary = json.loads(path.read_text())["summary"]
    samples = read_document(path).samples
    for name in FIGURES:
        found = [sample.values[name] for sample in samples]
        assert statistics.median(found) == pytest.approx(summary[name], rel=1e-6), name


def test_some_are_recorded() -> None:
    assert len(SERVED) > 3


def test_nothing_is_durable_where_nothing_was_flushed(tmp_path: Path) -> None:
    """The kernel gives no durable_bw then, although its servers were busy."""

    def no_fsync(document: Json) -> None:
        document["asked"]["fsync"] = False
        del document["summary"]["durable_bw"]

    for sample in read_document(changed(SERVED[0], tmp_path, no_fsync)).samples:
        assert sample.values["queue_busy"] > 0
        assert "durable_bw" not in sample.values
        assert sample.values["apparent_bw"] > 0


def test_without_servers_nothing_is_hidden() -> None:
    others = [path for path in documents() if path not in SERVED]
    for path in others[:10]:
        for sample in read_document(path).samples:
            assert not {*FIGURES, "apparent_seconds"} & sample.values.keys()
