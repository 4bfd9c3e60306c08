# SPDX-License-Identifier: BSD-3-Clause
"""Striping as file systems print it, and its way into the result document."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest

from reframe_tests.machine.striping import in_bytes, read_back
from tests.reframe_session import ROOT, reframe, strict_site

GETSTRIPE = """\
/scratch/run/layout
lmm_stripe_count:  8
lmm_stripe_size:   1048576
lmm_pattern:       raid0
lmm_stripe_offset: 3
\tobdidx\t\t objid\t\t objid\t\t group
\t     3\t        123456\t      0x1e240\t             0
"""
OWN = GETSTRIPE.replace("count:  8", "count:  1")
VIEWDIST = """\
dist_name = simple_stripe
dist_params:
strip_size:65536

Metadataserver: tcp://node1:3334
Number of datafiles/servers = 4
Datafile 0 - tcp://node1:3334, handle: 123 (0000007b.bstream)
"""
# Of ceph-fuse 16.2.15, as `getfattr --only-values` prints it: without an end of line.
LAYOUT = "stripe_unit=65536 stripe_count=3 object_size=4194304 pool=data"


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("lustre", GETSTRIPE, {"count": 8, "size": 2**20, "own": None}),
        ("lustre", GETSTRIPE + OWN, {"count": 8, "size": 2**20, "own": 1}),
        ("pvfs2", VIEWDIST, {"count": 4, "size": 65536}),
        ("ceph", LAYOUT, {"count": 3, "size": 65536}),
        ("gpfs", "block size 2097152\n", {"size": 2**21}),
        ("lustre", "error: getstripe failed\n", {"count": None, "size": None, "own": None}),
    ],
)
def test_what_the_commands_print_is_understood(
    kind: str, text: str, found: dict[str, int | None]
) -> None:
    assert read_back(kind, text) == found


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(ValueError, match="'luster' is unknown; expected one of lustre"):
        read_back("luster", "")
    assert [in_bytes(size) for size in ("64k", "1M", 4096)] == [65536, 2**20, 4096]
    with pytest.raises(ValueError, match="size '1 MB'"):
        in_bytes("1 MB")


# kind -> commands of the file system, as stand-ins that give 3 or 8 stripes, whatever they are
# asked for; and what is found
STANDINS = {
    "lustre": ({"lfs": ("$1 = getstripe", GETSTRIPE)}, {"count": 8, "size": 2**20, "own": 8}),
    "ceph": (
        {"setfattr": ("", ""), "getfattr": ("$3 = ceph.file.layout", LAYOUT)},
        {"count": 3, "size": 65536},
    ),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", STANDINS)
def test_a_real_run_records_what_it_got(tmp_path: Path, kind: str) -> None:
    commands, got = STANDINS[kind]
    (tmp_path / "bin").mkdir()
    for name, (answers, text) in commands.items():
        (tmp_path / f"{name}.txt").write_text(text)
        command = tmp_path / "bin" / name
        test = f"! [ {answers} ] || " if answers else ""
        command.write_text(
            f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n{test}cat {tmp_path}/{name}.txt\n'
        )
        command.chmod(0o755)
    striping = {"kind": kind, "count": 96, "size": "1M"}
    config = strict_site(
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
    asked = {"count": 96, "size": "1M", **({"own": 1} if "own" in got else {})}
    assert document["used"]["striping"] == {"kind": kind, "asked": asked, **got}
    jsonschema.validate(document, json.loads((ROOT / "docs/result.schema.json").read_text()))
    set_it = (tmp_path / "asked").read_text().splitlines()[0]
    assert "96" in set_it and ("1M" in set_it or "stripe_unit=1048576 " in set_it)
