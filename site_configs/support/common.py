# SPDX-License-Identifier: BSD-3-Clause
"""What every site configuration shares: folders, logging, file systems, a machine's cores.

Site files append the checkout to `sys.path`: at its front it would shadow installed modules.
"""

import inspect
import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ConfigError

import reframe_tests.jobs.launchers
import reframe_tests.jobs.schedulers  # noqa: F401  (registers the templated back ends)
from iogauge.common import paths, user
from iogauge.common.mounts import mount_of
from reframe_tests.jobs import order, settings
from reframe_tests.machine import spack
from reframe_tests.machine.memory import memory
from site_configs.support import check, perflog, push

settings.refuse_unknown()
order.draw()
user.make_known()

# All results: IOGAUGE_OUTPUT, or output/ in the checkout.
OUTPUT = paths.output()


# One folder per session, unless the user names another pattern: with the process ID, because two
# sessions may begin in the same second; an inherited one is another process's. ReFrame has no
# setting for time stamps, but this variable.
BEGAN = "%Y%m%dT%H%M%S-"
if os.environ.get("RFM_TIMESTAMP_DIRS", BEGAN).startswith(BEGAN):
    os.environ["RFM_TIMESTAMP_DIRS"] = f"{BEGAN}{os.getpid()}"

# IOGAUGE_LOG_LEVEL=debug2 shows all, and takes a tenth of a core from the measurement.
LOG_LEVEL = os.environ.get("IOGAUGE_LOG_LEVEL") or "verbose"

PERFLOG_COLUMNS = (
    "job_completion_time",
    "result",
    "name",
    "system",
    "partition",
    "environ",
    "num_tasks",
    "pattern",
    "method",
    "mode",
    "scale",
    "fs",
    "caches",
    "jobid",
)


def general(**more: Any) -> list[dict[str, Any]]:
    """The `general` section; `more` overrides single keys."""
    section = {
        "report_file": str(OUTPUT / "reports" / "run-report-{sessionid}.json"),
        "topology_prefix": str(paths.topology()),
        # How soon a finished job is noticed. 50 polls a second cost a busy core less than a
        # thousandth and a test 10 ms; ReFrame's own setting slows down to one poll in ten seconds.
        "poll_rate_max": 50,
        "poll_rate_min": 10,
        "poll_rate_decay": 0.02,
    }
    return [{**section, **more}]


# For `general()` of a site with a batch system: each poll costs time of a server that all users
# share. 17 polls in the first minute, then every 10 s; the first come soon, for dry runs.
BATCH: dict[str, Any] = {"poll_rate_max": 10, "poll_rate_min": 0.1, "poll_rate_decay": 0.2}


