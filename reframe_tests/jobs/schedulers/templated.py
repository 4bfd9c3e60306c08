# SPDX-License-Identifier: BSD-3-Clause
"""The common base of templated back ends: ReFrame's own job, whose script is then written from a
template.

`Job.prepare()` is not a public hook of ReFrame (4.10): it settles the number of tasks of a flexible
job, and writes the script into the current folder, which is then written anew.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import reframe.core.runtime as rt
from reframe.core.exceptions import JobError, what

from iogauge.common import json_file
from iogauge.common.files import write_whole
from iogauge.common.run_folder import CASE, JOB
from reframe_tests.jobs import shell
from reframe_tests.jobs.render import TemplateProblem, render, template_for


def environment_lines(environs: list[Any]) -> list[str]:
    """As ReFrame's `emit_loadenv_commands`, with quoted values: there `$(...)` and whatever follows
    a `;` would run."""
    modules = rt.runtime().modules_system
    lines = []
    for environ in environs:
        lines += environ.prepare_cmds
        for module in environ.modules_detailed:
            lines += modules.emit_load_commands(**module)
        for key, value in environ.env_vars.items():
            lines.append(f"export {shell.name(key)}={shell.assigned(value)}")
    return lines


def with_quoted_values(script: str, environs: list[Any]) -> str:
    """A stock script, as of a build, whose variables ReFrame wrote unquoted."""
    for environ in environs:
        for key, value in environ.env_vars.items():
            line = f"export {key}={value}\n"
            script = script.replace(line, f"export {shell.name(key)}={shell.assigned(value)}\n")
    return script


class Templated:
    """Mixed in before a stock back end. `job`: the class of its jobs; `template`: the file of their
    scripts in templates/."""

    job: type
    template: str

    def make_job(self, *args: Any, **kwargs: Any) -> Any:
        made = self.job(*args, **kwargs)
        made.template = self.template
        return made


class TemplatedJob:
    """Mixed in before a stock job class. `script_values`: what the test hands to the template;
    without it, as for a build or somebody else's test, the stock script stays."""

    template: str
    script_values: dict[str, Any] | None = None
    held_since: float | None = None
    # What only the test knows: machine/placed.py.
    placement: dict[str, Any] = {}

    def prepare(
        self,
        commands: list[str],
        environs: list[Any] | None = None,
        prepare_cmds: list[str] | None = None,
        strict_flex: bool = False,
        **gen_opts: Any,
    ) -> None:
        """Write the script. `JobError` names the template, the line and the variable."""
        super().prepare(commands, environs, prepare_cmds, strict_flex, **gen_opts)  # type: ignore[misc]
        script_file = Path(self.script_filename)  # type: ignore[attr-defined]
        if self.script_values is None:
            script_file.write_text(with_quoted_values(script_file.read_text(), environs or []))
            return
        values = {
            **self.script_values,
            "job": self._job_values(),
            "environment": [*(prepare_cmds or []), *environment_lines(environs or [])],
            "template": self.template,
        }
        system = values["system"]
        try:
            script = render(template_for(self.template, system), values)
        except TemplateProblem as problem:
            raise JobError(f"job script: templates/{problem}") from None
        script_file.write_text(script)

    def submit(self) -> Any:
        """Submit, and record the job id so that a killed session's jobs can be found."""
        result = super().submit()  # type: ignore[misc]
        job: Any = self
        text = f"{job.scheduler.registered_name} {job.jobid}\n"
        write_whole(Path(job.workdir) / JOB, text)
        return result

    def finished(self) -> Any:
        """Whether it has ended. Why it was given up also goes into its case's file, for
        `iogauge run` to show at once."""
        try:
            return super().finished()  # type: ignore[misc]
        except JobError as error:
            path = Path(self.workdir) / CASE  # type: ignore[attr-defined]
            with suppress(OSError, json_file.Unreadable, KeyError, TypeError):
                said = json_file.read(path, CASE)
                said["case"]["fail_reason"] = what(type(error), error, error.__traceback__)
                write_whole(path, json.dumps(said) + "\n")
            raise

    def _job_values(self) -> dict[str, Any]:
        job: Any = self
        per_node = job.num_tasks_per_node or job.num_tasks
        nodes, rest = divmod(job.num_tasks, per_node)
        return {
            "name": job.name,
            "processes": job.num_tasks,
            "processes_per_node": per_node,
            "full_nodes": nodes,
            "rest": rest,
            "nodes": nodes + bool(rest),
            "block": nodes + bool(rest),
            "job_type": "parallel",
            "cores_per_process": job.num_cpus_per_task or 1,
            "exclusive": bool(job.exclusive_access),
            "memory": 0,
            "time_limit": job.time_limit,
            # What the partition (`access`), the test and the command line (`-J`) ask for in
            # addition.
            "options": [*job.sched_access, *job.options, *job.cli_options],
            "directives": job.scheduler.emit_preamble(job),
            # Rendered here and not by the test: a flexible job's task count is only known now.
            "launcher": job.launcher.run_command(job),
            "stdout": job.stdout,
            "stderr": job.stderr,
            "folder": job.workdir,
            **self.placement,
        }
