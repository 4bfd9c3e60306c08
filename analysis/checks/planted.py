# SPDX-License-Identifier: BSD-3-Clause
"""Did the verification notice the wrong bytes that the recorder planted in what the run had read
(kernels/recorder/planted.c)?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from .arithmetic import Json
from .calls_in_trace import CALLS, name

PLANTED = "planted-*"  # one file of each process: repeat, bytes, planted, noticed


def against_the_planted(document: Json, folder: Path) -> Iterator[str]:
    """`folder`: of the raw traces. A replay has no planted bytes."""
    if document["verification"]["verdict"] != "verified" or name(document) not in CALLS:
        return
    found: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for path in sorted(folder.glob(PLANTED)):
        for line in path.read_text().splitlines():
            repeat, size, planted, noticed = map(int, line.split())
            found[repeat].append((size, planted, noticed))
    for sample in document["samples"]:
        if not sample["read"]:
            continue
        here = found[sample["repeat"]]
        place = f"repeat {sample['repeat']}"
        wanted = document["payload"]["bytes"] * (2 if sample.get("direct") else 1)
        size = sum(one[0] for one in here)
        if size != wanted:
            yield (
                f"{place}: expected wrong bytes planted among the {wanted} bytes that were read, "
                f"but the verification looked at {size}"
            )
        for _, planted, noticed in here:
            if noticed < planted:
                yield f"{place}: expected {planted} planted wrong bytes noticed, found {noticed}"
        if size and not any(planted for _, planted, _ in here):
            yield f"{place}: expected planted wrong bytes, found none"
