# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's log, and its performance log: one line per figure of a case, from one record per case.

For each record ReFrame collects and formats all variables of the test, whatever the log's format
names. Its own `perflog_multiline` repeats that for each figure of a case.
"""

import copy
import logging
import re
import time
from typing import Any

from reframe.core.logging import MultiFileHandler, register_log_handler

# Of the handlers, in a site's `handlers` and `handlers_perflog`.
LOG, TYPE = "iogauge-log", "iogauge"
# In the order of a figure's tuple in ReFrame's `perfvalues`.
OF_A_FIGURE = tuple(
    f"check_perf_{name}"
    for name in ("value", "ref", "lower_thres", "upper_thres", "unit", "result")
)
# Fields of a record about the test that ReFrame's formatter always asks for.
ALWAYS = {"check_job_completion_time_unix"}


class LineForEachFigure(MultiFileHandler):
    """ReFrame's own `filelog`, with `perflog_multiline` off."""

    def __init__(self, prefix: str, line: str, append: bool) -> None:
        super().__init__(prefix, mode="a+" if append else "w+", fmt=line)
        self._wanted = ALWAYS | set(re.findall(r"%\((\S+?)\)s", prefix + line))

    def emit(self, record: Any) -> None:
        """A test that is not a performance check has one line, without a figure."""
        values = record.check_perfvalues or {}
        small = copy.copy(record)
        for name in [name for name in vars(small) if name.startswith("check_")]:
            if name not in self._wanted:
                delattr(small, name)
        if not record.__rfm_check__.is_performance_check():
            super().emit(small)
        for name, figure in values.items():
            small.check_perf_var = name.split(":")[-1]
            vars(small).update(zip(OF_A_FIGURE, figure, strict=False))
            super().emit(small)


class Lines(logging.FileHandler):
    """ReFrame's own `file`, which also formats all fields of a test for each line."""

    def format(self, record: Any) -> str:
        when = time.strftime("%FT%T%z", time.localtime(record.created))
        return f"[{when}] {record.levelname}: {record.check_info}: {record.getMessage()}"


@register_log_handler(LOG)
def _create_log(site_config: Any, where: str) -> Lines:
    return Lines(site_config.get(f"{where}/name"), mode="w")


@register_log_handler(TYPE)
def _create(site_config: Any, where: str) -> LineForEachFigure:
    """`where`: the handler's place in the site's configuration."""
    names = ("basedir", "prefix", "format", "append")
    base, prefix, line, append = (site_config.get(f"{where}/{name}") for name in names)
    return LineForEachFigure(f"{base}/{prefix}", line, append)
