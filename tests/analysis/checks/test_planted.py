# SPDX-License-Identifier: BSD-3-Clause
"""A run that does not notice the wrong bytes planted in what it read is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.checks.beside_trace import against_the_recorder
from tests.recorded_runs import document_of, traced

HONEST = [[(61440, 1, 1), (61440, 1, 1)], [(61440, 1, 1), (61440, 1, 1)]]


def complaints(
    document: dict[str, Any], repeats: list[list[tuple[int, int, int]]], folder: Path
) -> str:
    """With these bytes, planted and noticed bytes of each process of each repeat."""
    for process in range(len(repeats[0])):
        lines = [f"{n} " + " ".join(map(str, of[process])) for n, of in enumerate(repeats)]
        (folder / f"planted-{process:06}-77").write_text("\n".join(lines) + "\n")
    return "; ".join(against_the_recorder(document, folder))


def test_a_run_that_notices_all_passes(tmp_path: Path) -> None:
    document = traced("openmpi-posix-ceilings").document
    assert document["payload"]["bytes"] == 2 * 61440 and len(document["samples"]) == 2
    assert not complaints(document, HONEST, tmp_path)


@pytest.mark.parametrize(
    ("process", "counts", "reason"),
    [
        (1, (61440, 1, 0), "repeat 1: expected 1 planted wrong bytes noticed, found 0"),
        (0, (4096, 1, 1), "repeat 1: expected wrong bytes planted among the 122880 bytes"),
        (0, (0, 0, 0), "the verification looked at 61440"),
    ],
)
def test_a_run_that_misses_one_is_refused(
    process: int, counts: tuple[int, int, int], reason: str, tmp_path: Path
) -> None:
    document = traced("openmpi-posix-ceilings").document
    repeats = [list(repeat) for repeat in HONEST]
    repeats[1][process] = counts
    assert reason in complaints(document, repeats, tmp_path)


def test_nothing_planted_is_refused(tmp_path: Path) -> None:
    document = traced("openmpi-posix-ceilings").document
    assert "looked at 0" in complaints(document, [[]], tmp_path)
    nothing = [[(61440, 0, 0)] * 2] * 2
    assert "expected planted wrong bytes, found none" in complaints(document, nothing, tmp_path)


def test_direct_writing_is_verified_too(tmp_path: Path) -> None:
    document = document_of("ioserver").document
    half = document["payload"]["bytes"] // 2
    once = [[(half, 1, 1)] * 2 for _ in document["samples"]]
    assert "the verification looked at" in complaints(document, once, tmp_path)
    twice = [[(2 * half, 2, 2)] * 2 for _ in document["samples"]]
    assert not complaints(document, twice, tmp_path)
