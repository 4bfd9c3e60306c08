# SPDX-License-Identifier: BSD-3-Clause
"""Counts which lines of our packages a Python process enters, and leaves them as it ends.

Python imports a module of this name as it starts, so that all programs that a test starts are
counted: PYTHONPATH=tools/counted IOGAUGE_COUNTS=FOLDER (`make coverage`). A file of counts is
{path from the checkout: [entered lines]}. Only the code of our packages is changed for it
(slipcover): `reframe -l` takes 1.3 times its processor time, and under coverage.py 2.0 times, whose
faster core needs Python 3.12; slipcover's own command counts only the process that it starts.
"""

import atexit
import json
import os
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

PACKAGES = ("iogauge", "reframe_tests", "site_configs", "tools")
ROOT = Path(__file__).resolve().parents[2]


def count(folder: Path) -> None:
    try:
        from slipcover.slipcover import Slipcover
    except ImportError:  # another Python than the tests' own
        return
    # Never taking its marks out again: to find them it walks through all objects of the program,
    # which ReFrame's classes do not stand, and holds on to some.
    counter = Slipcover(d_miss_threshold=2**31 - 1)
    ours = tuple(f"{ROOT / name}/" for name in PACKAGES)
    code_of = SourceFileLoader.get_code

    def counted(self: SourceFileLoader, name: str) -> CodeType | None:
        code = code_of(self, name)
        if code is None or not Path(self.path).absolute().as_posix().startswith(ours):
            return code
        return counter.instrument(code)  # type: ignore[no-any-return]

    def leave() -> None:
        entered = {
            os.path.relpath(path, ROOT): file["executed_lines"]
            for path, file in counter.get_coverage()["files"].items()
        }
        if entered:
            name = f"{os.getpid()}-{time.time_ns()}.json"
            (folder / name).write_text(json.dumps(entered), encoding="utf-8")

    SourceFileLoader.get_code = counted  # type: ignore[method-assign, assignment]
    atexit.register(leave)


if os.environ.get("IOGAUGE_COUNTS"):
    count(Path(os.environ["IOGAUGE_COUNTS"]))
