# SPDX-License-Identifier: BSD-3-Clause
"""What a pipeline that ReFrame makes for GitLab (--ci-generate) would lose: on which system the
tests were to run, and that they must not run at the same time."""

from __future__ import annotations

from typing import Any

import reframe as rfm
from reframe.core.builtins import run_after
from reframe.core.runtime import runtime


class InCi(rfm.RegressionTestPlugin):
    """What benchmarks and their fixtures get."""

    @run_after("init")
    def keep_the_system(self) -> None:
        """RFM_SYSTEM is `--system` for ReFrame; jobs of one resource group run one by one."""
        test: Any = self
        name = runtime().site_config.subconfig_system
        test.ci_extras = {
            "gitlab": {
                "variables": {"RFM_SYSTEM": name},
                "resource_group": f"iogauge-{name.replace(':', '-')}",
            }
        }
