# SPDX-License-Identifier: BSD-3-Clause
"""File systems with servers of their own: GlusterFS and MooseFS, from Debian's packages.

The servers listen on one address of the loopback device of their network namespace
(tools/mounted_fs/processes.py). Their file systems are FUSE mounts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.mounted_fs.kinds import Needs, Place
from tools.mounted_fs.processes import ADDRESS, CannotMount, Servers, run

NETWORK = (("ip", "iproute2"), ("unshare", "util-linux"), ("nsenter", "util-linux"))
FUSE = ("/dev/fuse", "/dev/loop-control")

# Where glusterd keeps its state, whatever it is told: hidden below empty file systems in memory.
GLUSTER_FOLDERS = ("/var/lib/glusterd", "/var/log/glusterfs", "/run/gluster")

PATIENCE = 30.0


def wait_until(what: str, try_it: Callable[[], None]) -> None:
    """Again and again until it works; its last reason where it never does."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            try_it()
        except CannotMount as reason:
            if time.monotonic() > end:
                raise CannotMount(f"{what} within {PATIENCE:.0f} s: {reason}") from None
            time.sleep(0.2)
        else:
            return


@dataclass(frozen=True)
class Gluster:
    """A volume over bricks of one glusterd. `layout`: words of `volume create`."""

    bricks: int
    layout: tuple[str, ...] = ()

    @property
    def needs(self) -> Needs:
        commands = (
            *NETWORK,
            ("glusterd", "glusterfs-server"),
            ("gluster", "glusterfs-cli"),
            ("glusterfs", "glusterfs-client"),
            ("mkfs.ext4", "e2fsprogs"),
        )
        return Needs(commands, devices=FUSE, kernel=("fuse", "ext4"))

    def mount(self, place: Place) -> None:
        servers = place.servers
        self._start(servers)
        folders = [servers.folder / f"{place.name}-{n}" for n in range(self.bricks)]
        for folder in folders:
            folder.mkdir()
        bricks = [f"{ADDRESS}:{folder}" for folder in folders]
        create = ("volume", "create", place.name, *self.layout, *bricks, "force")
        servers.run("gluster", "--mode=script", *create)
        servers.run("gluster", "--mode=script", "volume", "start", place.name)
        server, volume = f"--volfile-server={ADDRESS}", f"--volfile-id={place.name}"
        servers.run("glusterfs", server, volume, place.mount)

        # The client says it is mounted before it has met all bricks.
        def writes() -> None:
            probe = place.mount / ".probe"
            try:
                probe.write_text("x")
                probe.unlink()
            except OSError as error:
                raise CannotMount(f"{place.mount}: {error.strerror}") from None

        wait_until(f"volume {place.name} took no file", writes)

    @staticmethod
    def _start(servers: Servers) -> None:
        if "glusterd" in servers.running:
            servers.check("glusterd")
            return
        servers.disk()
        for folder in GLUSTER_FOLDERS:
            Path(folder).mkdir(parents=True, exist_ok=True)
            run("mount", "-t", "tmpfs", "tmpfs", folder)
        servers.start("glusterd", "glusterd", "-N")

        def answers() -> None:
            servers.check("glusterd")
            servers.run("gluster", "--mode=script", "volume", "list")

        wait_until("glusterd did not answer", answers)

    def unmount(self, place: Place) -> None:
        run("umount", place.mount)
        place.servers.run("gluster", "--mode=script", "volume", "stop", place.name, "force")


MASTER = """\
WORKING_USER = root
WORKING_GROUP = root
NICE_LEVEL = 0
DATA_PATH = {folder}
EXPORTS_FILENAME = {folder}/exports.cfg
MATOML_LISTEN_HOST = {address}
MATOCS_LISTEN_HOST = {address}
MATOCL_LISTEN_HOST = {address}
"""

CHUNK_SERVER = """\
WORKING_USER = root
WORKING_GROUP = root
NICE_LEVEL = 0
DATA_PATH = {folder}
HDD_CONF_FILENAME = {folder}/hdd.cfg
HDD_LEAVE_SPACE_DEFAULT = 64MiB
MASTER_HOST = {address}
BIND_HOST = {address}
CSSERV_LISTEN_HOST = {address}
CSSERV_LISTEN_PORT = {port}
"""

EMPTY_METADATA = Path("/var/lib/mfs/metadata.mfs.empty")
FIRST_PORT = 9430


@dataclass(frozen=True)
class Moose:
    """A master and some chunk servers, each with a folder."""

    chunk_servers: int

    @property
    def needs(self) -> Needs:
        commands = (
            *NETWORK,
            ("mfsmaster", "moosefs-master"),
            ("mfschunkserver", "moosefs-chunkserver"),
            ("mfsmount", "moosefs-client"),
            ("mfssettrashtime", "moosefs-client"),
            ("mkfs.ext4", "e2fsprogs"),
        )
        return Needs(commands, devices=(*FUSE, str(EMPTY_METADATA)), kernel=("fuse", "ext4"))

    def mount(self, place: Place) -> None:
        servers = place.servers
        disk = servers.disk()
        self._start_master(disk / "mfsmaster", servers)
        for number in range(self.chunk_servers):
            self._start_chunk_server(disk / f"mfschunkserver-{number}", number, servers)

        def mounts() -> None:
            servers.check("mfsmaster")
            servers.run("mfsmount", "-H", ADDRESS, place.mount)

        wait_until("mfsmount did not mount", mounts)

        def has_room() -> None:
            for name in servers.running:
                servers.check(name)
            if os.statvfs(place.mount).f_blocks == 0:
                raise CannotMount("no chunk server has registered")

        wait_until("there was no room", has_room)
        # What is removed is gone, else the room fills with files that nobody sees.
        servers.run("mfssettrashtime", "0", place.mount)

    @staticmethod
    def _start_master(folder: Path, servers: Servers) -> None:
        folder.mkdir()
        (folder / "metadata.mfs").write_bytes(EMPTY_METADATA.read_bytes())
        (folder / "exports.cfg").write_text("* / rw,alldirs,admin,maproot=0:0\n")
        config = folder / "mfsmaster.cfg"
        config.write_text(MASTER.format(folder=folder, address=ADDRESS))
        servers.start("mfsmaster", "mfsmaster", "-f", "-c", config, "start")

    @staticmethod
    def _start_chunk_server(folder: Path, number: int, servers: Servers) -> None:
        chunks = folder / "chunks"
        chunks.mkdir(parents=True)
        (folder / "hdd.cfg").write_text(f"{chunks}\n")
        config = folder / "mfschunkserver.cfg"
        port = FIRST_PORT + number
        config.write_text(CHUNK_SERVER.format(folder=folder, address=ADDRESS, port=port))
        servers.start(folder.name, "mfschunkserver", "-f", "-c", config, "start")

    def unmount(self, place: Place) -> None:
        run("umount", place.mount)
