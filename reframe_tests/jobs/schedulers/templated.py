# SPDX-License-Identifier: BSD-3-Clause
"""The common base of templated back ends: ReFrame's own job, whose script is then written from a
template.

`Job.prepare()` is not a public hook of ReFrame (4.10): it settles the number of tasks of a flexible
job, and writes the script into the current folder, which is then written again.
"""

import json
import logging
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import reframe.core.runtime as rt
import reframe.utility.osext as osext
from reframe.core.exceptions import JobError, ReframeError, SpawnedProcessError, what

from iogauge.common import json_file
from iogauge.common.files import write_whole
from iogauge.common.run_folder import CASE, JOB, WAITS
from iogauge.common.text import one_line
from reframe_tests.jobs import collected, shell
from reframe_tests.jobs.render import TemplateProblem, render, template_for

PATIENCE = 3  # answers in a row that cannot be understood
# Seconds for which the scheduler says that a job can never start, before it is believed: one cycle
# may be wrong. Slurm examines all its queue every minute.
NEVER = 90.0
# Seconds for which a job may be held: a site's hook may hold a new job, and another release it. PBS
# calls periodic hooks every two minutes unless told otherwise.
HELD = 300.0
# Seconds in the queue after which the scheduler's reason is printed, and again after twice that.
LONG = 300.0
AGAIN = 20.0  # seconds between its first questions


def environment_lines(environs: list[Any]) -> list[str]:
    """Like ReFrame's `emit_loadenv_commands`, with quoted values: there `$(...)` and whatever
    follows a `;` would run."""
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
    scripts in templates/. `queued`: the states of a job that has not started; `ask_why`: the
    command that says why; `reason`: finds that in its answer; `never`, `held`: reasons that
    never end, or perhaps only if somebody acts."""

    job: type
    template: str
    queued: frozenset[str] = frozenset()
    ask_why = ""
    reason = never = held = re.compile("(?!)")

    def make_job(self, *args: Any, **kwargs: Any) -> Any:
        made = self.job(*args, **kwargs)
        made.template = self.template
        return made

    def count(self, job: Any, problem: str) -> None:
        """An answer that cannot be understood."""
        job.misunderstood += 1
        if job.misunderstood >= PATIENCE:
            give_up(self, job, problem)

    def pending_reason(self, job: Any) -> str:
        output = ""
        with suppress(OSError, SpawnedProcessError):
            output = osext.run_command(self.ask_why.format(job.jobid)).stdout
        return self.why_in(output, job)

    def why_in(self, output: str, job: Any) -> str:
        found = self.reason.search(output.replace("\n\t", ""))
        return one_line(found[1], 300) if found else f"it is in state {job.state}"


class TemplatedJob:
    """Mixed in before a stock job class. `script_values`: what the test hands to the template;
    without it, as for a build or somebody else's test, the stock script stays."""

    template: str
    script_values: dict[str, Any] | None = None
    misunderstood, is_given_up = 0, False
    patience: float | None = None  # NEVER, HELD, or None while nothing blocks it
    asked = told = blocked = 0.0  # seconds in the queue before the next question, word, or block
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
        job: Any = self
        # ReFrame's own back ends would cancel it without the scheduler's reason.
        job.longest_wait, job.max_pending_time = job.max_pending_time, None
        result = super().submit()  # type: ignore[misc]
        text = f"{job.scheduler.registered_name} {job.jobid}\n"
        write_whole(Path(job.workdir) / JOB, text)
        return result

    def finished(self) -> Any:
        """Whether it has ended. Why it was given up also goes into its case's file, for
        `iogauge run` to show at once."""
        job: Any = self
        try:
            if not self.is_given_up and (why := self.why_not()):
                give_up(job.scheduler, job, why)
            return super().finished()  # type: ignore[misc]
        except JobError as error:
            path = Path(self.workdir) / CASE  # type: ignore[attr-defined]
            with suppress(OSError, json_file.Unreadable, KeyError, TypeError):
                document = json_file.read(path, CASE)
                document["case"]["fail_reason"] = what(type(error), error, error.__traceback__)
                write_whole(path, json.dumps(document) + "\n")
            raise

    def why_not(self) -> str | None:
        """Why it is given up in the queue. The scheduler's reason is printed after a while."""
        job: Any = self
        if job.scheduler.queued.isdisjoint((job.state or "").split(",")):
            return None
        waited = time.time() - job.submit_time
        too_long = job.longest_wait and waited > job.longest_wait
        if not too_long and waited < self.asked:
            return None
        why = job.scheduler.pending_reason(job)
        self.asked = AGAIN + 1.2 * waited
        if too_long:
            return f"maximum pending time exceeded: {why}"
        is_never, is_held = job.scheduler.never.match(why), job.scheduler.held.match(why)
        patience = NEVER if is_never else HELD if is_held else None
        if patience != self.patience:
            self.patience, self.blocked = patience, waited
        if patience is not None and waited - self.blocked >= patience:
            return f"it cannot start: {why}"
        if waited >= max(self.told, LONG):
            self.told = 2 * waited
            more = f"more: {job.scheduler.ask_why.format(job.jobid)}"
            limit = "" if job.longest_wait else "; -S max_pending_time=1h ends it after an hour"
            text = f"{WAITS} {job.jobid}, {waited / 60:.0f} minutes: {why}; {more}{limit}"
            job.scheduler.log(text, logging.INFO)
        return None

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
            "folder": collected.run_folder(job.workdir),
            **self.placement,
        }


def give_up(scheduler: Any, job: Any, problem: str) -> None:
    """For a job in an unknown state: not beside the next measurement."""
    try:
        scheduler.cancel(job)
    except ReframeError as error:
        problem += f"; and it could not be cancelled: {error}"
    job._exception = JobError(problem, job.jobid)
    job.is_given_up = job._completed = True
