# SPDX-License-Identifier: BSD-3-Clause
"""What runs the kernels: sessions of ReFrame, searches, certificates, replays, builds."""
