"""The scheduler back ends whose job scripts are templates.

A new one is a module here and its name in `BACKENDS`.
"""

from importlib import import_module

BACKENDS = ("local", "slurm", "pbs", "cobalt", "loadleveler")

for _name in BACKENDS:
    import_module(f"reframe_tests.schedulers.{_name}")

# As a site file names them.
NAMES = ("local.j2", "slurm.j2", "squeue.j2", "pbs.j2", "torque.j2", "cobalt.j2", "loadleveler.j2")
