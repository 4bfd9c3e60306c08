# SPDX-License-Identifier: BSD-3-Clause
"""The scheduler back ends whose job scripts are templates: a module and a name in `BACKENDS`,
`NAMES`."""

from importlib import import_module

from reframe_tests.jobs.schedulers.collected import NAMES

__all__ = ["NAMES"]

BACKENDS = ("local", "slurm", "pbs", "cobalt", "loadleveler", "collected")

for _name in BACKENDS:
    import_module(f"reframe_tests.jobs.schedulers.{_name}")
