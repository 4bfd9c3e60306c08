# SPDX-License-Identifier: BSD-3-Clause
"""What site files share: `common`, and the stacks of Debian, of wheels and of prefixes."""

import reframe
from reframe.core.exceptions import ConfigError

# Typed parameters, plugins of tests and poll rates came with it.
if [int(part) for part in reframe.VERSION.split(".")[:2]] < [4, 9]:
    where = reframe.__path__[0]
    raise ConfigError(f"iogauge needs ReFrame 4.9 or newer; {where} is {reframe.VERSION}")
