# SPDX-License-Identifier: BSD-3-Clause
"""One session of ReFrame and its result documents, as typed rows."""
