# SPDX-License-Identifier: BSD-3-Clause
"""The file systems that `make test-fs` can mount: one row each in `KINDS`.

A row says what /proc/mounts must show, what the machine must have, and how the file system is made,
mounted and unmounted. All of it happens in namespaces of the session's own (tools/mounted_fs).
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tools.mounted_fs.processes import CannotMount, Servers, find, make_image, run

MIB = 2**20

# Where a file system's module has another name, and no alias.
MODULES = {"pvfs2": "orangefs"}

# For each scale, what an image must hold: a run's files twice over (the ceilings' lie beside them),
# and the least that mkfs.xfs takes is 300 MiB.
IMAGE_BYTES = {"smoke": 512 * MIB, "laptop": 1024 * MIB}


class Machine:
    """What this machine has; a test puts another in its place."""

    def has_command(self, name: str) -> bool:
        return find(name) is not None

    def has_device(self, path: str) -> bool:
        return Path(path).exists()

    def has_file_system(self, kind: str) -> bool:
        """In the kernel, or in a module that can be loaded."""
        if self._is_listed(kind):
            return True
        modprobe = find("modprobe")
        if modprobe:
            subprocess.run(
                [modprobe, "-q", "-a", f"fs-{kind}", MODULES.get(kind, kind)],
                check=False,
                capture_output=True,
            )
        return self._is_listed(kind)

    @staticmethod
    def _is_listed(kind: str) -> bool:
        lines = Path("/proc/filesystems").read_text().splitlines()
        return any(line.split()[-1:] == [kind] for line in lines)


@dataclass(frozen=True)
class Needs:
    """`commands`: each with the Debian package that brings it; `programs`: that no package has, but
    something else brings."""

    commands: tuple[tuple[str, str], ...] = ()
    devices: tuple[str, ...] = ()
    kernel: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    brought_by: str = ""

    def lacking(self, machine: Machine) -> str | None:
        """What `machine` lacks, as the reason why nothing is mounted, or None."""
        missing = [self.lacking_commands(machine)] if self.lacking_commands(machine) else []
        missing += [f"no {path}" for path in self.devices if not machine.has_device(path)]
        missing += [
            f"the kernel has no {name}, and no module of it can be loaded"
            for name in self.kernel
            if not machine.has_file_system(name)
        ]
        return ", ".join(missing) or None

    def lacking_commands(self, machine: Machine) -> str:
        """The same of programs alone, which a guest shares with this machine."""
        missing = [
            f"{command} is missing (Debian package {package})"
            for command, package in self.commands
            if not machine.has_command(command)
        ]
        missing += [
            f"{name} is missing ({self.brought_by})"
            for name in self.programs
            if not machine.has_command(name)
        ]
        return ", ".join(missing)


@dataclass(frozen=True)
class Place:
    """Where one file system goes: `mount`, with `image` for what is made in a file."""

    name: str
    mount: Path
    image: Path
    image_bytes: int
    servers: Servers


class How(Protocol):
    """Makes, mounts and unmounts a file system."""

    @property
    def needs(self) -> Needs: ...

    def mount(self, place: Place) -> None: ...

    def unmount(self, place: Place) -> None: ...


@dataclass(frozen=True)
class Loop:
    """In an image file, by the kernel's own driver. `make`: mkfs and its options."""

    kernel: str
    make: tuple[str, ...]
    package: str

    @property
    def needs(self) -> Needs:
        commands = ((self.make[0], self.package), ("mount", "mount"))
        return Needs(commands, devices=("/dev/loop-control",), kernel=(self.kernel,))

    def mount(self, place: Place) -> None:
        make_image(place.image, place.image_bytes)
        run(*self.make, place.image)
        # The loop device goes with the mount, whoever ends that.
        run("mount", "-t", self.kernel, "-o", "loop", place.image, place.mount)

    def unmount(self, place: Place) -> None:
        run("umount", place.mount)


@dataclass(frozen=True)
class Memory:
    """No more than an image's size, so that a runaway test does not take the machine's memory."""

    kernel: str = "tmpfs"

    @property
    def needs(self) -> Needs:
        return Needs((("mount", "mount"),), kernel=(self.kernel,))

    def mount(self, place: Place) -> None:
        size = f"size={place.image_bytes}"
        run("mount", "-t", self.kernel, "-o", size, self.kernel, place.mount)

    def unmount(self, place: Place) -> None:
        run("umount", place.mount)


@dataclass(frozen=True)
class Elsewhere:
    """A file system whose servers are not started here: only why it is not mounted."""

    kernel: str
    why: str

    @property
    def needs(self) -> Needs:
        return Needs(kernel=(self.kernel,))

    def mount(self, place: Place) -> None:
        raise CannotMount(f"{self.why}; where it is mounted, name its path in a site file")

    def unmount(self, place: Place) -> None:
        """There is nothing to undo."""


@dataclass(frozen=True)
class Kind:
    """`type`: what /proc/mounts must show. `local`: without servers, so part of `make test`.
    `guest`: mounted in a guest only (tools/guest). `entry`: more keys for the site file
    (docs/reference/site-file.md)."""

    name: str
    type: str
    how: How
    local: bool = False
    guest: bool = False
    entry: tuple[tuple[str, Any], ...] = ()


def names(kinds: Sequence[Kind]) -> list[str]:
    return [kind.name for kind in kinds]
