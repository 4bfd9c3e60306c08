# SPDX-License-Identifier: BSD-3-Clause
"""Site files, changed at random: each is refused in lines, or its job scripts, of all schedulers,
run none of its words. Hints and settings that come as text, too."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from iogauge.common import hints
from iogauge.common.text import CONTROL
from reframe_tests.jobs import shell
from reframe_tests.jobs.render import TemplateProblem, render
from reframe_tests.jobs.schedulers import NAMES
from site_configs.support import check, common
from tests.fuzz.cases import WORDS, changed, fuzz, texts
from tests.site_configs.test_site_canary import (
    PLACES,
    STANDINS,
    TEMPLATES,
    full_site,
    poisoned,
    ran,
    script_values,
)

# What a site's Python can hold, and no lone surrogate: a script is a file in UTF-8.
COMMANDS = st.lists(
    st.sampled_from(
        [
            "touch ran",
            ";",
            "\n",
            "\r",
            "&",
            "|",
            "$(",
            ")",
            "`",
            "'",
            '"',
            "\\",
            "#",
            "<<",
            "x",
            " ",
            "${",
            "}",
            "END",
            "!",
            "*",
            "\t",
            "\0",
            "\u2028",
            "\x85",
            "(",
            ">",
        ]
    ),
    max_size=9,
).map("".join)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """With stand-ins for the commands of scripts."""
    with tempfile.TemporaryDirectory(prefix="iogauge-fuzz-") as name:
        tools = Path(name) / "tools"
        tools.mkdir()
        for command in STANDINS:
            (tools / command).write_text("#!/bin/bash\nexit 0\n")
            (tools / command).chmod(0o755)
        yield Path(name)


SITES = {name: full_site(name) for name in NAMES}


@fuzz("site files", 0.06, 100, scheduler=st.sampled_from(NAMES), data=st.data())
def test_site_files(scheduler: str, data: st.DataObject) -> None:
    site = data.draw(changed(SITES[scheduler]))
    for problem in check.problems(site):
        assert not CONTROL.search(problem), repr(problem)
        assert len(problem) < 2000, problem


FORMS = st.sampled_from((("options", "lustre"), ("ior", "pvfs2"), ("romio", "lustre")))


@pytest.mark.slow
@fuzz("job scripts", 0.015, 40, template=st.sampled_from(TEMPLATES), form=FORMS,
      where=st.sampled_from(PLACES), word=COMMANDS, key=st.none() | COMMANDS)  # fmt: skip
def test_job_scripts(
    place: Path, template: str, form: tuple[str, str], where: tuple[Any, ...], word: str,
    key: str | None,
) -> None:  # fmt: skip
    given = script_values(place, *form, {} if key is None else {key: "1"})
    if form[0] == "options" or "mpi" in where:
        given = poisoned(given, where, word)
    try:
        script = render(f"{template}.sh.j2", given)
    except TemplateProblem as problem:
        assert len(str(problem)) < 2000
        return
    (place / "job.sh").write_text(script)
    subprocess.run(["bash", "-n", place / "job.sh"], check=True)
    path = {**os.environ, "PATH": f"{place / 'tools'}:{os.environ['PATH']}"}
    subprocess.run(
        ["bash", place / "job.sh"],
        cwd=place,
        env=path,
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert not ran(place), script


@fuzz("values of variables", 0.005, 20, word=COMMANDS)
def test_values_of_variables(place: Path, word: str) -> None:
    if "\0" in word or "${" in word:
        return  # no variable can hold the one, and the other is a variable that is not set
    done = subprocess.run(
        ["bash", "-c", f'export X={shell.assigned(word)}; printf %s "$X"'],
        cwd=place, capture_output=True, check=True,
    )  # fmt: skip
    assert not ran(place)
    assert done.stdout.decode() == word


@fuzz("hints as text", 0.05, 100, word=texts, more=COMMANDS)
def test_hints(word: str, more: str) -> None:
    try:
        found = hints.parse_hints(f"cb_nodes=2 {word} {more}")
    except ValueError as error:
        assert str(error)
    else:
        assert found["cb_nodes"]
        sorted_ones = hints.sort_hints(found)
        assert set(sorted_ones.mpi) | set(sorted_ones.variables) == set(found)


@fuzz("settings of the environment", 0.02, 50, word=st.sampled_from(WORDS) | texts)
def test_numbers_of_the_environment(word: str) -> None:
    value = word.replace("\0", "").encode(errors="replace").decode()
    os.environ["IOGAUGE_FUZZED"] = value
    try:
        assert common.number("FUZZED", 3) >= 0
    except ValueError as error:
        assert "IOGAUGE_FUZZED" in str(error)
        assert "whole number" in str(error)
    finally:
        del os.environ["IOGAUGE_FUZZED"]
