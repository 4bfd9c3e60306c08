# SPDX-License-Identifier: BSD-3-Clause
"""Does the verification of these kernels notice a wrong byte? Checked once for each program.

"Verified" is the kernels' own claim. So a job writes a file with each pattern, flips one bit of it,
and has it read: the kernels must find exactly that byte, and on another process than wrote it. In
a second run, like those that are measured, the recorder changes bits of each file once it is
written, in each repeat. Every test depends on this. A program that has passed is not checked again.
"""

import hashlib
import random
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import SanityError

from iogauge.analysis.checks.result_file import Wrong, load
from iogauge.common import tables
from iogauge.common.files import write_whole
from iogauge.common.paths import builds
from reframe_tests.framework import recorders
from reframe_tests.framework.build import BuildKernels
from reframe_tests.framework.tidy import InCi
from reframe_tests.jobs import collected, launchers
from reframe_tests.machine import stacks
from reframe_tests.machine.placed import Placed

# Without a library, for every pattern; its files are pure payload.
METHOD = "posix-shared"
# Options that make a pattern's file small.
SMALL = {
    "s3d": "--grid 8x6x4 --procs-grid 1x1x2",
    "ior": "-b 4k -t 1k -C",
    "ramses-amr": "--size 8",
    "ramses-hydro": "--size 8",
    "weather": "--grid 13x11x3 --arrays 3",
    "cgns-structured": "--zone 7x5x3",
    "cgns-unstructured": "--elements 1001",
    "metadata": "--files 3",
    "file": "--procs-grid 2x1",
}
PROCESSES = 2  # the count these options are for
# Ownership by place: bytes after which the first process's turn comes again, and bytes of each
# process's turn.
OWNED = {"s3d": (8 * 6 * 4 * 8, 8 * 6 * 2 * 8), "ior": (2 * 4096, 4096)}
FLIPPED, COMPARED = "flipped", "compared"  # files that the script writes
FLIP_VARIABLE = "IOGAUGE_TRACE_FLIP"
SHARED = (METHOD, "mpiio")  # methods that write the same file
REPEATS, STEPS = 2, 2
LARGEST_ELEMENT = 8
SCRIPT = Path(__file__).with_suffix(".sh")
FLIP = "\n".join(line for line in SCRIPT.read_text().splitlines() if line[:1] not in ("#", ""))

# It creates, writes and reads back in one run, so nothing can be changed in between:
# tests/kernels/test_kernel_replay.py shows that it notices wrong bytes.
WITHOUT_METHOD = ("replay",)


def patterns() -> list[str]:
    return [name for name in tables.names("patterns") if name not in WITHOUT_METHOD]


def problem(pattern: str, written: Any, read: Any, offset: int) -> str | None:
    """What is wrong with the response to one changed bit at `offset`, or None."""
    if written["status"] != "ok":
        return f"{pattern}: it could not be written: {written['error']}"
    checked, changed = read["verification"], f"{pattern}: byte {offset} was changed"
    if checked["verdict"] != "mismatch":
        right = "'mismatch': these kernels do not notice a wrong byte"
        return f"{changed}, and the verdict is {checked['verdict']!r}; expected {right}"
    first = checked["first"]
    if checked["mismatches"] != 1 or not 0 <= offset - first["offset"] < LARGEST_ELEMENT:
        text = f"{checked['mismatches']} elements are said to be wrong"
        return f"{changed}, and {text}, the first at byte {first['offset']}"
    if pattern in OWNED:
        both, each = OWNED[pattern]
        if offset % both // each == first["process"]:
            return f"{pattern}: process {first['process']} read back what it wrote itself"
    return None


def in_a_run(pattern: str, measured: Any, size: int, words: int, different: int) -> str | None:
    """The same of a run with other values, of whose files bits were changed before it read them.
    `size` of the first one's file, `words` of this one's files without copies, bytes in which its
    first is `different`."""
    if measured["error"]:
        return f"{pattern}: it could not be run: {measured['error']}"
    if measured["verification"]["mismatches"] < REPEATS * STEPS:
        return f"{pattern}: they do not notice a wrong byte in each repeat of a run"
    if not size:
        return f"{pattern}: a run that keeps its files left none"
    if pattern in OWNED and (8 * words < 0.9 * STEPS * size or 2 * different < size):
        what = f"{words} words, {different} bytes"
        return f"{pattern}: values do not depend on place and seed: {what}"
    return None


def stamp_of(program: Path, recorder: recorders.Recorder | None) -> Path:
    """Exists once this program, with its recorder, has passed this check. Raises OSError."""
    what = [Path(__file__), SCRIPT, program, *([Path(recorder.library)] if recorder else [])]
    told = hashlib.sha256(b"".join(path.read_bytes() for path in what if path.is_file()))
    return builds() / "noticed" / told.hexdigest()


def changes_bits(recorder: Path) -> bool:
    """An older one does not."""
    with suppress(OSError):  # where it cannot be read
        return FLIP_VARIABLE.encode() in recorder.read_bytes()
    return True


def second_runs(stage: Path) -> dict[str, list[int]]:
    """What `compared` told of each pattern."""
    rows = map(str.split, (stage / COMPARED).read_text().splitlines())
    return {row[0]: list(map(int, row[1:])) for row in rows if len(row) == 4}


