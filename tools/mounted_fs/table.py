# SPDX-License-Identifier: BSD-3-Clause
"""The table of file systems, and the failures that are known: both are for adding rows to."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tools.mounted_fs.ceph import Ceph
from tools.mounted_fs.kernel_servers import Nfs, Pvfs2
from tools.mounted_fs.kinds import Elsewhere, Kind, Loop, Memory
from tools.mounted_fs.servers import Gluster, Moose

# Not CephFS's own (one object of 4 MiB after the other), so that reading it back proves something.
CEPH_LAYOUT = {"kind": "ceph", "count": 3, "size": "64k"}

KINDS = (
    Kind("ext4", "ext4", Loop("ext4", ("mkfs.ext4", "-q", "-F"), "e2fsprogs"), local=True),
    Kind("xfs", "xfs", Loop("xfs", ("mkfs.xfs", "-q", "-f"), "xfsprogs"), local=True),
    Kind("btrfs", "btrfs", Loop("btrfs", ("mkfs.btrfs", "-q", "-f"), "btrfs-progs"), local=True),
    Kind("tmpfs", "tmpfs", Memory(), local=True),
    Kind("gluster-distribute", "fuse.glusterfs", Gluster(2)),
    Kind("gluster-disperse", "fuse.glusterfs", Gluster(3, ("disperse", "3", "redundancy", "1"))),
    Kind("moosefs", "fuse", Moose(2)),  # its client names no subtype
    Kind("cephfs", "fuse.ceph-fuse", Ceph(), entry=(("striping", CEPH_LAYOUT),)),
    Kind("lustre", "lustre", Elsewhere("lustre", "Debian has no servers of it")),
    Kind("nfs", "nfs4", Nfs(), guest=True),
    Kind("pvfs2", "pvfs2", Pvfs2(2), guest=True),
)


@dataclass(frozen=True)
class Known:
    """A failure that is the file system's or a library's own. The case runs all the same: one that
    passes is reported, so that its row is removed.

    `fs`, `environ`, `test`, `message`: patterns that must be found in the case's; `why`: whose
    fault it is, and how that is known.
    """

    fs: str
    environ: str
    test: str
    message: str
    why: str

    def is_about(self, fs: str, environ: str, test: str) -> bool:
        asked = ((self.fs, fs), (self.environ, environ), (self.test, test))
        return all(re.search(pattern, text) for pattern, text in asked)


KNOWN: tuple[Known, ...] = ()
