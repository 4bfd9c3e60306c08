# SPDX-License-Identifier: BSD-3-Clause
"""Launchers that take their command from the stack, so that two MPIs can share one partition."""

from collections.abc import Iterable
from typing import Any

from reframe.core.launchers import JobLauncher

from reframe_tests.jobs import registry
from reframe_tests.machine import stacks


@registry.launcher("stack")
class StackLauncher(JobLauncher):
    """The mpiexec of the environ: `extras['launcher']` has `command` and `options`."""

    def __init__(self) -> None:
        super().__init__()
        self.program = "mpiexec"

    def command(self, job: Any) -> list[str]:
        return [self.program, "-n", str(job.num_tasks)]


@registry.launcher("runjob")
class RunjobLauncher(JobLauncher):
    """Blue Gene/Q. Under Cobalt the environ adds `--block "$COBALT_PARTNAME"`."""

    passes_on = "--exp-env {}"

    def command(self, job: Any) -> list[str]:
        words = ["runjob", "--np", str(job.num_tasks)]
        if job.num_tasks_per_node:
            words += ["--ranks-per-node", str(job.num_tasks_per_node)]
        return words

    def run_command(self, job: Any) -> str:
        return f"{super().run_command(job)} :"


# Processes of a node -> Blue Gene/P's name for it.
BGP_MODES = {1: "SMP", 2: "DUAL", 4: "VN"}


@registry.launcher("mpirun-bgp")
class BlueGenePLauncher(JobLauncher):
    passes_on = "-exp_env {}"

    def command(self, job: Any) -> list[str]:
        mode = BGP_MODES[job.num_tasks_per_node or 1]
        return ["mpirun", "-mode", mode, "-np", str(job.num_tasks)]


@registry.launcher("poe")
class PoeLauncher(JobLauncher):
    """IBM's parallel environment: LoadLeveler tells it how many processes and where."""

    def command(self, job: Any) -> list[str]:
        return ["poe"]


@registry.launcher("mpiexec-mpt")
class MptLauncher(JobLauncher):
    """SGI's MPT under PBS: it takes the nodes from PBS."""

    def command(self, job: Any) -> list[str]:
        return ["mpiexec_mpt", "-np", str(job.num_tasks)]


def use_stack(launcher: Any, environ: Any) -> None:
    """Take the launcher's options from `environ`, and its command if that is open (`stack`)."""
    stack = stacks.extras(environ).get("launcher", {})
    if hasattr(launcher, "program"):
        # A missing stack has none, and its tests are skipped later.
        launcher.program = stack.get("command", "mpiexec")
    launcher.options += stack.get("options", [])


def pass_on(launcher: Any, variables: Iterable[str]) -> None:
    """Pass the script's environment on, if the launcher does not (Blue Gene's: `passes_on`)."""
    option = getattr(launcher, "passes_on", "")
    launcher.options += [option.format(name) for name in variables if option]