class NoticesAWrongByte(InCi, Placed, rfm.RunOnlyRegressionTest):
    descr = "one changed bit for each pattern is found"
    kernels = fixture(BuildKernels, scope="environment")
    # Where the bits are: any number; 0 draws another place each time.
    seed = variable(int, value=0, loggable=True)
    noticed = variable(int, value=0, loggable=True)
    # As of the tests (trace.py): nothing is preloaded, and the second runs are left out.
    trace = variable(typ.Bool, value=True, loggable=True)
    valid_systems = ["*"]
    valid_prog_environs = ["+mpi"]
    sourcesdir = None
    exclusive_access = True

    # None if the program cannot be seen from here, or is not built.
    stamp = variable(Path, type(None), value=None)
    needless = variable(bool, value=False)

    @property
    def missing(self) -> str | None:
        environ = self.current_environ
        lacking = stacks.missing(environ, self.kernels.needs)
        return lacking or stacks.too_many(environ, self.num_tasks) or self.unplaceable or None

    @run_after("setup")
    def set_processes(self) -> None:
        """Always so many: `-S num_tasks=16`, which reaches all classes, is for tests."""
        self.place(PROCESSES, 0, 0)
        self.time_limit = f"{self.limit()}s"

    @run_after("setup")
    def skip_if_already_checked(self) -> None:
        """Run nothing if the stack is missing: each test gives the reason."""
        with suppress(OSError):
            if self.kernels.program.is_file():  # no device, which may never end
                self.stamp = stamp_of(self.kernels.program, self.recorder)
        known = self.stamp is not None and self.stamp.is_file()
        self.needless = bool(self.missing or (known and not self.seed and not self.is_dry_run()))

    @run_after("setup")
    def stay_out_of_the_queue(self) -> None:
        """ReFrame has made the job before it hands over the kernels, which this depends on."""
        if self.needless and not self.current_partition.scheduler.is_local:
            self.local = True
            self._setup_run_job()

    @run_before("run")
    def write_script(self) -> None:
        if self.needless:
            self.executable = "true"
            self.job.launcher = getlauncher("local")()
            return
        launchers.use_stack(self.job.launcher, self.current_environ)
        self.executable = str(self.kernels.program)
        self.pass_to_job(self.script_values())

    def script_values(self) -> dict[str, Any]:
        draw = random.Random(self.seed or None)
        trace: dict[str, Any] | None = None
        if recorder := self.recorder:
            trace = recorders.values(recorder, dxt=False, quote=lambda word: shlex.quote(str(word)))
            trace["variables"][FLIP_VARIABLE] = str(draw.randrange(2**31))
        place = collected.run_folder(self.stagedir)
        fs = {"name": "stage", "type": "the job's own folder", "path": place}
        programs = []
        for pattern in patterns():
            folder, other = (f'"$run_dir/{pattern}{end}"' for end in ("", "-measured"))
            what = f"{pattern} {SMALL.get(pattern, '')} --keep"
            same = f"{what} --method {METHOD} --dir {folder}"
            both = f"{folder} {other} {pattern}"
            measured = f"{what} --method {draw.choice(SHARED)} --dir {other} --repeat {REPEATS}"
            measured += f" --steps {STEPS}"
            flip = f"flip {folder} {draw.randrange(2**31)} {pattern}"
            programs += [
                self.one(same, "--write-only", f"{pattern}-written.json", [f"mkdir {folder}"]),
                # The reader exits with an error status when it finds the byte: go on.
                self.one(same, "--read-only", f"{pattern}-read.json", [flip, "set +e"], ["set -e"]),
            ]
            if trace:
                seed = f"--seed {draw.randrange(2, 2**31)}"
                begin, end = [f"mkdir {other}", "set +e"], ["set -e", f"compared {both}"]
                programs.append(self.one(measured, seed, f"{pattern}-measured.json", begin, end))
                programs[-1]["traced"] = True
        return {
            "test": {"name": self.display_name, "pattern": "", "call": METHOD},
            "system": self.current_system.name,
            "partition": self.current_partition.name,
            "environ": self.current_environ.name,
            "fs": {**fs, "note": "", "create": False, "published_peak": "", "striping": None},
            "hints": {"form": "options", "environment": {}, "mpi": {}},
            "before": [FLIP],
            "programs": programs,
            "after": [],
            "trace": trace,
        }

    def one(
        self, same: str, how: str, document: str, before: list[str], after: list[str] | None = None
    ) -> dict[str, Any]:
        return {
            "path": self.executable,
            "options": [same, f"{how} --json {document}"],
            "before": before,
            "after": after or [],
            "traced": False,
        }

    @property
    def recorder(self) -> recorders.Recorder | None:
        """The recorder that changes bits in the second runs. Without one, there are none."""
        if self.kernels.is_cross or not self.trace:
            return None
        built = self.kernels.given is None
        found = recorders.find({}, self.kernels.program, lambda _: False, built=built)
        return found if found and changes_bits(Path(found.library)) else None

    @sanity_function
    def every_wrong_byte_is_found(self) -> bool:
        if self.needless:
            return True
        stage, recorder = Path(self.stagedir), self.recorder
        try:
            changes = (stage / FLIPPED).read_text()
            second = second_runs(stage) if recorder else {}
        except OSError as error:
            raise SanityError(f"the job changed no byte: {error}") from None
        flipped = {name: int(offset) for name, offset in map(str.split, changes.splitlines())}
        for pattern in patterns():
            try:
                written, read = (
                    load(stage / f"{pattern}-{how}.json") for how in ("written", "read")
                )
                wrong_answer = problem(pattern, written, read, flipped[pattern])
                if recorder and not wrong_answer:
                    measured = load(stage / f"{pattern}-measured.json")
                    wrong_answer = in_a_run(pattern, measured, *second.get(pattern, [0, 0, 0]))
            except Wrong as wrong:
                raise SanityError(f"{pattern}: {wrong}") from None
            if wrong_answer:
                raise SanityError(wrong_answer)
            self.noticed += 1
        if self.stamp:
            write_whole(self.stamp, changes)
        return True
