# SPDX-License-Identifier: BSD-3-Clause
"""What every I/O test shares: axes, launch, job script, sanity and performance."""

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import fixture, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import SanityError

from iogauge.analysis.checks.recheck import judged_by
from iogauge.analysis.checks.result_file import Wrong
from iogauge.analysis.checks.verdict import Expected, check_run
from iogauge.common.run_folder import CASE, DOCUMENT, EXIT_STATUS
from reframe_tests.framework.build import BuildKernels, keep_packages
from reframe_tests.framework.case_file import SelfDescribed
from reframe_tests.framework.documented import Documented
from reframe_tests.framework.hinted import Hinted
from reframe_tests.framework.measured import Measured
from reframe_tests.framework.tidy import InCi, Tidy
from reframe_tests.framework.trace import KEPT, TraceChecks
from reframe_tests.framework.variants import axis
from reframe_tests.framework.verifier_check import NoticesAWrongByte
from reframe_tests.jobs import launchers
from reframe_tests.machine import filesystems, placement, stacks, striping
from reframe_tests.machine.calls import BY_NAME, Call
from reframe_tests.machine.fits import Fits
from reframe_tests.machine.scales import QUICK_SCALE, Scale

MAX_DEFAULT_PROCESSES = 4
SEED = "--seed $((RANDOM*32768+RANDOM))"  # the document has it: no other run's data passes


