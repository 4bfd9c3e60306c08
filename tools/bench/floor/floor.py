# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's own floor: the least that a test with a figure can be."""

from __future__ import annotations

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, sanity_function


@rfm.simple_test
class Floor(rfm.RunOnlyRegressionTest):
    """Prints a number."""

    valid_systems = ["*"]
    valid_prog_environs = ["mpich"]
    sourcesdir = None
    local = True
    executable = "echo"
    executable_opts = ["1"]

    @sanity_function
    def printed(self) -> bool:
        return bool(sn.assert_found("1", self.stdout))

    @performance_function("1")
    def number(self) -> float:
        return float(sn.evaluate(sn.extractsingle(r"(\d)", self.stdout, 1)))
