# SPDX-License-Identifier: BSD-3-Clause
"""What `make coverage` says of counts, and where there are none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.common.paths import ROOT
from tools.coverage import Entered, NothingToRead, by_folder, error_paths, of_c, of_python

C = """\
int f(void) {
    if (g()) return io_fail_errno(e, "open", path, errno);
    return h();
}
"""
PYTHON = """\
try:
    f()
except OSError:
    raise Wrong("no") from None
g()
"""


def test_the_lines_of_a_folder_and_of_all() -> None:
    files = [Entered("a/x.c", 10, (1, 2)), Entered("a/y.c", 10, ()), Entered("b/z.c", 5, (3,))]
    assert list(by_folder(files)) == [("a", 20, 18), ("b", 5, 4), ("all", 25, 22)]


def test_error_paths_are_those_lines_that_say_one(tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(C)
    (tmp_path / "f.py").write_text(PYTHON)
    files = [Entered("f.c", 3, (2, 3)), Entered("f.py", 5, (3, 4, 5))]
    assert list(error_paths(files, tmp_path)) == [
        'f.c:2: if (g()) return io_fail_errno(e, "open", path, errno);',
        "f.py:3: except OSError:",
        'f.py:4: raise Wrong("no") from None',
    ]
    assert list(error_paths([Entered("f.c", 3, (3,))], tmp_path)) == []


def test_without_counts_it_says_what_leaves_them(tmp_path: Path) -> None:
    with pytest.raises(NothingToRead, match="make coverage"):
        of_c(tmp_path)
    with pytest.raises(NothingToRead, match="make coverage"):
        of_python(tmp_path)


COUNTED = """\
def f(x):
    if x:
        return 1
    raise ValueError


f(1)
"""


# As in ReFrame's test classes, whose namespace is none to be looked through.
STRICT = """\
class Names(dict):
    def values(self):
        raise AttributeError


class Meta(type):
    @classmethod
    def __prepare__(cls, name, bases):
        return Names()


def f():
    return 1


class C(metaclass=Meta):
    for _ in range(1000):
        f()
"""


def test_counting_does_not_look_into_what_it_counts(tmp_path: Path) -> None:
    (tmp_path / "tools" / "counted").mkdir(parents=True)
    hook = shutil.copy(ROOT / "tools" / "counted" / "sitecustomize.py", tmp_path / "tools/counted")
    (tmp_path / "iogauge").mkdir()
    (tmp_path / "iogauge" / "file.py").write_text(STRICT)
    environment = {"PYTHONPATH": str(Path(hook).parent), "IOGAUGE_COUNTS": str(tmp_path)}
    command = [sys.executable, "-m", "iogauge.file"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, **environment}, check=True)
    (file,) = of_python(tmp_path, tmp_path)
    assert file.missed == (3,)


def test_what_programs_of_python_enter_is_counted(tmp_path: Path) -> None:
    """Of our packages alone; also of files that are loaded by their path, as ReFrame does it."""
    root, counts = tmp_path / "checkout", tmp_path / "counts"
    hook = root / "tools" / "counted"
    hook.mkdir(parents=True)
    counts.mkdir()
    shutil.copy(ROOT / "tools" / "counted" / "sitecustomize.py", hook)
    for place in ("iogauge", "other"):
        (root / place).mkdir()
        (root / place / "file.py").write_text(COUNTED)
    environment = {**os.environ, "PYTHONPATH": str(hook), "IOGAUGE_COUNTS": str(counts)}
    load = (
        "import importlib.util as u; s = u.spec_from_file_location('any', 'iogauge/file.py'); "
        "s.loader.exec_module(u.module_from_spec(s))"
    )
    for words in (["-c", load], ["-m", "other.file"]):
        subprocess.run([sys.executable, *words], cwd=root, env=environment, check=True)
    (counts / "killed.json").write_text('{"iogauge/fi')
    (file,) = of_python(counts, root)
    assert (file.path, file.lines, file.missed) == ("iogauge/file.py", 5, (4,))
    assert list(error_paths([file], root)) == ["iogauge/file.py:4: raise ValueError"]
