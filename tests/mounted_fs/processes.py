# SPDX-License-Identifier: BSD-3-Clause
"""Commands that report why they fail, and servers in their own network namespace."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path


def orangefs() -> list[str]:
    """Folders of OrangeFS's programs, which no package of Debian brings."""
    root = os.environ.get("ORANGEFS", "")
    return [f"{root}/sbin", f"{root}/bin"] if root else []


# Administration commands are not on every user's PATH.
SEARCH = os.pathsep.join([os.environ.get("PATH", os.defpath), *orangefs(), "/usr/sbin", "/sbin"])

# Reserved for documentation: no machine has it, and no packet leaves.
ADDRESS = "192.0.2.1"

# The process that keeps the namespace. GlusterFS refuses loopback addresses.
HOLD = f"ip link set lo up && ip address add {ADDRESS}/32 dev lo && echo up && exec sleep infinity"


class CannotMount(Exception):
    """Why a file system is not mounted, in one line."""


MARK = ".iogauge-made"  # in a folder that a tool here may empty


def check_own(folder: Path) -> None:
    """Raises CannotMount unless a folder may be emptied."""
    may = (folder / MARK).is_file() or (folder.is_dir() and not any(folder.iterdir()))
    if folder.exists() and not may:
        raise CannotMount(f"{folder} has files of somebody else: name a new folder, or move it")


def find(command: str) -> str | None:
    return shutil.which(command, path=SEARCH)


def run(*words: str | Path, timeout: float = 600, folder: Path | None = None) -> str:
    """The output of a command. Raises CannotMount with its last line if it fails."""
    command = [str(word) for word in words]
    program = find(command[0])
    if program is None:
        raise CannotMount(f"{command[0]} is not installed")
    try:
        done = subprocess.run(
            [program, *command[1:]],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
            cwd=folder,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CannotMount(f"{command[0]} took more than {timeout:.0f} s") from None
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        why = said[-1].strip() if said else f"exit status {done.returncode}"
        raise CannotMount(f"{command[0]}: {why}")
    return done.stdout


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def make_image(path: Path, size: int) -> None:
    with path.open("wb") as image:
        image.truncate(size)


PATIENCE = 30.0  # seconds to wait for a server


def wait_until(what: str, try_it: Callable[[], None]) -> None:
    """Retry until it works. Raises the last error if it never does."""
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


def write_probe(mount: Path) -> None:
    """Raises CannotMount if no file can be written yet."""
    probe = mount / ".probe"
    try:
        probe.write_text("x")
        probe.unlink()
    except OSError as error:
        raise CannotMount(f"{mount}: {error.strerror}") from None


def configure(path: Path, template: str, **values: object) -> Path:
    """`path`, written from conf/TEMPLATE, which has names in braces where `values` go."""
    text = (Path(__file__).parent / "conf" / template).read_text()
    path.write_text(text.format(folder=path.parent, address=ADDRESS, **values))
    return path


@dataclass
class Servers:
    """Processes of a session, on the loopback device of a network namespace that is theirs alone.
    `work`: for their output. `size`: bytes of the file system that holds what they keep."""

    work: Path
    size: int
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.work / "servers"

    def start(self, name: str, *words: str | Path) -> None:
        """Start it in the foreground, in the network namespace."""
        self._spawn(name, [*self._network(), *map(str, words)])

    def run(self, *words: str | Path) -> str:
        return run(*self._network(), *words)

    def check(self, name: str) -> None:
        """Raises CannotMount if a server has ended."""
        status = self.running[name].poll()
        if status is not None:
            text = (self.work / f"{name}.log").read_text(errors="replace")
            last = text.strip().splitlines()[-1:] or ["no word"]
            raise CannotMount(f"{name} ended with status {status}: {last[0]}")

    def run_until(self, what: str, servers: Iterable[str], *words: str | Path) -> None:
        """Retry until the command works, or one of `servers` has ended."""

        def works() -> None:
            for name in servers:
                self.check(name)
            self.run(*words)

        wait_until(what, works)

    def disk(self) -> Path:
        """An ext4 for the servers' storage: they need extended attributes."""
        if not self.folder.is_mount():
            image = self.work / "servers.img"
            make_image(image, self.size)
            run("mkfs.ext4", "-q", "-F", image)
            self.folder.mkdir(exist_ok=True)
            run("mount", "-o", "loop", image, self.folder)
        return self.folder

    def stop(self) -> None:
        while self.running:
            end(self.running.popitem()[1])
        if self.folder.is_mount():
            run("umount", self.folder)

    def _network(self) -> list[str]:
        """The prefix that runs a command in the namespace, which is made on first use."""
        name = "network"
        if name not in self.running:
            self._spawn(name, ["unshare", "--net", "sh", "-c", HOLD])
            log = self.work / f"{name}.log"
            while log.read_text() != "up\n":
                self.check(name)
        return ["nsenter", f"--net=/proc/{self.running[name].pid}/ns/net", "--"]

    def _spawn(self, name: str, words: list[str]) -> None:
        """In a new session: a signal to ours must not reach a server before its file systems are
        unmounted."""
        with (self.work / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(
                [find(words[0]) or words[0], *words[1:]],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "PATH": SEARCH},
            )
