#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# alone.sh -n NUMBER LAUNCHER [OPTION ...] PROGRAM ...: one process without LAUNCHER, of which there are
# then no OPTIONs; more with it.
number=$2
launcher=$3
shift 3
[ "$number" = 1 ] && exec "$@"
exec "$launcher" -n "$number" "$@"
