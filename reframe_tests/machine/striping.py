# SPDX-License-Identifier: BSD-3-Clause
"""Striping: what a job script's `stripe` block read back from the file system (`striping.txt`), and
its place in the document. Needs no ReFrame."""

import re
from pathlib import Path
from typing import Any

from iogauge.common import json_file
from iogauge.common.run_folder import DOCUMENT

# Kinds whose script makes a second folder, for files per process: one stripe each.
WITH_OWN = ("lustre",)
UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}

# kind -> patterns of its command's output; `count` and `size` are integers
ANSWERS = {
    # lfs getstripe FILE
    "lustre": {
        "count": r"^\s*lmm_stripe_count:\s*(-?\d+)",
        "size": r"^\s*lmm_stripe_size:\s*(\d+)",
    },
    # pvfs2-viewdist -f FILE
    "pvfs2": {
        "count": r"^Number of datafiles/servers\s*=\s*(\d+)",
        "size": r"^\s*strip_size:\s*(\d+)",
    },
    # getfattr --only-values -n ceph.file.layout FILE
    "ceph": {"count": r"\bstripe_count=(\d+)", "size": r"\bstripe_unit=(\d+)"},
    # stat -c 'block size %o' FILE
    "gpfs": {"size": r"^block size (\d+)"},
}


def in_bytes(size: object) -> int:
    """`1M`, `64k`, `1048576`. `ValueError` for anything else."""
    match = re.fullmatch(r"(\d+)([kmg]?)", str(size).lower())
    if not match:
        raise ValueError(f"size {size!r}: expected a number of bytes, or one with k, M or G")
    return int(match[1]) * UNITS[match[2]]


def read_back(kind: str, text: str) -> dict[str, Any]:
    """`count` and `size` as found, with WITH_OWN also `own`; None where missing."""
    if kind not in ANSWERS:
        raise ValueError(f"striping kind {kind!r} is unknown; expected one of {', '.join(ANSWERS)}")
    found = {
        name: [int(number) for number in re.findall(pattern, text, re.MULTILINE)]
        for name, pattern in ANSWERS[kind].items()
    }
    first: dict[str, Any] = {name: next(iter(all_), None) for name, all_ in found.items()}
    if kind in WITH_OWN:
        first["own"] = found["count"][1] if len(found["count"]) > 1 else None
    return first


def record(stage: Path, asked: dict[str, Any] | None) -> None:
    """Put `used.striping` into the result document in `stage`, if the job left both files."""
    document = stage / DOCUMENT
    answer = stage / "striping.txt"
    if asked is None or not document.is_file() or not answer.is_file():
        return
    try:
        data = json_file.read(document)
    except json_file.Unreadable:
        return  # the sanity check says what is wrong with it
    if not isinstance(data, dict) or not isinstance(data.get("used"), dict):
        return
    data["used"]["striping"] = {
        "kind": asked["kind"],
        "asked": {key: asked[key] for key in ("count", "size", "own") if key in asked},
        **read_back(asked["kind"], answer.read_text(errors="replace")),
    }
    json_file.write(document, data)