def make_writable(folder: Path) -> None:
    """`ConfigError` says what to do if, for example, somebody else's checkout is not writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        problem = "" if os.access(folder, os.W_OK | os.X_OK) else "Permission denied"
    except OSError as error:
        problem = str(error.strerror)
    if problem:
        raise ConfigError(
            f"results cannot be written to {folder} ({problem}): "
            "set IOGAUGE_OUTPUT to a folder of your own"
        )


def logging() -> list[dict[str, Any]]:
    """The `logging` section: terminal, one log file, and one line per performance variable."""
    make_writable(OUTPUT)  # ReFrame opens its log file there, first of all
    columns = "|".join(f"%(check_{column})s" for column in PERFLOG_COLUMNS)
    values = "%(check_perf_var)s|%(check_perf_value)s|%(check_perf_unit)s"
    return [
        {
            # One record per case, which the handler splits into a line per variable: tests of one
            # class log different sets, and in lines of all variables columns would be misaligned.
            "perflog_multiline": False,
            "level": LOG_LEVEL,
            "handlers": [
                {"type": perflog.LOG, "name": str(OUTPUT / "reframe.log"), "level": LOG_LEVEL}
            ],
            "handlers_perflog": [
                {
                    "type": perflog.TYPE,
                    "basedir": str(OUTPUT / "perflogs"),
                    "prefix": "%(check_system)s/%(check_partition)s",
                    "level": "info",
                    "format": f"{columns}|{values}",
                    "append": True,
                },
                *push.handlers(),
            ],
        }
    ]


def folders() -> dict[str, str]:
    return {"outputdir": str(OUTPUT), "stagedir": str(OUTPUT / "stage")}


def cores() -> int:
    """The cores that this process may use: affinity, and a container's CPU quota (cgroup v2)."""
    usable = len(os.sched_getaffinity(0))
    with suppress(OSError, ValueError):  # without a quota it is `max`
        quota, period = map(int, Path("/sys/fs/cgroup/cpu.max").read_text().split())
        return max(1, min(usable, quota // period))
    return usable


def file_system(path: Path | str, note: str = "", kind: str = "", **more: Any) -> dict[str, Any]:
    """One entry of a partition's `extras['filesystems']`: docs/reference/site-file.md has its keys.
    `kind`: the type to show if the path is not on the machine that ReFrame runs on; a result's own
    type always comes from /proc/mounts of the compute node."""
    path = Path(path).absolute()
    found = mount_of(path)["type"] if path.exists() or not kind else kind
    return {"path": str(path), "type": found, "note": note, **more}


def partition(
    scheduler: str,
    launcher: str,
    *,
    stack: str,
    cores: int,
    file_systems: dict[str, Any],
    name: str = "batch",
    access: Sequence[str] = (),
    features: Sequence[str] = (),
    **extras: Any,
) -> dict[str, Any]:
    """A part of a machine with a batch system. `stack`: the name of its environ; `cores`: of a
    node; `access`: options of the scheduler, of which empty ones are left out; `extras`: `nodes`,
    `memory` (MiB of a node) and others of docs/reference/site-file.md."""
    return {
        "name": name,
        "scheduler": scheduler,
        "launcher": launcher,
        "environs": [stack],
        "access": [option for option in access if option],
        "features": list(features),
        "processor": {"num_cpus": cores},
        "extras": {**extras, "filesystems": file_systems},
    }


def system(
    name: str, hostnames: list[str], partitions: list[dict[str, Any]], descr: str
) -> dict[str, Any]:
    """A machine with a batch system: jobs run one after the other, because they share file
    systems."""
    return {
        "name": name,
        "descr": descr,
        "hostnames": hostnames,
        **folders(),
        "partitions": [{"max_jobs": 1, "time_limit": "30m", **entry} for entry in partitions],
    }


def of_extras(more: dict[str, Any]) -> dict[str, Any]:
    """Takes out of `more` the keys that a site's schema has in an environ's extras."""
    environ = check.SCHEMA["properties"]["environments"]["items"]["properties"]
    known = environ["extras"]["properties"]
    return {key: more.pop(key) for key in list(more) if key in known}


def environ(
    name: str, compiler: str, features: list[str], extras: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """A stack for ReFrame. `more`: other keys of an environ."""
    names = {"name": name, "cc": compiler, "cxx": "", "ftn": ""}
    return {**names, "features": ["mpi", "mpiio", *features], "extras": extras, **more}


def stack(
    name: str,
    compiler: str,
    mpi_library: str,
    features: list[str],
    launcher: list[str] | None = None,
    modules: list[str] | None = None,
    modules_init: str = "",
    command: str = "mpiexec",
    **more: Any,
) -> dict[str, Any]:
    """An environ whose libraries its modules and compiler wrapper find by themselves.
    `launcher`: options; `command`: of the launcher `stack`. `modules`: loaded by commands in each
    script, and not by ReFrame, which would need the machine's module system even to look at the
    site file elsewhere. `more`: other keys of an environ and of its extras
    (docs/reference/site-file.md). IOGAUGE_CGNS names the prefix of a parallel CGNS."""
    extras = {
        "mpi_library": mpi_library,
        "launcher": {"command": command, "options": launcher or []},
        "cmake": {"mpi": [f"-DCMAKE_C_COMPILER={compiler}"]},
        "cross": False,
        **of_extras(more),
    }
    if cgns := setting("CGNS", ""):
        extras["cmake"] = {**extras["cmake"], "cgns": [f"-DIOKERNEL_CGNS_ROOT={cgns}"]}
    loads = [f"module load {shlex.quote(module)}" for module in modules or []]
    if loads and modules_init:
        loads.insert(0, f"[[ $(type -t module) ]] || . {shlex.quote(modules_init)}")
    more["prepare_cmds"] = [*loads, *more.get("prepare_cmds", [])]
    return environ(name, compiler, features, extras, **more)


def spack_stack(
    variant: str,
    features: list[str],
    name: str = "",
    launcher: list[str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """An environ from a Spack environment, whose compiler, libraries, launcher, `ior` and Darshan
    it has. `variant`: a folder of environments/, or `default`; `name`: of the environ (the
    variant's); `launcher`: options for its mpiexec; `more`: as of `stack`."""
    extras: dict[str, Any] = {"spack_env": variant, **of_extras(more)}
    if launcher:
        extras["launcher_options"] = launcher
    activate = f". {shlex.quote(str(spack.activation_file(variant)))}"
    more["prepare_cmds"] = [*more.get("prepare_cmds", []), activate]
    return environ(name or variant.replace("/", "-"), "mpicc", features, extras, **more)


def site(
    systems: list[dict[str, Any]],
    environments: list[dict[str, Any]],
    polls: Mapping[str, float] = BATCH,
) -> dict[str, Any]:
    found = {
        "systems": systems,
        "environments": environments,
        "general": general(**polls),
        "logging": logging(),
    }
    return checked(found)


def this_machine(
    name: str,
    descr: str,
    environs: list[dict[str, Any]],
    file_systems: dict[str, Any],
    partition: str = "host",
) -> dict[str, Any]:
    node = {
        "name": partition,
        "descr": "one node, without a batch system",
        "scheduler": "local.j2",
        "launcher": "stack",
        "environs": [environ["name"] for environ in environs],
        # One job at a time: two measurements side by side disturb each other.
        "max_jobs": 1,
        "time_limit": "10m",
        "processor": {"num_cpus": cores()},
        "extras": {"nodes": 1, "memory": memory(), "filesystems": file_systems},
    }
    system = {"name": name, "descr": descr, "hostnames": [".*"], "max_local_jobs": 1}
    return site([{**system, **folders(), "partitions": [node]}], environs, polls={})


def checked(site: dict[str, Any]) -> dict[str, Any]:
    """The site unchanged; `ConfigError` names file and key of a mistake."""
    file = next(frame.filename for frame in inspect.stack() if frame.filename != __file__)
    # ReFrame's database, for --performance-compare and similar.
    database = {"enable": True, "sqlite_db_file": str(OUTPUT / "reports" / "results.db")}
    site.setdefault("storage", [database])
    wrong = [f"{file}: {problem}" for problem in check.problems(site)]
    if wrong:
        raise ConfigError("; ".join(wrong))
    return site


settings_read: set[str] = set()  # what site files of this process asked for


def setting(name: str, default: str) -> str:
    """What a generic site file leaves to its user: the environment variable IOGAUGE_<name>."""
    settings_read.add(variable := f"IOGAUGE_{name}")
    return os.environ.get(variable) or default


def user_name() -> str:
    """For the user's folder: the top of a file system is root's."""
    return os.environ.get("USER") or str(os.getuid())


DIGITS = 18  # of a number from the user


def number(name: str, default: int) -> int:
    """The same, as an integer; anything else is reported by name."""
    text = setting(name, str(default))
    if not text.isdecimal() or len(text) > DIGITS:
        raise ValueError(f"IOGAUGE_{name}={text!r:.60} is not a whole number below 10^{DIGITS}")
    return int(text)
