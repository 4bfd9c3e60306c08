# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm of two nodes on this machine, for as long as a command runs.

    python -m tests.slurm_cluster [--without-accounting] -- COMMAND ...

Debian's munged, mariadbd, slurmdbd, slurmctld and two slurmd, on the loopback address and free
ports, with everything they write in a temporary folder. Works as root and as a plain user (who
is then Slurm's only user). COMMAND finds the cluster by SLURM_CONF. Daemons and jobs end
with this process, even if it is killed (tests/slurm_guard.py). Only processes that were started
here are ever ended.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from iogauge.common.paths import ROOT

NODES = ("ionode1", "ionode2")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
PR_SET_PDEATHSIG = 1
PATIENCE = 300.0

# What must be there, and the Debian package that brings it.
NEEDS = {
    "munged": "munge",
    "mariadbd": "mariadb-server-core",
    "mariadb-install-db": "mariadb-server-core",
    "my_print_defaults": "mariadb-client-core",
    "slurmdbd": "slurmdbd",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sbatch": "slurm-client",
}

SLURM_CONF = """\
ClusterName=iogauge
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld}
SlurmUser={user}
SlurmdUser={user}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_min_interval=0
# Nodes that claim more cores than the machine has: they share it.
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=30
MinJobAge=10
OverTimeLimit=0
{nodes}
PartitionName=batch Nodes=ionode[1-2] Default=YES MaxTime=60 State=UP
"""

# A machine to ask about, as `sbatch --test-only` does; none of its nodes is ever started. With
# accounting each of them would be recorded, for 6 CPU seconds.
EDISON = """\
SuspendProgram=/bin/false
ResumeProgram=/bin/false
SuspendTime=86400
SuspendExcParts=batch
NodeName=edison[1-5576] CPUs=24 RealMemory=62464 State=CLOUD
PartitionName=regular Nodes=edison[1-5576] MaxTime=24:00:00 State=UP
"""

ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd}
AccountingStoragePass={folder}/munge.sock
"""

SLURMDBD_CONF = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={dbd}
CommunicationParameters=NoInAddrAny
SlurmUser={user}
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_accounting
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
"""


class ClusterProblem(Exception):
    """The cluster cannot be started; the text says which part and why."""


def lacking() -> str | None:
    """What is not installed here, or None."""
    missing = {
        package for command, package in NEEDS.items() if not shutil.which(command, path=PATH)
    }
    return f"Debian packages are missing: {', '.join(sorted(missing))}" if missing else None


def _end_with_parent() -> None:
    """In the child: the kernel ends it when this process is gone, however that happened."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback address that nobody listens on now. Below those that the system gives
    to programs which ask for any, such as MPI's, and not ports of another process's cluster."""
    ports: list[int] = []
    port = 12000 + os.getpid() * 8 % 18000
    while len(ports) < count:
        port += 1
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            ports.append(port)
    return ports


