# SPDX-License-Identifier: BSD-3-Clause
"""The table of file systems: it is for adding rows to."""

from tools.mounted_fs.ceph import Ceph
from tools.mounted_fs.gluster_moose import Gluster, Moose
from tools.mounted_fs.kinds import Elsewhere, Kind, Loop, Memory
from tools.mounted_fs.nfs_pvfs2 import Nfs, Pvfs2

# Not CephFS's own (one object of 4 MiB after the other), so that reading it back proves something.
CEPH_LAYOUT = {"kind": "ceph", "count": 3, "size": "64k"}

KINDS = (
    Kind("ext4", "ext4", Loop("ext4", "mkfs.ext4", "-q", "-F"), local=True),
    Kind("xfs", "xfs", Loop("xfs", "mkfs.xfs", "-q", "-f"), local=True),
    Kind("btrfs", "btrfs", Loop("btrfs", "mkfs.btrfs", "-q", "-f"), local=True),
    Kind("tmpfs", "tmpfs", Memory(), local=True),
    Kind("gluster-distribute", "fuse.glusterfs", Gluster(2)),
    Kind("gluster-disperse", "fuse.glusterfs", Gluster(3, "disperse", "3", "redundancy", "1")),
    Kind("moosefs", "fuse", Moose(2)),  # its client names no subtype
    Kind("cephfs", "fuse.ceph-fuse", Ceph(), entry=(("striping", CEPH_LAYOUT),)),
    Kind("lustre", "lustre", Elsewhere("lustre", "Debian has no servers of it")),
    Kind("nfs", "nfs4", Nfs(), guest=True),
    Kind("pvfs2", "pvfs2", Pvfs2(2), guest=True),
)
