# SPDX-License-Identifier: BSD-3-Clause
"""A test harness for parallel I/O: the command `iogauge` and what it is made of."""

import sys

if sys.version_info < (3, 10):  # noqa: UP036  (a checkout's, which pip does not look at)
    raise SystemExit(f"iogauge needs Python 3.10 or newer; {sys.executable} is {sys.version[:6]}")

from iogauge.common.paths import ROOT

if str(ROOT) not in sys.path:  # `reframe_tests` and `site_configs`
    sys.path.append(str(ROOT))


def version() -> str:
    return (ROOT / "VERSION").read_text(encoding="utf-8").strip()
