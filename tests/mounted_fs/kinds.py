# SPDX-License-Identifier: BSD-3-Clause
"""Rows of the table of file systems (table.py): type, needs, and how it is mounted."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mounted_fs.processes import CannotMount, Servers, find, make_image, run

MIB = 2**20

# Modules with another name than their file system, and no alias.
MODULES = {"pvfs2": "orangefs"}

# Size of an image by scale: twice a run's files (the ceilings' are extra), and at least the 300 MiB
# that mkfs.xfs needs.
IMAGE_BYTES = {"smoke": 512 * MIB, "laptop": 1024 * MIB}

SET_UP = "environments/debian/setup.sh --test --fs installs it"
OF_ORANGEFS = ("pvfs2-server", "pvfs2-client", "pvfs2-client-core")
BROUGHT_BY = dict.fromkeys(OF_ORANGEFS, "of OrangeFS: ORANGEFS=FOLDER names where it is installed")


class Machine:
    """What this machine has; tests substitute another."""

    def has_command(self, name: str) -> bool:
        return find(name) is not None

    def has_device(self, path: str) -> bool:
        return Path(path).exists()

    def has_file_system(self, kind: str) -> bool:
        """Whether the kernel has it, built in or as a loadable module."""
        if not self._is_listed(kind) and (modprobe := find("modprobe")):
            command = [modprobe, "-q", "-a", f"fs-{kind}", MODULES.get(kind, kind)]
            subprocess.run(command, check=False, capture_output=True)
        return self._is_listed(kind)

    @staticmethod
    def _is_listed(kind: str) -> bool:
        lines = Path("/proc/filesystems").read_text().splitlines()
        return any(line.split()[-1:] == [kind] for line in lines)


@dataclass(frozen=True)
class Needs:
    """`kernel`: types of file systems."""

    commands: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    kernel: tuple[str, ...] = ()

    def lacking(self, machine: Machine) -> str | None:
        """What `machine` lacks, as the reason for not mounting, or None."""
        missing = [self.lacking_commands(machine)] if self.lacking_commands(machine) else []
        missing += [f"no {path}" for path in self.devices if not machine.has_device(path)]
        missing += [
            f"the kernel has no {name}, and no module of it can be loaded"
            for name in self.kernel
            if not machine.has_file_system(name)
        ]
        return ", ".join(missing) or None

    def lacking_commands(self, machine: Machine) -> str:
        """Missing commands only, which a guest shares with this machine."""
        return ", ".join(
            f"{name} is missing ({BROUGHT_BY.get(name, SET_UP)})"
            for name in self.commands
            if not machine.has_command(name)
        )


def of_servers(*commands: str, fuse: bool = True, kernel: tuple[str, ...] = ()) -> Needs:
    """With servers, which run in a network namespace with their storage on an ext4."""
    devices = ("/dev/fuse", "/dev/loop-control") if fuse else ("/dev/loop-control",)
    kernel = (*kernel, *(("fuse",) if fuse else ()), "ext4")
    return Needs(("ip", "unshare", "nsenter", "mkfs.ext4", *commands), devices, kernel)


@dataclass(frozen=True)
class Place:
    """Paths of one file system: `mount`, and `image` if it is made in a file."""

    name: str
    mount: Path
    image: Path
    image_bytes: int
    servers: Servers


class How:
    needs: Needs

    def mount(self, place: Place) -> None:
        raise NotImplementedError

    def unmount(self, place: Place) -> None:
        run("umount", place.mount)


class Loop(How):
    """In an image file, by the kernel's own driver. `make`: mkfs and its options."""

    def __init__(self, kernel: str, *make: str) -> None:
        self.kernel, self.make = kernel, make
        self.needs = Needs((make[0], "mount"), ("/dev/loop-control",), (kernel,))

    def mount(self, place: Place) -> None:
        make_image(place.image, place.image_bytes)
        run(*self.make, place.image)
        # The loop device goes away with the mount.
        run("mount", "-t", self.kernel, "-o", "loop", place.image, place.mount)


class Memory(How):
    """Limited to an image's size, so that a runaway test cannot fill the machine's memory."""

    needs = Needs(("mount",), kernel=("tmpfs",))

    def mount(self, place: Place) -> None:
        run("mount", "-t", "tmpfs", "-o", f"size={place.image_bytes}", "tmpfs", place.mount)


class Elsewhere(How):
    """A file system whose servers are not started here; only a reason."""

    def __init__(self, kernel: str, why: str) -> None:
        self.needs, self.why = Needs(kernel=(kernel,)), why

    def mount(self, place: Place) -> None:
        raise CannotMount(f"{self.why}; where it is mounted, name its path in a site file")


@dataclass(frozen=True)
class Kind:
    """`type`: what /proc/mounts must show. `local`: without servers, so part of `make test-all`.
    `guest`: mounted in a guest only (tests/guest). `entry`: more keys for the site file
    (docs/reference/site-file.md)."""

    name: str
    type: str
    how: How
    local: bool = False
    guest: bool = False
    entry: tuple[tuple[str, Any], ...] = ()
