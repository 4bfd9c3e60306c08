# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command in a virtual machine with Debian's kernel, in this checkout: `make guest`.

    python -m tests.guest [--minutes N] [--memory MIB] [--keep FOLDER] -- COMMAND...

The guest's root is this machine's, read-only; writes go to its memory and are lost with it. It has
no network. $IOGAUGE_OUTPUT is copied to FOLDER at the end. Exit status: the command's; 125 where
there was no guest.
"""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from iogauge.common.paths import ROOT
from reframe_tests.machine.memory import memory
from tests.mounted_fs.kinds import Machine, Needs
from tests.mounted_fs.processes import MARK, CannotMount, check_own, make_image, run

NO_GUEST = 125
DISK_BYTES = 16 * 2**30  # sparse
START_AND_END = 180  # seconds for the guest besides its command, also without KVM
LEAST_MEMORY = 3072  # MiB
PROBE = "iogauge.probe"  # first.sh prints it
PROBE_SECONDS = 15

META = "linux-image-amd64"
FOLDER = ROOT / ".local" / "guest"
BUSYBOX = Path("/bin/busybox")
FIRST = Path(__file__).parent / "first.sh"  # runs before the root is mounted

# Modules needed to mount the root; all others are loaded from there.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_blk", "ext4")

COMMANDS = ("qemu-system-x86_64", "depmod", "busybox", "mkfs.ext4", "apt-get")


@dataclass(frozen=True)
class Kernel:
    version: str
    tree: Path

    @property
    def image(self) -> Path:
        return self.tree / "boot" / f"vmlinuz-{self.version}"


def lacking() -> str:
    """What the machine lacks for a guest; empty if nothing. Changes nothing."""
    return Needs(COMMANDS).lacking_commands(Machine())


def kernel() -> Kernel:
    """The unpacked kernel, else Debian's newest (a download of 70 MB)."""
    here = sorted(FOLDER.glob("linux-image-*/boot/vmlinuz-*"))
    if here:
        return Kernel(here[-1].name.removeprefix("vmlinuz-"), here[-1].parents[1])
    text = run("apt-cache", "depends", META)
    found = re.search(r"Depends: linux-image-(\S+)", text)
    if not found:
        raise CannotMount(f"apt-cache knows no {META}: apt-get update")
    package = f"linux-image-{found[1]}"
    print(f"guest: fetching Debian's {package} (70 MB)", flush=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        folder = Path(name)
        run("apt-get", "-q", "download", package, timeout=3600, folder=folder)
        tree = folder / "tree"
        run("dpkg-deb", "-x", next(folder.glob("*.deb")), tree)
        run("depmod", "-b", tree, found[1])
        tree.rename(FOLDER / package)
    return Kernel(found[1], FOLDER / package)


def modules_in_order(linux: Kernel) -> list[Path]:
    """`MODULES` with their dependencies, in load order."""
    found: dict[Path, None] = {}
    for module in MODULES:
        where = ("-d", linux.tree, "-S", linux.version)
        text = run("modprobe", *where, "--show-depends", module)
        for line in text.splitlines():
            kind, _, file = line.partition(" ")
            if kind == "insmod":
                found[Path(file.strip())] = None
    return list(found)


def initramfs(linux: Kernel, folder: Path) -> Path:
    tree = folder / "initramfs"
    for name in ("bin", "modules", "proc", "sys", "dev", "rw", "lower", "root"):
        (tree / name).mkdir(parents=True)
    shutil.copy(BUSYBOX, tree / "bin" / "busybox")
    shutil.copy(FIRST, tree / "init")
    (tree / "init").chmod(0o755)
    for number, file in enumerate(modules_in_order(linux)):
        shutil.copy(file, tree / "modules" / f"{number:02}-{file.name}")
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    archive = folder / "initramfs.cpio"
    with archive.open("wb") as stream:
        subprocess.run(
            [str(BUSYBOX), "cpio", "-o", "-H", "newc"],
            input=names.encode(),
            stdout=stream,
            stderr=subprocess.DEVNULL,
            cwd=tree,
            check=True,
        )
    return archive


def default_memory() -> int:
    """MiB; it also holds all writes outside the disk."""
    return max(LEAST_MEMORY, memory() // 3)


def parse(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="tests.guest",
        usage="tests.guest [--minutes N] [--memory MIB] [--keep FOLDER] -- COMMAND...",
        description=(__doc__ or "").split("\n")[0],
    )
    parser.add_argument("--minutes", type=int, default=60, help="then the guest is ended (60)")
    parser.add_argument("--memory", type=int, default=default_memory())
    parser.add_argument("--keep", type=Path, default=ROOT / "output" / "guest")
    cut = words.index("--") if "--" in words else len(words)
    asked, command = parser.parse_args(words[:cut]), words[cut + 1 :]
    if not command:
        parser.error("no command: it comes after --")
    return asked, command


def machine(accelerator: str, linux: Kernel, archive: Path, words: str) -> list[str]:
    """The QEMU command, without devices; it dies with this process."""
    return [
        *("setpriv", "--pdeathsig", "KILL", "--", "qemu-system-x86_64"),
        *("-accel", accelerator, "-cpu", "max"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-nic", "none", "-no-reboot"),
        *("-serial", "stdio", "-kernel", str(linux.image), "-initrd", str(archive)),
        *("-append", f"console=ttyS0 panic=-1 quiet {words}"),
    ]


def accelerator(linux: Kernel, archive: Path) -> str:
    """KVM if a guest boots with it, which /dev/kvm alone does not prove; else emulation."""
    if os.access("/dev/kvm", os.R_OK | os.W_OK):
        words = machine("kvm", linux, archive, PROBE)
        try:
            said = subprocess.run(
                [*words, "-m", "512"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PROBE_SECONDS,
                check=False,
            ).stdout
        except subprocess.TimeoutExpired:
            said = b""
        if PROBE.encode() in said:
            return "kvm"
    print("guest: no KVM here, so its processors are emulated: some ten times slower", flush=True)
    return "tcg,thread=multi"


def qemu(work: Path, mib: int) -> list[str]:
    linux = kernel()
    archive = initramfs(linux, work)
    share = "local,security_model=none,multidevs=remap"
    return [
        *machine(accelerator(linux, archive), linux, archive, f"iogauge.checkout={ROOT}"),
        *("-smp", str(len(os.sched_getaffinity(0))), "-m", str(mib)),
        *("-virtfs", f"{share},path=/,mount_tag=host,readonly=on"),
        *("-virtfs", f"{share},path={work / 'out'},mount_tag=out"),
        *("-drive", f"file={work / 'disk'},format=raw,if=virtio,cache=unsafe"),
    ]


def prepare(work: Path, command: list[str], seconds: int) -> None:
    (work / "out").mkdir()
    (work / "out" / "command").write_text(f"{shlex.join(command)}\n")
    (work / "out" / "limit").write_text(f"{seconds}\n")
    make_image(work / "disk", DISK_BYTES)
    run("mkfs.ext4", "-q", "-F", work / "disk")


def stop(number: int, _: object) -> None:
    """Remove everything made, also if this process is killed."""
    raise SystemExit(128 + number)


def boot(words: list[str], seconds: int) -> None:
    """Boot the guest and wait for its end, on this console. A hung guest is killed."""
    most = seconds + START_AND_END
    try:
        subprocess.run(words, stdin=subprocess.DEVNULL, timeout=most, check=False)
    except subprocess.TimeoutExpired:
        raise CannotMount(f"the guest did not end within {most} s") from None


def run_in(command: list[str], minutes: int, mib: int, keep: Path) -> int:
    """The command's exit status. Raises CannotMount if it did not finish."""
    if missing := lacking():
        raise CannotMount(missing)
    check_own(keep)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    keep.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="guest-", dir=keep.parent) as name:
        work = Path(name)
        prepare(work, command, 60 * minutes)
        boot(qemu(work, mib), 60 * minutes)
        left = work / "out" / "output"
        if left.is_dir():
            shutil.rmtree(keep, ignore_errors=True)
            shutil.move(left, keep)
            (keep / MARK).touch()
        try:
            return int((work / "out" / "status").read_text())
        except (OSError, ValueError):
            raise CannotMount("the guest ended before its command did") from None


def main(words: list[str]) -> int:
    asked, command = parse(words)
    start = time.monotonic()
    try:
        status = run_in(command, asked.minutes, asked.memory, asked.keep.resolve())
    except CannotMount as reason:
        print(f"guest: {reason}", file=sys.stderr)
        return NO_GUEST
    print(f"guest: {time.monotonic() - start:.0f} s; what it left is in {asked.keep}")
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
