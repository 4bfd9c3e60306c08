# SPDX-License-Identifier: BSD-3-Clause
"""This command once more, in a guest: for file systems that this machine's kernel does not have."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from iogauge.common.paths import BUILDS, ROOT
from iogauge.measure import kernels
from site_configs import local
from tests.guest import __main__ as guest
from tests.mounted_fs import report
from tests.mounted_fs.kinds import Kind, Machine
from tests.mounted_fs.processes import CannotMount, orangefs
from tests.mounted_fs.site import BUILDS as OF_SITE

VARIABLE = "IOGAUGE_GUEST"  # set in a guest (tests/guest/inside.sh)
MINUTES = 120  # after which the guest is killed

# Folders of the guest's own, which hide the host's.
HIDDEN = ("/tmp", "/run", "/dev", "/proc", "/sys")


def run(kinds: Sequence[Kind], words: Callable[[list[str]], list[str]], output: Path) -> int | None:
    """Run the command on each of `kinds` that can be mounted; the others get a row with the reason.
    `words`: options after the names. None if there was nothing to do."""
    machine = Machine()
    reasons = {
        kind.name: reason
        for kind in kinds
        if (reason := guest.lacking() or hidden() or kind.how.needs.lacking_commands(machine))
    }
    left = [report.Row(k.name, k.type, reasons[k.name]) for k in kinds if k.name in reasons]
    if left:
        print(report.table(left), flush=True)
    names = [kind.name for kind in kinds if kind.name not in reasons]
    if not names:
        return None
    print(
        f"{', '.join(names)}: in a guest with Debian's kernel (without KVM a minute or more for "
        f"each case, {MINUTES} minutes at most)",
        flush=True,
    )
    path = os.pathsep.join([*orangefs(), os.environ.get("PATH", os.defpath)])
    command = ["env", f"PATH={path}", f"{OF_SITE}={built_here()}"]
    command += [sys.executable, "-m", "tests.mounted_fs", *words(names)]
    try:
        return guest.run_in(command, MINUTES, guest.default_memory(), output)
    except CannotMount as reason:
        print(f"guest: {reason}", flush=True)
        return 1


def built_here() -> Path:
    """The folder of prebuilt kernels: an emulated processor takes ten minutes for each."""
    folder = BUILDS / "guest"
    for stack in (entry["name"] for entry in local.site_configuration["environments"]):
        if not kernels.lacking(stack):
            kernels.build(stack, folder / stack, *kernels.RELEASE)
    return folder


def hidden() -> str | None:
    """What the guest would not see but needs, or None."""
    for path in (ROOT, *map(Path, orangefs())):
        for folder in HIDDEN:
            if path.is_relative_to(folder):
                return f"{path} is not seen in the guest, which has its own {folder}"
    return None
