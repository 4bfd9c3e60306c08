# SPDX-License-Identifier: BSD-3-Clause
"""NFSv4.2 and PVFS2: clients of the kernel, and NFS's server too.

What a kernel serves does not end with a process, so these are mounted in a guest only
(tools/guest), which is ended with all that it has.
"""

from pathlib import Path

from tools.mounted_fs.kinds import How, Place, of_servers
from tools.mounted_fs.processes import (
    ADDRESS,
    CannotMount,
    Servers,
    configure,
    find,
    run,
    wait_until,
    write_probe,
)

# Where NFS's programs keep their state, whatever they are told: in memory, in the session alone.
NFS_STATE = Path("/var/lib/nfs")
THREADS = "4"
# Seconds that a client may be silent, and that a new server waits for clients of an old one.
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
        # The first file waits until the server has waited for an old one's clients.
        write_probe(place.mount)

    def unmount(self, place: Place) -> None:
        run("umount", place.mount)
        place.servers.run("rpc.nfsd", "0")
        place.servers.run("exportfs", "-ua")


DEVICE = "/dev/pvfs2-req"
FIRST_PORT = 3334
FIRST_HANDLE = 3
HANDLES = 2**48  # of each server, for data and for metadata
NAME = "test"


class Pvfs2(How):
    """Some servers, each for data and metadata; the client is the kernel's, with a program of
    OrangeFS behind it."""

    needs = of_servers(
        *("pvfs2-server", "pvfs2-client", "pvfs2-client-core"), fuse=False, kernel=("pvfs2",)
    )

    def __init__(self, servers: int) -> None:
        self.servers = servers

    def mount(self, place: Place) -> None:
        servers = place.servers
        names = [f"pvfs2-{number}" for number in range(self.servers)]
        addresses = [f"tcp://{ADDRESS}:{FIRST_PORT + number}" for number in range(self.servers)]
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
            servers.run("mount", "-t", "pvfs2", f"{addresses[0]}/{NAME}", place.mount)

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
    return {"aliases": aliases, "name": NAME, "meta": meta, "data": data}
