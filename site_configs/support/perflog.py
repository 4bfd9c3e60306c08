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

from reframe.core import logging as stock

# Names of the handlers, in a site's `handlers` and `handlers_perflog`.
LOG, TYPE = "iogauge-log", "iogauge"
# A figure's name and the fields of its tuple in ReFrame's `perfvalues`, in order; and what stands
# for them while the rest of their lines is formatted, once.
OF_A_FIGURE = tuple(
    f"check_perf_{name}"
    for name in ("var", "value", "ref", "lower_thres", "upper_thres", "unit", "result")
)
MARKS = {name: f"\0{name}\0" for name in OF_A_FIGURE}
# Fields of a record about the test that ReFrame's formatter always asks for.
ALWAYS = {"check_job_completion_time_unix"}


class LineForEachFigure(stock.MultiFileHandler):
    """ReFrame's own `filelog`, with `perflog_multiline` off."""

    def __init__(self, prefix: str, line: str, append: bool) -> None:
        super().__init__(prefix, mode="a+" if append else "w+", fmt=line)
        self._wanted = ALWAYS | set(re.findall(r"%\((\S+?)\)s", prefix + line))

    def emit(self, record: Any) -> None:
        """A test that is not a performance check has one line, without a figure."""
        small = copy.copy(record)
        for name in [name for name in vars(small) if name.startswith("check_")]:
            if name not in self._wanted:
                delattr(small, name)
        small.figures = record.check_perfvalues or {}
        if not record.__rfm_check__.is_performance_check():
            small.figures = {"": ()}
        else:
            vars(small).update(MARKS)
        if small.figures:
            super().emit(small)

    def format(self, record: Any) -> str:
        lines = []
        text = super().format(record)
        for name, figure in record.figures.items():
            line = text
            for mark, value in zip(MARKS.values(), (name.split(":")[-1], *figure), strict=False):
                line = line.replace(mark, stock._xfmt(value))
            lines.append(line)
        return "\n".join(lines)


def _message(formatter: Any, record: Any) -> str:
    """The message on the terminal; ReFrame also formats all fields for each line."""
    short = formatter._fmt == "%(message)s"
    return str(record.message) if short else _format_message(formatter, record)


_format_message = stock.CheckFieldFormatter.formatMessage
stock.CheckFieldFormatter.formatMessage = _message


class Lines(logging.FileHandler):
    """ReFrame's own `file`, likewise."""

    def format(self, record: Any) -> str:
        when = time.strftime("%FT%T%z", time.localtime(record.created))
        return f"[{when}] {record.levelname}: {record.check_info}: {record.getMessage()}"


@stock.register_log_handler(LOG)
def _create_log(site_config: Any, where: str) -> Lines:
    return Lines(site_config.get(f"{where}/name"), mode="w")


@stock.register_log_handler(TYPE)
def _create(site_config: Any, where: str) -> LineForEachFigure:
    """`where`: the handler's place in the site's configuration."""
    names = ("basedir", "prefix", "format", "append")
    base, prefix, line, append = (site_config.get(f"{where}/{name}") for name in names)
    return LineForEachFigure(f"{base}/{prefix}", line, append)
