# SPDX-License-Identifier: BSD-3-Clause
"""The back ends of this folder, as a site file names them."""

NAMES = ("local.j2", "slurm.j2", "squeue.j2", "pbs.j2", "torque.j2", "cobalt.j2", "loadleveler.j2")
