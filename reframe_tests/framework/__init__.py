# SPDX-License-Identifier: BSD-3-Clause
"""What every benchmark shares: base class, build, tracing, verdict, figures."""