class Cluster:
    """A context manager; inside of it `environment` leads Slurm's commands to the cluster."""

    def __init__(self, *, accounting: bool = True, cores: int = 4) -> None:
        self.accounting = accounting
        self.cores = cores
        self.daemons: list[tuple[str, subprocess.Popen[bytes]]] = []
        self.folder = Path()
        self.guard: subprocess.Popen[bytes]

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{os.environ.get('PATH', '')}:{PATH}",
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "MYSQL_UNIX_PORT": str(self.folder / "db.sock"),
        }

    def __enter__(self) -> Cluster:
        problem = lacking()
        if problem:
            raise ClusterProblem(problem)
        self.folder = Path(tempfile.mkdtemp(prefix="iogauge-slurm-", dir="/tmp"))
        self.folder.chmod(0o755)  # munged wants to be reachable by every user
        guard = [sys.executable, "-m", "tests.slurm_guard", str(self.folder)]
        self.guard = subprocess.Popen(
            guard, cwd=ROOT, stdin=subprocess.PIPE, start_new_session=True
        )
        try:
            self.configure()
            self.start_all()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.stop()

    # ------------------------------------------------------------------------ starting

    def configure(self) -> None:
        ctld, dbd, *slurmd = free_ports(2 + len(NODES))
        host = socket.gethostname().split(".")[0]
        nodes = "\n".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} "
            f"CPUs={self.cores} RealMemory=1024"
            for name, port in zip(NODES, slurmd, strict=True)
        )
        values = {
            "folder": self.folder, "host": host, "user": pwd.getpwuid(os.geteuid()).pw_name,
            "ctld": ctld, "dbd": dbd, "nodes": nodes,
        }  # fmt: skip
        more = ACCOUNTING if self.accounting else EDISON
        self.write("slurm.conf", (SLURM_CONF + more).format(**values))
        self.write("slurmdbd.conf", SLURMDBD_CONF.format(**values))
        # It is only loaded: linuxproc tracks the processes.
        self.write("cgroup.conf", "CgroupPlugin=cgroup/v1\n")
        (self.folder / "munge.key").write_bytes(secrets.token_bytes(128))
        (self.folder / "munge.key").chmod(0o600)
        for name in ("state", "db", *(f"{kind}-{n}" for n in NODES for kind in ("spool", "tmp"))):
            (self.folder / name).mkdir()

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o600 if name == "slurmdbd.conf" else 0o644)

    def start_all(self) -> None:
        at = str(self.folder)
        files = [f"--{kind}-file={at}/munge.{kind}" for kind in ("key", "pid", "log", "seed")]
        self.start("munged", "--foreground", f"--socket={at}/munge.sock", *files)
        self.wait_for("munged", (self.folder / "munge.sock").exists)
        if self.accounting:
            self.start_accounting()
        self.start("slurmctld", "-D")
        self.wait_for("slurmctld", lambda: self.succeeds("scontrol", "ping"))
        for name in NODES:
            self.start("slurmd", "-D", "-N", name)
        self.wait_for("slurmd", self.nodes_are_idle)

    def start_accounting(self) -> None:
        at = str(self.folder)
        user = f"--user={pwd.getpwuid(os.geteuid()).pw_name}"
        self.run(
            "mariadb-install-db", "--no-defaults", f"--datadir={at}/db", "--skip-test-db",
            "--auth-root-authentication-method=normal", user,
        )  # fmt: skip
        self.start(
            "mariadbd", "--no-defaults", f"--datadir={at}/db", f"--socket={at}/db.sock", user,
            "--skip-networking", "--skip-log-bin", f"--pid-file={at}/db.pid",
            "--innodb-buffer-pool-size=16M",
        )  # fmt: skip
        self.wait_for("mariadbd", (self.folder / "db.sock").exists)
        self.start("slurmdbd", "-D")
        self.wait_for("slurmdbd", lambda: self.succeeds("sacctmgr", "-n", "show", "cluster"))
        self.run("sacctmgr", "-i", "add", "cluster", "iogauge")

    def start(self, *words: str) -> None:
        with (self.folder / f"{words[0]}-{words[-1]}.out".replace("/", "_")).open("wb") as out:
            daemon = subprocess.Popen(
                words, env=self.environment, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, preexec_fn=_end_with_parent,
            )  # fmt: skip
        self.daemons.append((words[0], daemon))

    def run(self, *words: str) -> str:
        done = subprocess.run(
            words, env=self.environment, capture_output=True, text=True, timeout=PATIENCE,
            check=False,
        )  # fmt: skip
        if done.returncode:
            raise ClusterProblem(f"{words[0]}: {done.stdout}{done.stderr}".strip())
        return done.stdout

    def succeeds(self, *words: str) -> bool:
        try:
            self.run(*words)
        except (ClusterProblem, subprocess.TimeoutExpired):
            return False
        return True

    def nodes_are_idle(self) -> bool:
        with suppress(ClusterProblem):  # on a busy machine slurmctld may answer too late
            states = self.run("sinfo", "-h", "-N", "-p", "batch", "-o", "%T").split()
            return states == ["idle"] * len(NODES)
        return False

    def wait_for(self, what: str, is_ready: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not is_ready():
            dead = [name for name, daemon in self.daemons if daemon.poll() is not None]
            if dead or time.monotonic() > end:
                why = f"{', '.join(dead)} ended" if dead else f"not ready after {PATIENCE:.0f} s"
                raise ClusterProblem(f"{what}: {why}\n{self.last_words()}")
            time.sleep(0.1)

    def last_words(self) -> str:
        """The ends of all logs."""
        logs = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out")])
        return "\n".join(
            f"{log.name}: {line}"
            for log in logs
            for line in log.read_text(errors="replace").splitlines()[-3:]
        )

    # ------------------------------------------------------------------------ stopping

    def stop(self) -> None:
        """Jobs first, so that no step outlives its slurmd; then the daemons, the last one first."""
        if self.succeeds("scontrol", "ping"):
            self.cancel_jobs()
        for _, daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.daemons.clear()
        self.guard.communicate()  # closes its pipe: it ends what is left and removes the folder

    def cancel_jobs(self) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            jobs = self.run("squeue", "-h", "-o", "%A").split()
            if not jobs:
                return
            self.succeeds("scancel", *jobs)
            time.sleep(0.3)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tests.slurm_cluster", description=__doc__)
    parser.add_argument("--without-accounting", action="store_true")
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args(words)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(143))
    try:
        with Cluster(accounting=not asked.without_accounting) as cluster:
            return subprocess.run(asked.command, env=cluster.environment, check=False).returncode
    except ClusterProblem as problem:
        print(f"tests.slurm_cluster: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
