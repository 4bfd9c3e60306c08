# SPDX-License-Identifier: BSD-3-Clause
"""GlusterFS and MooseFS, from Debian's packages.

The servers listen on one address of the loopback device of their network namespace
(tools/mounted_fs/processes.py). Their file systems are FUSE mounts.
"""

import os
from pathlib import Path

from tools.mounted_fs.kinds import How, Place, of_servers
from tools.mounted_fs.processes import (
    ADDRESS,
    CannotMount,
    Servers,
    configure,
    run,
    wait_until,
    write_probe,
)

# Where glusterd keeps its state, whatever it is told: hidden below empty file systems in memory.
GLUSTER_FOLDERS = ("/var/lib/glusterd", "/var/log/glusterfs", "/run/gluster")


class Gluster(How):
    """A volume over bricks of one glusterd. `layout`: words of `volume create`."""

    needs = of_servers("glusterd", "gluster", "glusterfs")

    def __init__(self, bricks: int, *layout: str) -> None:
        self.bricks, self.layout = bricks, layout

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
        wait_until(f"volume {place.name} took no file", lambda: write_probe(place.mount))

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
        words = ("gluster", "--mode=script", "volume", "list")
        servers.run_until("glusterd did not answer", ["glusterd"], *words)

    def unmount(self, place: Place) -> None:
        run("umount", place.mount)
        place.servers.run("gluster", "--mode=script", "volume", "stop", place.name, "force")


EMPTY_METADATA = Path("/var/lib/mfs/metadata.mfs.empty")
FIRST_PORT = 9430


class Moose(How):
    """A master and some chunk servers, each with a folder."""

    needs = of_servers("mfsmaster", "mfschunkserver", "mfsmount", "mfssettrashtime")

    def __init__(self, chunk_servers: int) -> None:
        self.chunk_servers = chunk_servers

    def mount(self, place: Place) -> None:
        servers = place.servers
        disk = servers.disk()
        self._start_master(disk / "mfsmaster", servers)
        for number in range(self.chunk_servers):
            self._start_chunk_server(disk / f"mfschunkserver-{number}", number, servers)
        words = ("mfsmount", "-H", ADDRESS, place.mount)
        servers.run_until("mfsmount did not mount", ["mfsmaster"], *words)

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
        config = configure(folder / "mfsmaster.cfg", "mfsmaster.cfg")
        servers.start("mfsmaster", "mfsmaster", "-f", "-c", config, "start")

    @staticmethod
    def _start_chunk_server(folder: Path, number: int, servers: Servers) -> None:
        chunks = folder / "chunks"
        chunks.mkdir(parents=True)
        (folder / "hdd.cfg").write_text(f"{chunks}\n")
        name = "mfschunkserver.cfg"
        config = configure(folder / name, name, port=FIRST_PORT + number)
        servers.start(folder.name, "mfschunkserver", "-f", "-c", config, "start")
