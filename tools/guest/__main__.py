# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command in a virtual machine with Debian's kernel, in this checkout: `make guest`.

    python -m tools.guest [--minutes N] [--memory MIB] [--keep FOLDER] -- COMMAND...

The guest's root is this machine's, read-only; what is written there goes to its memory, and is gone
with it. It has no network but its own loopback. $IOGAUGE_OUTPUT is a folder on its own disk,
and is copied to FOLDER at the end. Exit status: the command's; 125 where there was no guest.
"""

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from iogauge.common.paths import ROOT
from reframe_tests.machine.memory import memory
from tools.guest import kernel as guest_kernel
from tools.guest.kernel import Kernel, NoGuest, initramfs, kernel, program

NO_GUEST = 125
DISK_BYTES = 16 * 2**30  # sparse
START_AND_END = 180  # seconds that the guest may take besides its command, without KVM too
LEAST_MEMORY = 3072  # MiB
PROBE = "iogauge.probe"  # first.sh says it back
PROBE_SECONDS = 15


def default_memory() -> int:
    """MiB: what is written besides the disk is in it."""
    return max(LEAST_MEMORY, memory() // 3)


def parse(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="tools.guest",
        usage="tools.guest [--minutes N] [--memory MIB] [--keep FOLDER] -- COMMAND...",
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
    """QEMU without devices, which dies with this process."""
    return [
        *(program("setpriv"), "--pdeathsig", "KILL", "--", program("qemu-system-x86_64")),
        *("-accel", accelerator, "-cpu", "max"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-nic", "none", "-no-reboot"),
        *("-serial", "stdio", "-kernel", str(linux.image), "-initrd", str(archive)),
        *("-append", f"console=ttyS0 panic=-1 quiet {words}"),
    ]


def accelerator(linux: Kernel, archive: Path) -> str:
    """KVM where a guest comes up with it, which /dev/kvm alone does not prove; else emulation."""
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
    with (work / "disk").open("wb") as disk:
        disk.truncate(DISK_BYTES)
    guest_kernel.run(program("mkfs.ext4"), "-q", "-F", work / "disk")


def stop(number: int, _: object) -> None:
    """So that what was made is removed, also where somebody ends this process."""
    raise SystemExit(128 + number)


def boot(words: list[str], seconds: int) -> None:
    """To its end; its console is ours. One that does not end is ended."""
    guest = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    try:
        guest.wait(timeout=seconds + START_AND_END)
    except subprocess.TimeoutExpired:
        raise NoGuest(f"the guest did not end within {seconds + START_AND_END} s") from None
    finally:
        if guest.poll() is None:
            guest.kill()
            guest.wait()


def run(command: list[str], minutes: int, mib: int, keep: Path) -> int:
    """The command's exit status; `NoGuest` where it did not run to its end."""
    if missing := guest_kernel.lacking():
        raise NoGuest(missing)
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
        try:
            return int((work / "out" / "status").read_text())
        except (OSError, ValueError):
            raise NoGuest("the guest ended before its command did") from None


def main(words: list[str]) -> int:
    asked, command = parse(words)
    start = time.monotonic()
    try:
        status = run(command, asked.minutes, asked.memory, asked.keep.absolute())
    except NoGuest as reason:
        print(f"guest: {reason}", file=sys.stderr)
        return NO_GUEST
    print(f"guest: {time.monotonic() - start:.0f} s; what it left is in {asked.keep}")
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
