# SPDX-License-Identifier: BSD-3-Clause
"""Stand-ins for the commands of PBS, Torque, Cobalt and LoadLeveler: small, and only for tests.

`install(folder, kind)` puts commands into a folder. They run a job's script on this machine and
print what those systems print (PBS Professional's reference guide, Cobalt's user guide, IBM's
"Using and Administering"). STANDIN_SAYS: what goes wrong.

    no-id      a submission prints nonsense
    garbled    queries crash
    noise      queries print nonsense, as if all were well
    state      queries print a state that no manual knows
    pending    a job never starts
    never      the same, and PBS says that it cannot
    held       a job is held
    released   a job is held at first
    lost       a job is gone at once, and never ran

STANDIN_NODE: words in front of a job's script, such as a namespace.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

COMMANDS = {
    "pbs": ("qsub", "qstat", "qdel"),
    "torque": ("qsub", "qstat", "qdel"),
    "cobalt": ("qsub", "qstat", "qdel"),
    "loadleveler": ("llsubmit", "llq", "llcancel"),
}
SUBMIT = ("qsub", "llsubmit")
QUERY = ("qstat", "llq")
HELD_LOOKS = 10  # queries that show a job as held, which is released then
PBS_LETTERS = {"running": "R", "pending": "Q", "held": "H"}
# With a history, as OpenPBS was seen to say, and without.
GONE = {
    "pbs": "{} Job has finished, use -x or -H to obtain historical job information",
    "torque": "Unknown Job Id {}",
}
# PBS wraps what is long.
COMMENTS = {
    "never": "    comment = Can Never Run: Insufficient amount of resource: ncpus (R:\n\t 8 A: 4)",
    "pending": "    comment = Not Running: No available resources on\n\t nodes",
    "held": "    Hold_Types = s\n    comment = job held, too many failed attempts to run",
}
LETTERS = {
    "pbs": PBS_LETTERS,
    "torque": PBS_LETTERS,
    "cobalt": {"running": "running", "pending": "queued", "held": "admin_hold"},
    "loadleveler": {"running": "R", "pending": "I", "held": "S"},
}


def install(folder: Path, kind: str) -> None:
    """The commands of `kind` in `folder`/bin; jobs are noted in `folder`/jobs."""
    (folder / "bin").mkdir(parents=True)
    (folder / "jobs").mkdir()
    for name in COMMANDS[kind]:
        command = folder / "bin" / name
        command.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" {kind} {name} "{folder}/jobs" "$@"\n'
        )
        command.chmod(0o755)


class Jobs:
    """What was submitted: a number, a process, and how it ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def submit(self, script: Path, out: str, err: str, log: str) -> int:
        number = 100 + len(list(self.folder.glob("*.job")))
        ended = self.folder / f"{number}.status"
        job = subprocess.Popen(
            [sys.executable, __file__, "run", str(script.absolute()), out, err, log, str(ended)],
            start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert job.stdout
        job.stdout.readline()  # it is noted, and takes signals
        return number

    def only_note(self, has_ended: bool) -> int:
        """A job that never starts."""
        number = 100 + len(list(self.folder.glob("*.job")))
        (self.folder / f"{number}.job").write_text("")
        if has_ended:
            (self.folder / f"{number}.status").write_text("271")
        return number

    def has_started(self, number: int) -> bool:
        return bool((self.folder / f"{number}.job").read_text())

    def is_running(self, number: int) -> bool:
        return not (self.folder / f"{number}.status").exists()

    def looks(self, number: int) -> int:
        """One more."""
        with (self.folder / f"{number}.looks").open("a") as file:
            return file.write(".") and file.tell()

    def status(self, number: int) -> str:
        return (self.folder / f"{number}.status").read_text().strip()

    def kill(self, number: int) -> None:
        if not self.has_started(number):
            (self.folder / f"{number}.status").write_text("271")
            return
        os.killpg(int((self.folder / f"{number}.job").read_text()), signal.SIGTERM)


def run(script: str, out: str, err: str, log: str, ended: str) -> int:
    """Run a job's script, outlive a signal to its group, and note how that ended.

    Not a shell's `wait`: bash 5.2 gives -1 where a trap and the child's end come together.
    """
    signals: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: signals.append(number))
    Path(ended).with_suffix(".job").write_text(str(os.getpid()))
    print(flush=True)
    with Path(out).open("wb") as stdout, Path(err).open("wb") as stderr:
        node = shlex.split(os.environ.get("STANDIN_NODE", ""))
        with subprocess.Popen([*node, script], stdout=stdout, stderr=stderr) as job:
            if signals:  # before exec it was lost
                os.killpg(0, signal.SIGTERM)
            status = job.wait()
    status = status if status >= 0 else 128 - status
    if log:
        end = f"task completed normally with an exit code of {status}; initiating job cleanup"
        Path(log).write_text(f"Info: {end} and removal\n")
    Path(f"{ended}.new").write_text(f"{status}\n")
    Path(f"{ended}.new").replace(ended)
    return 0


