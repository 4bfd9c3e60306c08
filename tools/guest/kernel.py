# SPDX-License-Identifier: BSD-3-Clause
"""Debian's kernel, unpacked below .local/guest and not installed; and what the guest boots with.

The kernel package would make an initramfs and ask for a boot loader on the machine that it is
installed on; unpacked, it changes nothing there.
"""

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from iogauge.common.paths import ROOT

META = "linux-image-amd64"
FOLDER = ROOT / ".local" / "guest"
BUSYBOX = Path("/bin/busybox")
FIRST = Path(__file__).parent / "first.sh"  # what runs before the root is there

# What the guest needs to see its root; all else is loaded from there.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_blk", "ext4")

COMMANDS = ("qemu-system-x86_64", "depmod", "busybox", "mkfs.ext4", "apt-get")


class NoGuest(Exception):
    """Why there is none, in one line."""


@dataclass(frozen=True)
class Kernel:
    version: str
    tree: Path

    @property
    def image(self) -> Path:
        return self.tree / "boot" / f"vmlinuz-{self.version}"

    @property
    def modules(self) -> Path:
        return self.tree / "lib" / "modules"


def lacking() -> str | None:
    """What the machine lacks for a guest, or None. Looks, and makes nothing."""
    missing = [
        f"{command} is missing (environments/debian/setup.sh --fs installs it)"
        for command in COMMANDS
        if shutil.which(command, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None
    ]
    return ", ".join(missing) or None


def run(*words: str | Path, folder: Path | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stdout + done.stderr).strip().splitlines()[-1:] or ["no word"]
        raise NoGuest(f"{words[0]}: {last[0]}")
    return done.stdout


def kernel() -> Kernel:
    """The one that is unpacked here, else Debian's newest (70 MB)."""
    here = sorted(FOLDER.glob("linux-image-*/boot/vmlinuz-*"))
    if here:
        return Kernel(here[-1].name.removeprefix("vmlinuz-"), here[-1].parents[1])
    text = run("apt-cache", "depends", META)
    found = re.search(r"Depends: linux-image-(\S+)", text)
    if not found:
        raise NoGuest(f"apt-cache knows no {META}: apt-get update")
    package = f"linux-image-{found[1]}"
    print(f"guest: fetching Debian's {package} (70 MB)", flush=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        folder = Path(name)
        run("apt-get", "-q", "download", package, folder=folder)
        tree = folder / "tree"
        run("dpkg-deb", "-x", next(folder.glob("*.deb")), tree)
        run(program("depmod"), "-b", tree, found[1])
        tree.rename(FOLDER / package)
    return Kernel(found[1], FOLDER / package)


def program(name: str) -> str:
    """One of the system's administration, which is not on every user's PATH."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") or name


def modules_in_order(kernel: Kernel) -> list[Path]:
    """`MODULES` with all that they depend on, in an order in which they can be loaded."""
    found: dict[Path, None] = {}
    for module in MODULES:
        text = run(
            *(program("modprobe"), "-d", kernel.tree, "-S", kernel.version),
            *("--show-depends", module),
        )
        for line in text.splitlines():
            kind, _, file = line.partition(" ")
            if kind == "insmod":
                found[Path(file.strip())] = None
    return list(found)


def initramfs(kernel: Kernel, folder: Path) -> Path:
    """An archive with busybox, the modules and first.sh, in `folder`."""
    tree = folder / "initramfs"
    for name in ("bin", "modules", "proc", "sys", "dev", "rw", "lower", "root"):
        (tree / name).mkdir(parents=True)
    shutil.copy(BUSYBOX, tree / "bin" / "busybox")
    shutil.copy(FIRST, tree / "init")
    (tree / "init").chmod(0o755)
    for number, file in enumerate(modules_in_order(kernel)):
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