class IoBenchmark(
    TraceChecks,
    Measured,
    Tidy,
    SelfDescribed,
    Documented,
    InCi,
    Fits,
    Hinted,
    rfm.RunOnlyRegressionTest,
):
    """A pattern, run by `iokernel` (or by a program whose results are made the same document).

    docs/add-a-test.md says what a child must define; it may replace the methods of framework/hinted
    and machine/fits too. It never asks for a system, a stack or a method by name.
    """

    pattern = variable(str, loggable=True)
    fs = axis(filesystems.names())

    # -S NAME=VALUE. num_tasks 0: as many as the scale wants; else, with `nodes`, one per core of so
    # many nodes; else min(4, cores of a node). num_tasks_per_node: as many as fit.
    num_tasks = 0
    # Another job on a node would disturb the measurement. To allow it: `extras.exclusive`.
    exclusive_access = True
    nodes = variable(int, value=0, loggable=True)
    # Instead of the site's striping, if the file system has any.
    stripe_count = variable(int, value=0, loggable=True)
    stripe_size = variable(str, value="", loggable=True)
    repeats = variable(int, value=3, loggable=True)
    steps = variable(int, value=0, loggable=True)
    # None: at a document's scale as the document, which never flushes; else yes.
    fsync = variable(typ.Bool, type(None), value=None, loggable=True)
    ceilings = variable(typ.Bool, value=True, loggable=True)
    ceiling_seconds = variable(float, value=0.1)  # each of them, at least
    drop_caches = variable(typ.Bool, value=True, loggable=True)
    # `whole` or `reused`; empty: as the pattern's own code has it.
    buffer = variable(str, value="", loggable=True)
    kernel_path = variable(str, value="", loggable=True)

    # Set while a test runs; logged.
    method = variable(str, value="", loggable=True)
    mode = variable(str, value="", loggable=True)
    caches = variable(str, value="", loggable=True)
    skip_reason = variable(str, value="", loggable=True)
    # The site file's published peak in MB/s, with its source.
    published_peak = variable(str, value="", loggable=True)
    spack_packages = variable(typ.Dict[str, str], value={}, loggable=True)

    kernels = fixture(BuildKernels, scope="environment")
    verifier_check = fixture(NoticesAWrongByte, scope="environment")
    scales: Mapping[str, Scale] = {}
    # How the program takes hints: a file of templates/hints/.
    hints_form = "options"
    # Tags that several patterns' tests share.
    family: tuple[str, ...] = ()
    # The tag of a test that is not in the suites `modes` and `quick`.
    apart = ""
    # The parameters of its case in the suite `quick`; empty: each quick call's; None: no case.
    quick: Mapping[str, str] | None = {}
    # Features that it asks of a stack besides the call's: `+romio`.
    features = ""
    sourcesdir = None
    keep_files = [DOCUMENT, EXIT_STATUS, CASE, *KEPT]

    def pattern_options(self) -> list[str]:
        raise NotImplementedError

    def payload_bytes(self) -> int:
        raise NotImplementedError

    def scale_processes(self) -> int | None:
        return self.the_scale.processes

    def scale_steps(self) -> int:
        return self.the_scale.steps

    def is_quick(self) -> bool:
        """Part of the suite that `iogauge run` runs, at QUICK_SCALE."""
        if not self.quick:
            return self.quick is not None and self.the_call.quick
        return all(getattr(self, name) == value for name, value in self.quick.items())

    def servers(self) -> int:
        return self.the_call.servers

    @property
    def clients(self) -> int:
        """The processes that have data."""
        return self.num_tasks - self.servers()

    def runs_the_kernel(self) -> bool:
        """Or another program, whose results are converted to the same document?"""
        return True

    def expected(self) -> Expected:
        return Expected(
            pattern=self.pattern,
            method=self.the_call.method,
            mode=self.the_call.mode,
            processes=self.num_tasks,
            repeats=self.repeats,
            payload_bytes=self.payload_bytes(),
            verdict=self.the_call.verdict,
            fs_type=self.file_system.get("mounted_as"),
            steps=self.dumps,
            fsync=bool(self.fsync),
            ceilings=bool(self.ceilings),
            hints=self.all_hints(),
            ours=self.runs_the_kernel(),
        )

    @property
    def the_call(self) -> Call:
        return BY_NAME[self.call]

    @property
    def the_scale(self) -> Scale:
        return self.scales.get(self.scale, Scale())

    @property
    def file_system(self) -> dict[str, Any]:
        return filesystems.of(self.current_partition)[self.fs]

    @property
    def dumps(self) -> int:
        """Files per repeat."""
        return self.steps or self.scale_steps()

    def environs(self) -> list[str]:
        """The stacks that can run it, in the form of ReFrame's `valid_prog_environs`."""
        return [f"{environ} {self.features}".strip() for environ in self.the_call.environs]

    @run_after("init")
    def set_systems(self) -> None:
        self.valid_systems = filesystems.partitions_with(self.fs)
        self.valid_prog_environs = stacks.chosen(self.hashcode) or self.environs()
        self.method = self.the_call.method
        self.mode = self.the_call.mode or ""

    @run_after("init")
    def set_tags(self) -> None:
        self.tags |= {self.pattern, self.method, self.scale, self.fs, *self.family}
        if self.apart:
            self.tags |= {self.apart}
        elif self.scale == QUICK_SCALE:
            self.tags |= {"modes", "quick"} if self.is_quick() else {"modes"}

    @run_after("setup")
    def set_processes(self) -> None:
        """How many processes on how many nodes; what cannot be placed is skipped, last of all."""
        shape = placement.shape_of(self.current_partition)
        cores, most = shape.cores, shape.cores * (shape.nodes or 1) - self.servers()
        fixed = self.num_tasks or self.fitting(self.scale_processes(), max(1, most))
        alone = self.the_call.processes
        wanted = alone or self.num_tasks or (fixed + self.servers() if fixed else 0)
        per_node: int = self.num_tasks_per_node or 0
        if not wanted and not self.nodes:
            wanted = per_node or max(min(MAX_DEFAULT_PROCESSES, cores), 1 + self.servers())
        if alone and self.num_tasks not in (0, alone):
            self.unplaceable = (
                f"{self.the_call.name} runs with {alone} process, not {self.num_tasks}"
            )
            return
        self.place(wanted, per_node, self.nodes)
        if not self.unplaceable and self.clients < 1:
            self.unplaceable = (
                f"the method reserves {self.servers()} of {self.num_tasks} processes: none is left"
            )
        self.nodes = self.nodes if self.unplaceable or self.is_local() else self.where.nodes

    @run_after("setup", always_last=True)
    def skip_if_impossible(self) -> None:
        """Last of all: the reasons depend on what earlier hooks have set."""
        reasons = (
            self.unplaceable,
            self.hint_conflict(),
            stacks.missing(self.current_environ, [*self.kernels.needs, *self.the_call.needs]),
            stacks.too_many(self.current_environ, self.num_tasks),
            self.kernels.lacks(self.method, self.mode),
            self.shortage(),
            self.memory_shortage(),
        )
        self.skip_reason = next((reason for reason in reasons if reason), "")
        self.skip_if(bool(self.skip_reason), self.skip_reason)

    @run_after("setup")
    def set_published_peak(self) -> None:
        self.published_peak = filesystems.published_peak(self.file_system)

    @run_after("setup")
    def set_stack(self) -> None:
        launchers.use_stack(self.job.launcher, self.current_environ)
        launchers.pass_on(self.job.launcher, self.sorted_hints.environment)

    @run_before("run")
    def keep_stack_lock(self) -> None:
        keep_packages(self)

    @run_before("run")
    def set_program(self) -> None:
        self.executable = str(self.kernels.program)
        self.executable_opts = [
            " ".join([self.pattern, *self.pattern_options()]),
            " ".join(self.the_call.options),
            " ".join([self.folders(), *self.file_system_options()]),
            " ".join(self.run_options()),
            f"--json {DOCUMENT}",
        ]

    @property
    def file_prefix(self) -> str:
        """The file system's prefix, for ROMIO's calls: others take it for part of the name."""
        takes_it = self.the_call.takes_prefix and "romio" in self.current_environ.features
        return self.file_system.get("prefix", "") if takes_it else ""

    def folders(self) -> str:
        """Options for the folders of the script's `run_directory` and `stripe` blocks."""
        own = ' --own-dir "$own_dir"' if "own" in (self.striping() or {}) else ""
        return f'--dir "$run_dir"{own}'

    def file_system_options(self) -> list[str]:
        """The hints are the array made by the script's `hints` block."""
        options = [f"--prefix {shlex.quote(self.file_prefix)}"] if self.file_prefix else []
        if self.unknown_hints:
            options.append(f"--unknown-hints {shlex.quote(self.unknown_hints)}")
        return [*options, '"${hints[@]}"'] if self.sorted_hints.mpi else options

    def run_options(self) -> list[str]:
        flags = {
            "--fsync": self.fsync,
            "--ceilings": self.ceilings,
            "--drop-caches": self.drop_caches,
        }
        return [
            f"--steps {self.dumps}",
            f"--repeat {self.repeats}",
            *(flag for flag, wanted in flags.items() if wanted),
            *([f"--ceiling-seconds {self.ceiling_seconds}"] if self.ceilings else []),
            *([f"--buffer {shlex.quote(self.chosen_buffer())}"] if self.chosen_buffer() else []),
            SEED,
        ]

    def programs(self) -> list[dict[str, Any]]:
        return [{"path": self.executable, "options": self.executable_opts}]

    def script_values(self) -> dict[str, Any]:
        return {
            "test": {
                "name": self.display_name,
                "factor": self.factor,
                "pattern": self.pattern,
                "call": self.the_call.name,
            },
            "system": self.current_system.name,
            "partition": self.current_partition.name,
            "environ": self.current_environ.name,
            "fs": {
                "name": self.fs,
                "note": "",
                "create": False,
                **self.file_system,
                "published_peak": self.published_peak,
                "striping": self.striping(),
            },
            "hints": {"form": self.hints_form, **asdict(self.sorted_hints)},
            "before": list(self.prerun_cmds),
            "programs": self.programs(),
            "after": list(self.postrun_cmds),
            "trace": self.trace_values(),
        }

    def striping(self) -> dict[str, Any] | None:
        """The site's for this file system, then the user's; None if it has none."""
        site: dict[str, Any] | None = self.file_system.get("striping")
        mine = {"count": self.stripe_count, "size": self.stripe_size}
        own = {"own": self.stripe_count or 1} if site and site["kind"] in striping.WITH_OWN else {}
        return site and {**site, **{key: value for key, value in mine.items() if value}, **own}

    @run_before("run", always_last=True)
    def set_template_values(self) -> None:
        self.pass_to_job(self.script_values())

    @run_before("sanity")
    def record_striping(self) -> None:
        """What the job read back goes into the document."""
        if not self.is_dry_run():
            striping.record(Path(self.stagedir), self.striping())

    @sanity_function
    def all_bytes_are_right(self) -> bool:
        try:
            stage, expected, outside = Path(self.stagedir), self.expected(), self.outside()
            self.judged_by = judged_by(expected, outside, traced=bool(self.recorder))
            document = check_run(stage, expected, self.job.stderr, outside)
            self.check_the_trace(document, expected, outside)
            self.check_the_label(document)
        except Wrong as wrong:
            reason = f"{wrong}{self.who_wrote_it()}"
            self.write_case("fail", f"sanity error: {reason}")
            raise SanityError(reason) from None
        return True
