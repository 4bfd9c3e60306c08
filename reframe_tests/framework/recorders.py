# SPDX-License-Identifier: BSD-3-Clause
"""How a run is recorded: which library is preloaded, and with what settings. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iogauge.common.run_folder import RECORDER as RECORDER
from iogauge.common.run_folder import TRACE, recorder_of

# Files of a run, in its own folder.
LOG = TRACE
RAW = "trace"
CONFIG = "darshan.conf"

RUNTIME = "libdarshan.so"
# Instead of the runtime's library, if the stack's programs are linked with libdarshan.a.
LINKED = "linked"

# What Darshan's runtime needs for a record in each of its counting modules, and for its name. A
# module reserves room for all of its records at its first file, and the rest goes to the next: too
# small a sum loses whole modules. Each process touches all of that memory at start-up.
RECORDS = 8192
RECORD_BYTES, NAME_BYTES = 5120, 512
OTHER_MIB = 16  # for modules of a fixed size: heat maps, Lustre, APMPI
DXT_MIB = 256
# One process writes the log, and the others do not open it. By default four do, and Open MPI before
# 4.1.7 and 5.0.6 loses their writes (data sieving without locks).
LOG_HINTS = "LOGHINTS romio_no_indep_rw=true;cb_nodes=1"


@dataclass(frozen=True)
class Recorder:
    """`library`: a path, or words for the shell if the site's modules set it; empty if the programs
    contain it. `real`: Darshan's own runtime, which writes the log itself; else the embedded
    recorder, whose traces are converted."""

    library: str
    real: bool


def find(
    extras: Mapping[str, Any],
    program: Path,
    fits: Callable[[Path], bool],
    prefix: str | None = None,
    *,
    built: bool = False,
) -> Recorder | None:
    """Darshan's runtime comes first: the stack's (`extras['darshan']`: its prefix, its library,
    words with `$` that the job expands, or LINKED), then `prefix` (DARSHAN_PREFIX) if built for the
    stack's MPI (`fits`). Else the embedded recorder built with `program`; `built`: that exists or
    will be built by this session, even in a dry run."""
    site = extras.get("darshan")
    if site == LINKED:
        return Recorder("", real=True)
    if site and "$" in site:
        return Recorder(site, real=True)
    for given, trusted in ((site, True), (prefix, False)):
        library = runtime(given)
        if library and (trusted or fits(library)):
            return Recorder(str(library), real=True)
    if built:
        return Recorder(str(program.parent / RECORDER), real=False)
    own = recorder_of(program)
    return Recorder(str(own), real=False) if own else None


def runtime(given: str | None) -> Path | None:
    if not given:
        return None
    here = Path(given)
    candidates = [here, *(here / lib / RUNTIME for lib in ("lib", "lib64", ""))]
    return next((path for path in candidates if path.is_file()), None)


def values(
    recorder: Recorder, *, dxt: bool, quote: Callable[[object], str], records: int = RECORDS
) -> dict[str, Any]:
    """For the template's `darshan` block: `prepare`, lines of the script, and `variables`, shell
    values for only the traced processes. `records`: files, and data sets, of a process."""
    library = recorder.library if "$" in recorder.library else quote(recorder.library)
    library = f'"{library}"' if "$" in library else library
    variables = {"LD_PRELOAD": library} if recorder.library else {}
    if not recorder.real:
        variables |= {"IOGAUGE_TRACE_DIR": f'"$PWD/{RAW}"', "IOGAUGE_TRACE_INCLUDE": '"$run_dir"'}
        variables |= {"IOGAUGE_TRACE_PLANT": "$((RANDOM*32768+RANDOM))"}
        variables |= {"IOGAUGE_TRACE_SEGMENTS": "0"} if dxt else {}
        title, prepare = "the embedded recorder", [f"mkdir -p {RAW}"]
    else:
        variables |= {"DARSHAN_CONFIG_PATH": f'"$PWD/{CONFIG}"', "DARSHAN_LOGFILE": f'"$PWD/{LOG}"'}
        title, prepare = "the Darshan runtime", _config(dxt, records)
    return {"recorder": title, "prepare": prepare, "variables": variables}


def _config(dxt: bool, records: int) -> list[str]:
    """Darshan leaves out /dev, /tmp and others unless a name is included; names are regular
    expressions, in which any unusual character of the folder's path becomes a dot."""
    memory = records * RECORD_BYTES // 2**20 + OTHER_MIB + DXT_MIB * dxt
    return [
        f"rm -f {LOG}",
        "traced=$(printf %s \"$run_dir\" | tr -c 'A-Za-z0-9_/-' .)",
        f"cat > {CONFIG} <<EOF",
        "NAME_EXCLUDE . *",
        "NAME_INCLUDE ^$traced *",
        "NAME_INCLUDE ^heatmap: *",
        f"MODMEM {memory}",
        f"NAMEMEM {max(1, records * NAME_BYTES // 2**20)}",
        f"MAX_RECORDS {records} *",
        "DISABLE_SHARED_REDUCTION",
        LOG_HINTS,
        *(["MOD_ENABLE DXT_POSIX,DXT_MPIIO"] if dxt else []),
        "EOF",
    ]
