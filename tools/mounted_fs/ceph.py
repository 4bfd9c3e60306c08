# SPDX-License-Identifier: BSD-3-Clause
"""CephFS by its FUSE client, from Debian's packages: one monitor, one store, one metadata server.

They keep all in one folder, and listen on the address of the servers' network namespace alone. One
copy of all (conf/ceph.conf): nothing here outlives a session. No manager: it counts and balances,
and is not needed for data.
"""

import uuid
from pathlib import Path

from tools.mounted_fs.kinds import How, Place, of_servers
from tools.mounted_fs.processes import ADDRESS, CannotMount, Servers, configure, run, wait_until

PORT = 33300
POOLS = ("data", "meta")
GROUPS = "8"  # placement groups of each


class Ceph(How):
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
            port=PORT,
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
        # Without a manager nobody counts the store's room. With a limit, statfs tells of that.
        run("setfattr", "-n", "ceph.quota.max_bytes", "-v", str(place.image_bytes), place.mount)

    @staticmethod
    def _start_monitor(servers: Servers, config: Path, fsid: str) -> None:
        monitors = config.parent / "monmap"
        address = f"[v2:{ADDRESS}:{PORT}]"
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
