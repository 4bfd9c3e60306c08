# SPDX-License-Identifier: BSD-3-Clause
"""`iogauge site new dawn`: a first site file, from what this machine shows."""
