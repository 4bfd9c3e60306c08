# SPDX-License-Identifier: BSD-3-Clause
"""The table of file systems: GlusterFS, MooseFS and CephFS of Debian's packages, by FUSE; NFSv4.2
and PVFS2 by clients of the kernel, mounted only in a guest (tests/guest): a kernel's server does
not end with a process."""

import os
import uuid
from pathlib import Path

from tests.mounted_fs.kinds import Elsewhere, How, Kind, Loop, Memory, Place, of_servers
from tests.mounted_fs.processes import (
    ADDRESS,
    CannotMount,
    Servers,
    configure,
    find,
    run,
    wait_until,
    write_probe,
)

# Fixed folders of glusterd's state: hidden below empty file systems in memory.
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
        # The client reports success before it has connected to all bricks.
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
MOOSE_PORT = 9430


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
        # Delete at once; otherwise space fills with invisible files.
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
        config = configure(folder / name, name, port=MOOSE_PORT + number)
        servers.start(folder.name, "mfschunkserver", "-f", "-c", config, "start")


CEPH_PORT = 33300
POOLS = ("data", "meta")
GROUPS = "8"  # placement groups of each


class Ceph(How):
    """By the FUSE client: one monitor, one store, one metadata server. One copy of all
    (conf/ceph.conf): nothing here outlives a session. No manager: it counts and balances, and is
    not needed for data."""

    needs = of_servers(
        *("ceph-mon", "ceph-osd", "ceph-mds", "ceph-fuse", "ceph", "monmaptool", "setfattr")
    )

    def mount(self, place: Place) -> None:
        servers = place.servers
        folder = servers.disk() / "ceph"
        for name in ("mon", "osd", "mds", "run"):
            (folder / name).mkdir(parents=True)
        fsid = str(uuid.uuid4())
        config = configure(
            *(folder / "ceph.conf", "ceph.conf"),
            fsid=fsid,
            port=CEPH_PORT,
            size=2 * place.image_bytes,
        )
        self._start_monitor(servers, config, fsid)
        self._start_store(servers, config)
        for pool in POOLS:
            ask(servers, config, "osd", "pool", "create", pool, GROUPS, GROUPS)
        ask(servers, config, "fs", "new", "test", "meta", "data")
        servers.start("ceph-mds", "ceph-mds", "-c", config, "-i", "a", "-f")
        wait_for(servers, config, "ceph-mds", "mds", "up:active")
        servers.start("ceph-fuse", "ceph-fuse", "-c", config, "-f", place.mount)

        def is_mounted() -> None:
            servers.check("ceph-fuse")
            if not place.mount.is_mount():
                raise CannotMount("not mounted yet")

        wait_until("ceph-fuse did not mount", is_mounted)
        # Without a manager the store's space is unknown. With a quota, statfs reports that.
        run("setfattr", "-n", "ceph.quota.max_bytes", "-v", str(place.image_bytes), place.mount)

    @staticmethod
    def _start_monitor(servers: Servers, config: Path, fsid: str) -> None:
        monitors = config.parent / "monmap"
        address = f"[v2:{ADDRESS}:{CEPH_PORT}]"
        servers.run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", address, monitors)
        servers.run("ceph-mon", "-c", config, "--mkfs", "-i", "a", "--monmap", monitors)
        servers.start("ceph-mon", "ceph-mon", "-c", config, "-i", "a", "-f")
        wait_for(servers, config, "ceph-mon", "mon", "quorum 0 a")

    @staticmethod
    def _start_store(servers: Servers, config: Path) -> None:
        store = str(uuid.uuid4())
        ask(servers, config, "osd", "new", store)
        servers.run("ceph-osd", "-c", config, "-i", "0", "--mkfs", "--osd-uuid", store)
        servers.start("ceph-osd", "ceph-osd", "-c", config, "-i", "0", "-f")
        wait_for(servers, config, "ceph-osd", "osd", "1 up")


def wait_for(servers: Servers, config: Path, server: str, kind: str, state: str) -> None:
    def is_so() -> None:
        servers.check(server)
        if state not in (said := ask(servers, config, kind, "stat")):
            raise CannotMount(said.strip())

    wait_until(f"{server} was not {state!r}", is_so)


def ask(servers: Servers, config: Path, *words: str) -> str:
    return servers.run("ceph", "-c", config, "--connect-timeout", "10", *words)


