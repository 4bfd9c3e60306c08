# SPDX-License-Identifier: BSD-3-Clause
"""`iogauge site new`: a first site file that works, from what the machine shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from iogauge.measure.new_site import mounts, schedulers
from iogauge.measure.new_site.machine import Answer, Machine, find_modules

MOUNTS = """\
sysfs /sys sysfs rw 0 0
/dev/sda2 / ext4 rw 0 0
/dev/sda1 /boot xfs rw 0 0
10.0.0.1@o2ib:/scratch /lustre/scratch lustre rw,flock 0 0
/dev/gpfs1 /gpfs gpfs rw 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
server:/tools /opt/tools nfs4 ro,vers=4.2 0 0
server:/node /var/lib/node nfs rw 0 0
ceph-fuse /ceph fuse.ceph-fuse rw 0 0
mfs#10.0.0.2:9421 /mfs fuse rw 0 0
gvfsd-fuse /run/user/1000/gvfs fuse.gvfsd-fuse rw 0 0
/dev/nvme0n1 /scratch xfs rw 0 0
/dev/nvme0n1 /var/lib/containers/scratch xfs rw 0 0
/dev/sdb1 /my\\040data xfs rw 0 0
server:/home/cephfs.iso /my_data nfs4 rw 0 0
"""
Commands = Mapping[str, str | Answer]
SINFO = " ".join(schedulers.SINFO)
# Two kinds of nodes in `main`; `old` is down.
NODES = """\
main|up|90|2|24|196608|1-12:00:00
main|up|10|2+|16|98304+|1-12:00:00
fat|up|4|4|18|1572864|infinite
old|down|8|1|4|16000|30:00
"""
SLURM = {"sbatch": "", "sacct": "", SINFO: NODES, "sacct -n -X": ""}
NOT_THERE = Answer(trouble="Unable to contact slurm controller (connect failure)")
QUEUES = """\
Queue: workq
    queue_type = Execution
    resources_max.walltime = 24:00:00
    enabled = True
    started = True

Queue: route
    queue_type = Route
    enabled = True
    started = True

Queue: behind
    queue_type = Execution
    from_route_only = True
    enabled = True
    started = True

Queue: staff
    queue_type = Execution
    acl_user_enable = True
    acl_users = alice,bob
    acl_group_enable = False
    enabled = True
    started = True

Queue: closed
    queue_type = Execution
    enabled = False
    started = True

"""
PBS_NODES = """\
n1
     Mom = n1
     state = free
     resources_available.mem = 131072mb
     resources_available.ncpus = 24

n2
     state = job-busy
     resources_available.mem = 67108864kb
     resources_available.ncpus = 20

login
     state = offline
     resources_available.mem = 8gb
     resources_available.ncpus = 2

n3
     state = state-unknown,down
     resources_available.mem = 8gb
     resources_available.ncpus = 1
"""
QUEUED = ["workq", "route", "staff"]
TORQUE_NODES = """\
n1
     state = free
     np = 16
     status = opsys=linux,ncpus=16,physmem=65931332kb,availmem=1kb
"""
PBS = {"qsub": "", "qstat -Q -f": QUEUES, "pbsnodes -a": PBS_NODES}
COBALT = """\
Name     Users  MinTime   MaxTime   MaxRunning  State
=====================================================
default  None   00:05:00  06:00:00  20          running
R.old    a:b    None      None      None        stopped
"""
LOADLEVELER = """\
Name                 MaxJobCPU     MaxProcCPU  Free   Max Description
                    d+hh:mm:ss     d+hh:mm:ss Slots Slots
