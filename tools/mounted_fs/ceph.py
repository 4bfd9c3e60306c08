# SPDX-License-Identifier: BSD-3-Clause
"""CephFS by its FUSE client, from Debian's packages: one monitor, one store, one metadata server.

They keep all in one folder, and listen on the address of the servers' network namespace alone.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path

from tools.mounted_fs.kinds import Needs, Place
from tools.mounted_fs.processes import ADDRESS, CannotMount, Servers, run
from tools.mounted_fs.servers import FUSE, NETWORK, wait_until

PORT = 33300
# One copy of all: nothing here outlives a session. No manager: it counts and balances, and is not
# needed for data.
CONFIG = """\
[global]
fsid = {fsid}
mon_host = v2:{address}:{port}
mon_initial_members = a
public_addr = {address}
ms_bind_msgr1 = false
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_data_avail_warn = 0
mon_data_avail_crit = 0
osd_objectstore = bluestore
osd_memory_target = 1073741824
bluestore_block_size = {size}
client_mount_timeout = 10
mon_data = {folder}/mon
osd_data = {folder}/osd
mds_data = {folder}/mds
run_dir = {folder}/run
crash_dir = {folder}/run
log_file = {folder}/run/$name.log
admin_socket = {folder}/run/$name.$pid.asok
pid_file = {folder}/run/$name.pid
"""
POOLS = ("data", "meta")
GROUPS = "8"  # placement groups of each


@dataclass(frozen=True)
class Ceph:
    @property
    def needs(self) -> Needs:
        commands = (
            *NETWORK,
            ("ceph-mon", "ceph-mon"),
            ("ceph-osd", "ceph-osd"),
            ("ceph-mds", "ceph-mds"),
            ("ceph-fuse", "ceph-fuse"),
            ("ceph", "ceph-common"),
            ("monmaptool", "ceph-common"),
            ("getfattr", "attr"),
            ("mkfs.ext4", "e2fsprogs"),
        )
        return Needs(commands, devices=FUSE, kernel=("fuse", "ext4"))

    def mount(self, place: Place) -> None:
        servers = place.servers
        folder = servers.disk() / "ceph"
        for name in ("mon", "osd", "mds", "run"):
            (folder / name).mkdir(parents=True)
        fsid = str(uuid.uuid4())
        config = folder / "ceph.conf"
        config.write_text(
            CONFIG.format(
                fsid=fsid, address=ADDRESS, port=PORT, folder=folder, size=2 * place.image_bytes
            )
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

    def unmount(self, place: Place) -> None:
        run("umount", place.mount)


def wait_for(servers: Servers, config: Path, server: str, kind: str, state: str) -> None:
    """Until the monitor says so of a server."""

    def is_so() -> None:
        servers.check(server)
        if state not in (said := ask(servers, config, kind, "stat")):
            raise CannotMount(said.strip())

    wait_until(f"{server} was not {state!r}", is_so)


def ask(servers: Servers, config: Path, *words: str) -> str:
    return servers.run("ceph", "-c", config, "--connect-timeout", "10", *words)
