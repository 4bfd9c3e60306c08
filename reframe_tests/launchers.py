"""Launchers that take their command from the stack, so that two MPIs can share one partition."""

from __future__ import annotations

from typing import Any

from reframe.core.launchers import JobLauncher

from reframe_tests import registry


@registry.launcher("stack")
class StackLauncher(JobLauncher):
    """The mpiexec of the environ: `extras['launcher']` has `command` and `options`."""

    def __init__(self) -> None:
        super().__init__()
        self.program = "mpiexec"

    def command(self, job: Any) -> list[str]:
        return [self.program, "-n", str(job.num_tasks)]


def use_stack(launcher: Any, environ: Any) -> None:
    """Make a job's launcher that of `environ`: its command, where the launcher leaves that open
    (`stack`), and its options (with `srun` for instance `--mpi=pmi2`)."""
    stack = environ.extras.get("launcher", {})
    if hasattr(launcher, "program"):
        launcher.program = stack["command"]
    launcher.options += stack.get("options", [])
