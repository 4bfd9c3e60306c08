# SPDX-License-Identifier: BSD-3-Clause
"""What ReFrame's own schema lets pass in a site file: each problem names the key and what is right.

Used by `common.checked`; a typo in `extras` would else be ignored, and the wrong thing measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from iogauge.spelling import unknown
from reframe_tests.jobs.schedulers import NAMES as SCHEDULERS
from reframe_tests.machine.striping import ANSWERS, in_bytes

STOCK = ("local", "slurm", "squeue", "pbs", "torque", "pbspro", "flux", "lsf", "oar", "sge", "ssh")
LAUNCHERS = ("stack", "runjob", "mpirun-bgp", "poe", "mpiexec-mpt")
STOCK_LAUNCHERS = (
    *("local", "srun", "mpirun", "mpiexec", "mpirun-openmpi", "mpirun-intelmpi", "srunalloc"),
    *("alps", "ibrun", "lrun", "lrun-gpu", "upcrun", "upcxx-run", "clush", "pdsh", "ssh"),
)
NEEDED = ("name", "scheduler", "launcher", "environs")
EXTRAS = ("nodes", "memory", "per_node", "blocks", "job_type", "filesystems")
ENTRY = (
    *("path", "type", "note", "create", "mounted_as", "prefix", "hints", "striping"),
    "published_peak",
    "expected_bandwidth",
    "hints_where",
)
WHOLE_NUMBERS = ("nodes", "memory")


def problems(site: dict[str, Any]) -> Iterator[str]:
    """All of a site's, each beginning with its key."""
    stacks = {environ["name"] for environ in site["environments"]}
    for system in site["systems"]:
        for part in system["partitions"]:
            yield from of_partition(system["name"], part, stacks)


def of_partition(system: str, part: dict[str, Any], stacks: set[str]) -> Iterator[str]:
    """Keys that are too many are found by ReFrame itself, unless one that is needed is missing."""
    at = f"{system}:{part.get('name', '?')}"
    if missing := [key for key in NEEDED if key not in part]:
        yield from (f"{at}.{key}: missing; there are {', '.join(part)}" for key in missing)
        return
    if part["scheduler"] not in (*SCHEDULERS, *STOCK):
        yield f"{at}.scheduler: {unknown(part['scheduler'], SCHEDULERS)}"
    if part["launcher"] not in (*LAUNCHERS, *STOCK_LAUNCHERS):
        yield f"{at}.launcher: {unknown(part['launcher'], (*LAUNCHERS, *STOCK_LAUNCHERS))}"
    for name in part["environs"]:
        if name not in stacks:
            yield f"{at}.environs: {unknown(name, stacks)}"
    if "extras" not in part:
        yield f"{at}.extras: missing; there are {', '.join(part)}"
    yield from of_extras(f"{at}.extras", part.get("extras", {}))


def of_extras(at: str, extras: dict[str, Any]) -> Iterator[str]:
    for key in extras:
        if key not in EXTRAS:
            yield f"{at}: {unknown(key, EXTRAS)}"
    for key in WHOLE_NUMBERS:
        value = extras.get(key, 0)
        if not isinstance(value, int) or value < 0:
            yield f"{at}.{key}: {value!r} is not a whole number"
    if not extras.get("filesystems"):
        yield f"{at}.filesystems: there is none, so no test can run"
    for name, entry in extras.get("filesystems", {}).items():
        yield from of_entry(f"{at}.filesystems.{name}", entry)


def of_peak(at: str, peak: Any) -> Iterator[str]:
    """A number that nobody can look up is none."""
    right = "right is {'value': MB/s, 'source': where it was published}"
    if peak is None:
        return
    keys = isinstance(peak, dict) and set(peak) == {"value", "source"}
    if not (keys and isinstance(peak["value"], int) and peak["value"] > 0 and peak["source"]):
        yield f"{at}: {peak!r}; {right}"


def of_entry(at: str, entry: dict[str, Any]) -> Iterator[str]:
    for key in entry:
        if key not in ENTRY:
            yield f"{at}: {unknown(key, ENTRY)}"
    for key, value in entry.get("hints", {}).items():
        if not isinstance(value, str):
            yield f"{at}.hints.{key}: {value!r} is not a string"
    yield from of_peak(f"{at}.published_peak", entry.get("published_peak"))
    prefix = entry.get("prefix", "")
    if prefix and not prefix.endswith(":"):
        yield f"{at}.prefix: {prefix!r} does not end with a colon"
    striping = entry.get("striping") or {"kind": "gpfs"}
    kind = striping.get("kind", "")
    if kind not in ANSWERS:
        yield f"{at}.striping.kind: {unknown(kind, ANSWERS)}"
        return
    for key in set(ANSWERS[kind]) - set(striping) if kind != "gpfs" else ():
        yield f"{at}.striping.{key}: missing"
    try:
        in_bytes(striping.get("size", 0))
    except ValueError as error:
        yield f"{at}.striping.size: {error}"
