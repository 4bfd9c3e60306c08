# SPDX-License-Identifier: BSD-3-Clause
"""Mounts worth measuring: parallel and network file systems, and disks named as scratch."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from iogauge.common.mounts import mount_of, plain

from .machine import Machine

# /proc/mounts' types of parallel and network file systems -> kind of striping, "" where there is
# none, and the command that the job script needs for it.
SHARED = {
    "lustre": ("lustre", "lfs"),
    "gpfs": ("gpfs", "stat"),
    "pvfs2": ("pvfs2", "pvfs2-viewdist"),
    "ceph": ("ceph", "getfattr"),
    "fuse.ceph-fuse": ("ceph", "getfattr"),
    "fuse.ceph": ("ceph", "getfattr"),
    **dict.fromkeys(
        (
            *("nfs", "nfs4", "beegfs", "wekafs", "panfs", "afs", "cifs", "smb3", "glusterfs"),
            *("fuse.glusterfs", "fuse.moosefs", "fuse.mfs", "fuse.lizardfs", "fuse.juicefs"),
            *("fuse.quobyte", "fuse.daos", "fuse.dfuse", "fuse.saunafs", "fuse.orangefs"),
        ),
        ("", ""),
    ),
}
# MooseFS's client names no subtype: its device does.
MOOSEFS = ("fuse", "mfs#")

# File systems on disks: used if their mount point is named like data space.
DISKS = ("xfs", "ext3", "ext4", "btrfs", "zfs", "f2fs", "jfs", "bcachefs")
ROOM = re.compile(r"scratch|nvme|burst|^bb$|^local|(?<![a-z])(work|proj|data|ssd)", re.IGNORECASE)
# System folders: a shared mount there is not for users' data, unless named so.
OWN = ("/usr", "/opt", "/boot", "/etc", "/var", "/nix", "/snap", "/sys", "/run", "/proc", "/dev")

# Variables in which sites give users the path of their data space.
FOLDERS = ("SCRATCH", "WORK", "PROJECT", "FASTDATA", "CSCRATCH", "WORKDIR")


@dataclass(frozen=True)
class Mount:
    device: str
    path: str
    type: str
    options: tuple[str, ...]

    @property
    def is_shared(self) -> bool:
        return self.type in SHARED or (
            self.type == MOOSEFS[0] and self.device.startswith(MOOSEFS[1])
        )

    @property
    def counts(self) -> bool:
        if "ro" in self.options:
            return False
        if any(ROOM.search(part) for part in PurePosixPath(self.path).parts):
            return self.is_shared or self.type in DISKS
        own = any(PurePosixPath(self.path).is_relative_to(folder) for folder in OWN)
        return self.is_shared and self.path != "/" and not own


def read(text: str) -> list[Mount]:
    """The mounts of /proc/mounts, in order; of a device mounted twice, the shorter path; and
    automounted homes, `server:/export/home/NAME` on `/home/NAME`, as one."""
    found: dict[tuple[str, ...], Mount] = {}
    for line in text.splitlines():
        device, path, kind, options = (plain(word) for word in line.split()[:4])
        mount = Mount(device, path, kind, tuple(options.split(",")))
        if not mount.counts:
            continue
        # `none` and the like are no device.
        key: tuple[str, ...] = (path, kind)
        if any(sign in device for sign in "/#:"):
            key = (device, kind)
        (export, _, name), (folder, _, own) = device.rpartition("/"), path.rpartition("/")
        if name == own and folder and ":" in export and not ROOM.search(name):
            key = (export, kind, folder)
            if key in found and found[key].device != device:
                mount = replace(mount, path=folder)
        if key not in found or len(mount.path) < len(found[key].path):
            found[key] = mount
    return list(found.values())


def entries(machine: Machine, batch: bool = False) -> list[str]:
    """A line for each file system, those in the site's variables first. If there is none: one for
    /tmp or, with a batch system, whose nodes do not share /tmp, a placeholder."""
    lines: dict[str, str] = {}
    found = read(machine.mounts())
    for name in FOLDERS:
        place = PurePosixPath(machine.variable(name))
        if place.is_absolute() and not any(place.is_relative_to(mount.path) for mount in found):
            kind = mount_of(Path(place), machine.mounts())["type"]
            words = f'{json.dumps(str(place))}, kind="{kind}"'
            lines[name.lower()] = (
                f'"{name.lower()}": common.file_system({words}),  # CHECK: is it on all nodes?'
            )
    for mount in found:
        name = re.sub(r"\W+", "_", mount.path, flags=re.ASCII).strip("_")
        while name in lines:
            name += "_"
        path = folder(machine, mount.path)
        check = "yours, by its variable" if path != mount.path else "a folder of yours there"
        words = f'{json.dumps(path)}, kind="{mount.type}"{striping(machine, mount.type)}'
        lines[name] = f'"{name}": common.file_system({words}),  # CHECK: {check}'
    if not lines and batch:
        check = "a folder that all nodes share; /tmp is not"
        return [f'"scratch": common.file_system("/scratch", kind=""),  # CHECK: {check}']
    if not lines:
        kind = mount_of(Path("/tmp"), machine.mounts())["type"]
        return [f'"tmp": common.file_system("/tmp", kind="{kind}"),  # CHECK: nothing better']
    return list(lines.values())


def folder(machine: Machine, mount: str) -> str:
    """The user's folder on a mount if a variable names it; else the mount."""
    for name in FOLDERS:
        path = PurePosixPath(machine.variable(name))
        if path.is_absolute() and path.is_relative_to(mount):
            return str(path)
    return mount


def striping(machine: Machine, kind: str) -> str:
    striped, command = SHARED.get(kind, ("", ""))
    if not striped or not machine.which(command):
        return ""
    if striped == "gpfs":
        return ', striping={"kind": "gpfs"}'
    return f', striping={{"kind": "{striped}", "count": 4, "size": "1M"}}'
