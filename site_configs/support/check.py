# SPDX-License-Identifier: BSD-3-Clause
"""Checks a site file beyond ReFrame's schema; each problem names the key and what is right.

Used by `common.checked`; a typo in `extras` would otherwise be ignored, and the wrong thing
measured. Types and forms are in site.schema.json, whose `right` ends the sentence "... is not ...";
rules over several keys are here.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from iogauge.common import json_file, tables
from iogauge.common.text import one_line, unknown
from reframe_tests.jobs.schedulers import NAMES as SCHEDULERS
from reframe_tests.machine.striping import ANSWERS, in_bytes

STOCK = ("local", "slurm", "squeue", "pbs", "torque", "pbspro", "flux", "lsf", "oar", "sge", "ssh")
LAUNCHERS = ("stack", "runjob", "mpirun-bgp", "poe", "mpiexec-mpt")
STOCK_LAUNCHERS = (
    *("local", "srun", "mpirun", "mpiexec", "mpirun-openmpi", "mpirun-intelmpi", "srunalloc"),
    *("alps", "ibrun", "lrun", "lrun-gpu", "upcrun", "upcxx-run", "clush", "pdsh", "ssh"),
)
LONGEST = 1000  # characters of a problem
SCHEMA = json_file.read(Path(__file__).parent / "site.schema.json")
# ReFrame's names for no modules system.
NO_MODULES = ("", "nomod")
CEPH_UNIT = 65536  # bytes; stripe units are multiples of it


def problems(site: Any) -> Iterator[str]:
    """All problems of a site, each beginning with its key. If types are wrong, only those."""
    errors = Draft202012Validator(SCHEMA).iter_errors(site)
    wrong = list(dict.fromkeys(problem for error in errors for problem in violations(site, error)))
    yield from (one_line(problem, LONGEST) for problem in wrong or of_meaning(site))


def violations(site: Any, error: ValidationError) -> Iterator[str]:
    at = place(site, list(error.absolute_path))
    schema: Any = error.schema
    found: Any = error.instance
    if error.validator == "required":
        there = ", ".join(map(str, found))
        lacking = [key for key in schema["required"] if key not in found]
        yield from (f"{dotted(at, key)}: missing; there are {there}" for key in lacking)
    elif error.validator == "additionalProperties":
        known = schema.get("properties", {})
        for key in set(found) - set(known):
            yield f"{at}: {unknown(str(key), known)}"
    else:
        yield f"{at}: {found!r} is not {schema.get('right', error.message)}"


def dotted(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def place(site: Any, path: list[str | int]) -> str:
    """The key as users write it: `edison:batch.extras.nodes`, `environ cray.env_vars.0`."""

    def name_of(length: int) -> str:
        value = site
        for key in path[:length]:
            value = value[key]
        name = value.get("name") if isinstance(value, dict) else None
        return str(name) if isinstance(name, str) else f"number {path[length - 1]}"

    if path[:1] == ["systems"] and path[2:3] == ["partitions"] and len(path) > 3:
        return ".".join([f"{name_of(2)}:{name_of(4)}", *map(str, path[4:])])
    if path[:1] in (["systems"], ["environments"]) and len(path) > 1:
        kind = "environ " if path[0] == "environments" else ""
        return ".".join([f"{kind}{name_of(2)}", *map(str, path[2:])])
    return ".".join(map(str, path)) or "site_configuration"


def of_meaning(site: dict[str, Any]) -> Iterator[str]:
    environs = {environ["name"]: environ for environ in site["environments"]}
    for system in site["systems"]:
        names = [part["name"] for part in system["partitions"]]
        for name in {name for name in names if names.count(name) > 1}:
            yield f"{system['name']}:{name}: two partitions have this name; use others"
        for part in system["partitions"]:
            yield from of_partition(system["name"], part, set(environs))
        yield from of_modules(system, environs)


def of_modules(system: dict[str, Any], environs: dict[str, Any]) -> Iterator[str]:
    """Modules without a modules system, which ReFrame would silently drop."""
    if system.get("modules_system", "") not in NO_MODULES:
        return
    right = (
        f"system {system['name']} has no modules_system, so they would not be loaded; set "
        "modules_system ('lmod', 'tmod4', ...), or use modules= of common.stack()"
    )
    for part in system["partitions"]:
        if part.get("modules"):
            yield f"{system['name']}:{part['name']}.modules: {right}"
        for name in part.get("environs", []):
            if environs.get(name, {}).get("modules"):
                yield f"environ {name}.modules: {right}"


def of_partition(system: str, part: dict[str, Any], stacks: set[str]) -> Iterator[str]:
    at = f"{system}:{part['name']}"
    if part["scheduler"] not in (*SCHEDULERS, *STOCK):
        yield f"{at}.scheduler: {unknown(part['scheduler'], SCHEDULERS)}"
    if part["launcher"] not in (*LAUNCHERS, *STOCK_LAUNCHERS):
        yield f"{at}.launcher: {unknown(part['launcher'], (*LAUNCHERS, *STOCK_LAUNCHERS))}"
    for name in part["environs"]:
        if name not in stacks:
            yield f"{at}.environs: {unknown(name, stacks)}"
    extras = part["extras"]
    if part["scheduler"].startswith("loadleveler") and "job_type" not in extras:
        yield f"{at}.extras.job_type: missing; expected 'parallel' or 'bluegene'"
    for name, entry in extras["filesystems"].items():
        yield from of_entry(f"{at}.extras.filesystems.{name}", entry)


def of_entry(at: str, entry: dict[str, Any]) -> Iterator[str]:
    known = tables.names("patterns")
    for number, rule in enumerate(entry.get("hints_where", [])):
        for name in rule.get("patterns", []):
            if name not in known:
                yield f"{at}.hints_where.{number}.patterns: {unknown(name, known)}"
    if striping := entry.get("striping"):
        yield from of_striping(f"{at}.striping", striping)


def of_striping(at: str, striping: dict[str, Any]) -> Iterator[str]:
    kind = striping.get("kind", "")
    if kind not in ANSWERS:
        yield f"{at}.kind: {unknown(kind, ANSWERS)}"
        return
    for key in set(ANSWERS[kind]) - set(striping) if kind != "gpfs" else ():
        yield f"{at}.{key}: missing"
    try:
        size = in_bytes(striping.get("size", 0))
    except ValueError as error:
        yield f"{at}.size: {error}"
        return
    if kind == "ceph":
        # It has no count for "all", and would refuse other sizes in the job.
        if (count := int(striping.get("count", 1))) < 1:
            yield f"{at}.count: {count} is not a number of objects, 1 or more"
        if size % CEPH_UNIT or not size:
            yield f"{at}.size: {size} is not a multiple of {CEPH_UNIT} bytes"
