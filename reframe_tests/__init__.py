# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame tests: one module per benchmark, a shared base class, and the job scripts. Importing it
has no side effects: ReFrame (4.9 or newer) loads it by name and by path."""

import reframe
from reframe.core.exceptions import ConfigError

from iogauge.analysis.errors import UsageError


class OldReFrame(ConfigError, UsageError):
    """One line from ReFrame and from `iogauge`."""


if [int(part) for part in reframe.VERSION.split(".")[:2]] < [4, 9]:
    where = reframe.__path__[0]
    raise OldReFrame(f"ReFrame {reframe.VERSION} in {where}; expected 4.9 or newer")