--------------- -------------- -------------- ----- ----- ---------------------
parallel             undefined      undefined   256   512
--------------------------------------------------------------------------------
"Free Slots" values of the classes "parallel" are constrained by the MAX_STARTERS limit(s).
"""
LMOD_AVAIL = "/modules/Core:\ngcc/12.2(default)\nopenmpi/\nopenmpi/4.1.5(L,D)\nvim/9\n"


class Made(Machine):
    """Commands are a table: a word, found on the PATH; a line, and what it prints."""

    def __init__(
        self,
        commands: Commands | None = None,
        table: str = MOUNTS,
        **variables: str,
    ) -> None:
        self.commands = commands or {}
        self.table = table
        self.variables = variables

    def which(self, command: str) -> str | None:
        return f"/usr/bin/{command}" if command in self.commands else None

    def ask(self, *words: str) -> Answer:
        said = self.commands.get(" ".join(words), Answer(trouble="not found"))
        if words[0] == "bash":
            said = self.commands.get("module avail", "")
        return said if isinstance(said, Answer) else Answer(said)

    def variable(self, name: str) -> str:
        return self.variables.get(name, "")

    def mounts(self) -> str:
        return self.table

    def is_file(self, path: str) -> bool:
        return path.endswith("/init/bash")


def all_of(*commands: Commands) -> Commands:
    return {key: text for some in commands for key, text in some.items()}


@pytest.mark.parametrize(
    ("commands", "back_end", "partitions"),
    [
        (all_of(SLURM, PBS), "slurm.j2", ["main", "fat"]),
        (all_of(SLURM, {"sacct -n -X": Answer(trouble="disabled")}), "squeue.j2", ["main", "fat"]),
        ({"sbatch": "", SINFO: NODES}, "squeue.j2", ["main", "fat"]),
        (all_of(PBS, {"qstat --version": "pbs_version = 22.05\n"}), "pbs.j2", QUEUED),
        (all_of(PBS, {"qstat --version": "Version: 6.1.2\n"}), "torque.j2", QUEUED),
        ({"qsub": "", "cqstat": "", "cqstat -Q": COBALT}, "cobalt.j2", ["default"]),
        ({"llsubmit": "", "llclass": LOADLEVELER}, "loadleveler.j2", ["parallel"]),
        ({}, "local.j2", []),
    ],
)
def test_the_batch_system_is_the_one_that_answers(
    commands: Commands, back_end: str, partitions: list[str]
) -> None:
    found = schedulers.find(Made(commands))
    assert found.back_end == back_end
    assert [part.name for part in found.partitions] == partitions
    assert found.remarks == []


def test_a_batch_system_that_does_not_answer_is_not_taken_and_told() -> None:
    silent = all_of(SLURM, {SINFO: NOT_THERE})
    found = schedulers.find(Made(silent))
    assert (found.back_end, found.why) == ("local.j2", "no batch system answers")
    assert found.remarks == [f"sinfo is there, but does not answer: {NOT_THERE.trouble}"]
    other = schedulers.find(Made(all_of(silent, PBS)))
    assert (other.back_end, other.remarks) == ("torque.j2", found.remarks)


@pytest.mark.parametrize(
    ("asked", "beside", "code", "patience", "why"),
    [
        ("sinfo", "sbatch", "echo a >&2; echo 'no controller' >&2; exit 1", 600.0, "no controller"),
        ("qstat", "qsub", "exec /bin/sleep 600", 0.2, "no answer within 0 s"),
    ],
)
def test_the_real_commands_are_asked_and_waited_for_a_while(
    asked: str, beside: str, code: str, patience: float, why: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """With commands on the PATH: one that fails, one that hangs."""
    for name, script in ((asked, code), (beside, "exit 0")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("iogauge.measure.new_site.machine.PATIENCE", patience)
    found = schedulers.find(Machine())
    assert found.back_end == "local.j2"
    assert found.remarks == [f"{asked} is there, but does not answer: {why}"]


def test_a_partition_has_the_numbers_of_its_smallest_node() -> None:
    main, fat = schedulers.find(Made(SLURM)).partitions
    assert (main.nodes, main.cores, main.memory) == (100, 32, 98304)
    assert (fat.nodes, fat.cores, fat.memory) == (4, 72, 1572864)
    assert main.access == "--partition=main"
    assert (main.max_time, fat.max_time) == (36 * 3600, 0)
    pbs = schedulers.find(Made(PBS)).partitions[0]
    assert (pbs.nodes, pbs.cores, pbs.memory, pbs.access) == (2, 20, 65536, "-q workq")
    assert pbs.max_time == 24 * 3600
    torque = schedulers.find(Made(all_of(PBS, {"pbsnodes -a": TORQUE_NODES}))).partitions[0]
    assert (torque.nodes, torque.cores, torque.memory) == (1, 16, 64386)


def test_file_systems_are_those_of_proc_mounts() -> None:
    tools = {"lfs": "", "stat": "", "getfattr": ""}
    lines = {line.split('"')[1]: line for line in mounts.entries(Made(tools))}
    assert list(lines) == [
        *("lustre_scratch", "gpfs", "home", "ceph", "mfs", "scratch", "my_data", "my_data_"),
    ]
    assert '{"kind": "lustre", "count": 4, "size": "1M"}' in lines["lustre_scratch"]
    assert '{"kind": "gpfs"}' in lines["gpfs"]
    assert '{"kind": "ceph", "count": 4, "size": "1M"}' in lines["ceph"]
    for name in ("home", "mfs", "scratch", "my_data"):
        assert "striping" not in lines[name]
    assert 'file_system("/my data", kind="xfs")' in lines["my_data"]
    assert not any("striping" in line for line in mounts.entries(Made()) if "gpfs" not in line)


@pytest.mark.parametrize(
    ("mounted", "right"),
    [
        ("fs1:/export/home/al /home/al nfs4,fs1:/export/home/bo /home/bo nfs4", ["/home"]),
        ("fs1:/home/al /home/al nfs4,fs2:/home/bo /home/bo nfs4", ["/home/al", "/home/bo"]),
        ("fs1:/home/al /home/al nfs4,fs1:/soft/bo /home/bo nfs4", ["/home/al", "/home/bo"]),
        ("fs1:/home/al /home/al nfs4", ["/home/al"]),
        ("fs1:/net/scratch /net/scratch nfs,fs1:/net/proj /net/proj nfs",
         ["/net/scratch", "/net/proj"]),
        ("fs1:/u1 /u1 nfs,fs1:/u2 /u2 nfs", ["/u1", "/u2"]),
        ("a@tcp:b@tcp:/l1 /fs/l1 lustre,c@tcp:/l2 /fs/l2 lustre", ["/fs/l1", "/fs/l2"]),
        ("/dev/sda1 /network/cache xfs,/dev/sdb1 /srv/metadata ext4,/dev/sdc1 /run/sssd ext4", []),
        ("/dev/sda1 /lscratch xfs,/dev/sdb1 /data1 xfs,/dev/sdc1 /fs_work xfs,/dev/sdd1 /Work xfs",
         ["/lscratch", "/data1", "/fs_work", "/Work"]),
        ("/dev/sda1 /mnt/ssd0 xfs,/dev/sdb1 /projects ext4,/dev/sdc1 /local ext4",
         ["/mnt/ssd0", "/projects", "/local"]),
    ],
)  # fmt: skip
def test_mounts_that_count(mounted: str, right: list[str]) -> None:
    lines = "".join(f"{line} rw 0 0\n" for line in mounted.split(","))
    assert [mount.path for mount in mounts.read(lines)] == right


def test_the_users_own_folder_is_the_one_that_a_variable_names() -> None:
    here = Made(SCRATCH="/lustre/scratch/me", WORK="/elsewhere")
    lines = mounts.entries(here)
    assert 'file_system("/elsewhere"' in lines[0]
    assert 'file_system("/lustre/scratch/me"' in lines[1]
    assert "yours, by its variable" in lines[1] and "yours there" in lines[2]


def test_without_such_mounts_tmp_is_better_than_nothing() -> None:
    (line,) = mounts.entries(Made(table="/dev/sda2 / ext4 rw 0 0\n"))
    assert line.startswith('"tmp": common.file_system("/tmp", kind="ext4")')
    (line,) = mounts.entries(Made(table="/dev/sda2 / ext4 rw 0 0\n"), batch=True)
    assert '/tmp"' not in line and "CHECK" in line


def test_the_variables_of_a_site_count_on_any_file_system() -> None:
    here = Made(table="/dev/sda2 / ext4 rw 0 0\n", SCRATCH="/home/scratch/me")
    for batch in (False, True):
        (line,) = mounts.entries(here, batch)
        assert line.startswith('"scratch": common.file_system("/home/scratch/me", kind="ext4")')


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1-12:00:00", 129600), ("24:00:00", 86400), ("30:00", 1800), ("30", 1800), ("2-3", 183600),
     ("infinite", 0), ("", 0)],
)  # fmt: skip
def test_a_time_limit_is_read(text: str, seconds: int) -> None:
    assert schedulers.in_seconds(text) == seconds


@pytest.mark.parametrize(
    ("variables", "system"),
    [
        ({"LMOD_PKG": "/lmod", "MODULESHOME": "/lmod"}, "Lmod"),
        ({"MODULESHOME": "/usr/share/modules"}, "Environment Modules"),
        ({}, ""),
    ],
)
def test_modules_systems(variables: dict[str, str], system: str) -> None:
    machine = Made({"module avail": LMOD_AVAIL}, LOADEDMODULES="gcc/12.2:vim/9", **variables)
    found = find_modules(machine)
    assert found.system == system
    assert found.loaded == (["gcc/12.2", "vim/9"] if system else [])
    assert found.offered == (["gcc/12.2", "openmpi/4.1.5"] if system else [])


def test_the_profile_of_the_machine_knows_where_modules_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Made, "is_file", lambda _, path: True)
    assert find_modules(Made(LMOD_PKG="/lmod")).init == "/etc/profile.d/lmod.sh"


def test_spack_is_found_and_pointed_at() -> None:
    (remark,) = find_modules(Made({"spack": ""})).remarks
    assert "/usr/bin/spack" in remark and "common.spack_stack" in remark
    assert find_modules(Made(SPACK_ROOT="/sw/spack")).spack == "/sw/spack"
