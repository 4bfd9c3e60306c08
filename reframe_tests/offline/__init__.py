# SPDX-License-Identifier: BSD-3-Clause
"""Job scripts for machines where ReFrame cannot run, and what they left."""
