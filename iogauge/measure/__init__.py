# SPDX-License-Identifier: BSD-3-Clause
"""Everything that runs the kernels: ReFrame sessions, searches, certificates, replays, builds."""
