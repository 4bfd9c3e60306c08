# SPDX-License-Identifier: BSD-3-Clause
"""Where files are. In a checkout, everything is below its root, whatever the current folder. An
installed package brings its data, and writes below the current folder."""

import os
import zlib
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
# A wheel has here what a checkout has beside the package (pyproject.toml).
INSTALLED = PACKAGE / "source"
ROOT = INSTALLED if INSTALLED.is_dir() else PACKAGE.parent
KERNELS = ROOT / "kernels"
TEMPLATES = ROOT / "templates"


def _local() -> Path:
    """For what is built: in the checkout, or in the user's cache for each installation."""
    if is_checkout():
        return ROOT / ".local"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute()
    which = zlib.crc32(f"{ROOT} {ROOT.stat().st_ctime_ns}".encode())
    return cache / "iogauge" / f"{(ROOT / 'VERSION').read_text().strip()}-{which:08x}"


def is_checkout() -> bool:
    """Whether this package is in a checkout, not installed."""
    return ROOT != INSTALLED


# For messages: how to get what is missing.
IN_CHECKOUT = "make setup, then .venv/bin/iogauge"
SET_UP = IN_CHECKOUT if is_checkout() else "pip install the folder that iogauge came from"
CHARTS = "pip install altair vl-convert-python"
LOCAL = _local()
BUILDS = LOCAL / "build"
# A library without functions, which lets a program for Debian's MPICH load another's
# (environments/debian/mpich_abi.sh).
MPICH_ABI = LOCAL / "stacks" / "abi"
TOPOLOGY = LOCAL / "topology"
# IOGAUGE_ENVIRONMENTS: a site's Spack environments, if elsewhere.
ENVIRONMENTS = Path(os.environ.get("IOGAUGE_ENVIRONMENTS") or ROOT / "environments").absolute()
SPACK_STATE = LOCAL / "spack"


def builds() -> Path:
    return _kept(BUILDS)


def topology() -> Path:
    return _kept(TOPOLOGY)


def _kept(folder: Path) -> Path:
    """The folder in the checkout, or with the user's own results if the checkout is another
    user's."""
    place = next(path for path in (folder, *folder.parents) if path.exists())
    return folder if os.access(place, os.W_OK | os.X_OK) else output() / folder.name


def output() -> Path:
    return own("output")


def own(name: str) -> Path:
    """A folder of the user: IOGAUGE_<name>, else in the checkout; installed, below the current
    folder."""
    if given := os.environ.get(f"IOGAUGE_{name.upper()}"):
        return Path(given).absolute()
    return (ROOT if is_checkout() else Path.cwd()) / name


def below(folder: Path, path: Path) -> Path:
    """The path, relative if it is below the folder."""
    return path.relative_to(folder) if path.is_relative_to(folder) else path


def pass_on() -> None:
    """Pass the folders on to ReFrame, which reads an installed site file in another folder than
    this one."""
    for name in ("references", "templates"):
        os.environ[f"IOGAUGE_{name.upper()}"] = str(own(name))
    os.environ["RFM_COLORIZE"] = "n"  # also to a terminal: its lines are read