# Fixed folders of the NFS programs' state: in memory, for this session only.
NFS_STATE = Path("/var/lib/nfs")
THREADS = "4"
# Seconds of the lease, and of a new server's grace period for old clients.
LEASE = "10"


class Nfs(How):
    """A folder of an ext4, exported and mounted as version 4.2."""

    needs = of_servers(
        *("rpc.nfsd", "rpc.mountd", "exportfs", "mount.nfs4"), fuse=False, kernel=("nfsd", "nfs4")
    )

    def mount(self, place: Place) -> None:
        servers = place.servers
        folder = servers.disk() / place.name
        folder.mkdir()
        NFS_STATE.mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "tmpfs", "tmpfs", NFS_STATE)
        for name in ("rpc_pipefs", "v4recovery"):
            (NFS_STATE / name).mkdir()
        for name in ("etab", "rmtab", "xtab"):
            (NFS_STATE / name).touch()
        servers.run("mount", "-t", "rpc_pipefs", "rpc_pipefs", NFS_STATE / "rpc_pipefs")
        servers.run("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
        words = "rw,sync,no_root_squash,no_subtree_check,insecure,fsid=0"
        servers.run("exportfs", "-o", words, f"{ADDRESS}:{folder}")
        servers.start("mountd", "rpc.mountd", "--foreground", "-N", "3", "-N", "2")
        of_server = ("-N", "3", "-V", "4.2", "-G", LEASE, "-L", LEASE, "-H", ADDRESS, THREADS)
        servers.run("rpc.nfsd", *of_server)
        options = "vers=4.2,sec=sys,proto=tcp"
        command = ("mount", "-t", "nfs4", "-o", options, f"{ADDRESS}:/", place.mount)
        servers.run_until("NFS was not mounted", ["mountd"], *command)
        # The first file waits for the end of the grace period.
        write_probe(place.mount)

    def unmount(self, place: Place) -> None:
        run("umount", place.mount)
        place.servers.run("rpc.nfsd", "0")
        place.servers.run("exportfs", "-ua")


DEVICE = "/dev/pvfs2-req"
PVFS2_PORT = 3334
FIRST_HANDLE = 3
HANDLES = 2**48  # of each server, for data and for metadata
PVFS2_NAME = "test"


class Pvfs2(How):
    """Some servers; the client is the kernel's, with a program of OrangeFS behind it."""

    needs = of_servers(
        *("pvfs2-server", "pvfs2-client", "pvfs2-client-core"), fuse=False, kernel=("pvfs2",)
    )

    def __init__(self, servers: int) -> None:
        self.servers = servers

    def mount(self, place: Place) -> None:
        servers = place.servers
        names = [f"pvfs2-{number}" for number in range(self.servers)]
        addresses = [f"tcp://{ADDRESS}:{PVFS2_PORT + number}" for number in range(self.servers)]
        for name in names:
            self._start(servers, name, dict(zip(names, addresses, strict=True)))
        client = servers.folder / "pvfs2-client"
        client.mkdir()
        servers.start(
            *("pvfs2-client", "pvfs2-client", "-f", "-L", client / "log"),
            *("-p", find("pvfs2-client-core") or ""),
        )

        def mounts() -> None:
            for name in (*names, "pvfs2-client"):
                servers.check(name)
            if not Path(DEVICE).exists():
                raise CannotMount(f"no {DEVICE}")
            servers.run("mount", "-t", "pvfs2", f"{addresses[0]}/{PVFS2_NAME}", place.mount)

        wait_until("PVFS2 was not mounted", mounts)

    @staticmethod
    def _start(servers: Servers, name: str, addresses: dict[str, str]) -> None:
        folder = servers.disk() / name
        folder.mkdir()
        config = configure(folder / "config", "pvfs2.conf", **shared(addresses))
        servers.run("pvfs2-server", "-f", "-a", name, config)
        servers.start(name, "pvfs2-server", "-d", "-a", name, config)


def shared(addresses: dict[str, str]) -> dict[str, str]:
    """What all servers' configurations say of the file system."""
    meta, data = (
        "\n".join(
            f"\t\tRange {name} {first + number * HANDLES}-{first + (number + 1) * HANDLES - 1}"
            for number, name in enumerate(addresses)
        )
        for first in (FIRST_HANDLE, FIRST_HANDLE + len(addresses) * HANDLES)
    )
    aliases = "\n".join(f"\tAlias {name} {address}" for name, address in addresses.items())
    return {"aliases": aliases, "name": PVFS2_NAME, "meta": meta, "data": data}


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
