#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# rsh for an MPI's launcher within a job of PBS: PBS itself starts the command on the other node.
# pbs_tmrsh takes a command that comes as one word for the name of a program, and prints nonsense.
host=$1
shift
exec "${PBS_EXEC:-/opt/pbs}/bin/pbs_tmrsh" "$host" /bin/sh -c "$*"