def directive(script: str, pattern: str) -> str:
    match = re.search(pattern, script, re.MULTILINE)
    return match[1] if match else ""


def submit(kind: str, jobs: Jobs, arguments: list[str]) -> int:
    script = Path(arguments[-1])
    text = script.read_text()
    names = {
        "pbs": (r"^#PBS -o (\S+)", r"^#PBS -e (\S+)", r"^(?!)()"),
        "torque": (r"^#PBS -o (\S+)", r"^#PBS -e (\S+)", r"^(?!)()"),
        "cobalt": (r"^#COBALT -o (\S+)", r"^#COBALT -e (\S+)", r"^#COBALT --debuglog (\S+)"),
        "loadleveler": (r"^# @ output = (\S+)", r"^# @ error = (\S+)", r"^(?!)()"),
    }[kind]
    if kind == "cobalt" and not os.access(script, os.X_OK):
        print(f"command {script} is not executable", file=sys.stderr)
        return 1
    if kind == "loadleveler" and not re.search(r"^# @ queue$", text, re.MULTILINE):
        print("llsubmit: 2512-051 This job has not been submitted to LoadLeveler.")
        return 1
    if not os.access(script, os.X_OK):
        script.chmod(0o755)
    says = os.environ.get("STANDIN_SAYS")
    if says in ("pending", "never", "held", "lost"):
        number = jobs.only_note(says == "lost")
    else:
        number = jobs.submit(script, *(directive(text, pattern) for pattern in names))
    if says == "no-id":
        print("try again later")
    elif kind == "loadleveler":
        print('llsubmit: Processed command file through Submit Filter: "/etc/filter".')
        print(f'llsubmit: The job "frontend.site.{number}" has been submitted.')
    else:
        print(number if kind == "cobalt" else f"{number}.server")
    return 0


def query(kind: str, jobs: Jobs, arguments: list[str]) -> int:
    says = os.environ.get("STANDIN_SAYS")
    if says in ("garbled", "noise"):
        print("Segmentation fault", file=sys.stderr if says == "garbled" else sys.stdout)
        return 139 if says == "garbled" else 0
    number = int(re.findall(r"\d+", arguments[-1])[0])
    running = jobs.is_running(number)
    state = "running" if jobs.has_started(number) else "held" if says == "held" else "pending"
    if says == "released" and jobs.looks(number) <= HELD_LOOKS:
        state, running = "held", True
    letter = "?" if says == "state" else LETTERS[kind][state]
    if kind == "cobalt":
        if not running:
            return 1
        print("JobID  State    Location\n========================")
        print(f"{number}    {letter}  CET-20400-31731-128")
    elif kind == "loadleveler" and arguments[0] == "-s":
        print(f"\n===== EVALUATIONS FOR JOB STEP front.{number}.0 =====\n")
        print("The status of job step is : Idle\nNot enough resources to start now.\n")
    elif kind == "loadleveler":
        if not running:
            print("llq: There is currently no job status to report.")
            return 0
        print("Step Id                  ST\n------------------------ --")
        print(f"front.{number}.0             {letter} ")
        print("\n1 job step(s) in query, 0 waiting, 0 pending, 1 running, 0 held, 0 preempted")
    elif running:
        print(f"Job Id: {number}.server\n    Job_Name = rfm\n    job_state = {letter}")
        print("    exec_host = n1/0+n2/0\n" if state == "running" else "")
        print(COMMENTS.get(str(says), ""))
    elif kind == "pbs" and arguments[0] == "-xf":
        print(f"Job Id: {number}.server\n    job_state = F")
        if jobs.has_started(number):
            print(f"    Exit_status = {jobs.status(number)}")
    else:
        print(f"qstat: {GONE[kind].format(f'{number}.server')}", file=sys.stderr)
        return 35 if kind == "pbs" else 153
    return 0


def cancel(kind: str, jobs: Jobs, arguments: list[str]) -> int:
    number = int(re.findall(r"\d+", arguments[-1])[0])
    jobs.kill(number)
    if kind == "cobalt":
        print(f"      Deleted Jobs\nJobID  User\n===========\n{number}   me")
    if kind == "loadleveler":
        print("llcancel: Cancel command has been sent to the central manager.")
    return 0


def main(kind: str, name: str, folder: str, *arguments: str) -> int:
    if kind == "run":
        return run(name, folder, *arguments)
    jobs = Jobs(Path(folder))
    act = submit if name in SUBMIT else query if name in QUERY else cancel
    return act(kind, jobs, list(arguments))


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
