# SPDX-License-Identifier: BSD-3-Clause
"""Striping as file systems print it, and its way into the result document."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest

from reframe_tests.machine.striping import UnknownKind, in_bytes, read_back
from tests.reframe_session import ROOT, changed_site, reframe

GETSTRIPE = """\
/scratch/run/layout
lmm_stripe_count:  8
lmm_stripe_size:   1048576
lmm_pattern:       raid0
lmm_stripe_offset: 3
\tobdidx\t\t objid\t\t objid\t\t group
\t     3\t        123456\t      0x1e240\t             0
"""
VIEWDIST = """\
dist_name = simple_stripe
dist_params:
strip_size:65536

Metadataserver: tcp://node1:3334
Number of datafiles/servers = 4
Datafile 0 - tcp://node1:3334, handle: 123 (0000007b.bstream)
"""


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("lustre", GETSTRIPE, {"count": 8, "size": 2**20}),
        ("pvfs2", VIEWDIST, {"count": 4, "size": 65536}),
        ("gpfs", "block size 2097152\n", {"size": 2**21}),
        ("lustre", "error: getstripe failed\n", {"count": None, "size": None}),
    ],
)
def test_what_the_commands_print_is_understood(
    kind: str, text: str, found: dict[str, int | None]
) -> None:
    assert read_back(kind, text) == found


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(UnknownKind, match="'luster' is unknown; right is one of lustre"):
        read_back("luster", "")
    assert [in_bytes(size) for size in ("64k", "1M", 4096)] == [65536, 2**20, 4096]
    with pytest.raises(ValueError, match="size '1 MB'"):
        in_bytes("1 MB")


def test_a_real_run_records_what_it_got(tmp_path: Path) -> None:
    """`lfs` is a stand-in here: it gives 8 stripes, whatever it is asked for."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "getstripe").write_text(GETSTRIPE)
    lfs = tmp_path / "bin" / "lfs"
    lfs.write_text(f'#!/bin/sh\n[ "$1" = setstripe ] || cat {tmp_path}/getstripe\n')
    lfs.chmod(0o755)
    striping = {"kind": "lustre", "count": 96, "size": "1M"}
    config = changed_site(
        tmp_path, f"partition['extras']['filesystems']['disk']['striping'] = {striping}"
    )
    session = reframe(
        tmp_path / "out",
        *("-r", "-t", "smoke", "-t", "disk", "-n", "S3d.*call=mpiio:collective", "-p", "mpich"),
        config=config,
        tests="s3d.py",
        environment={**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"},
    )
    assert session.status == 0, session.text
    document = json.loads((Path(session.cases[0]["outputdir"]) / "result.json").read_text())
    asked = {"count": 96, "size": "1M"}
    found = {"kind": "lustre", "asked": asked, "count": 8, "size": 2**20}
    assert document["used"]["striping"] == found
    jsonschema.validate(document, json.loads((ROOT / "docs/result.schema.json").read_text()))
