# SPDX-License-Identifier: BSD-3-Clause
"""The smallest case of S3D as a separate test, for tests/harness.py: ReFrame's --repeat looks at
all variants of a test for each case, and `iogauge run` does not repeat so."""

from reframe.core.builtins import parameter

from reframe_tests.benchmarks.s3d import S3d
from reframe_tests.framework.variants import benchmark


@benchmark
class Smallest(S3d):
    fs = parameter(["ram"], type=str, loggable=True)
    call = parameter(["null"], type=str, loggable=True)
    scale = parameter(["smoke"], type=str, loggable=True)
