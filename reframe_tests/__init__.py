# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame tests: one module per seed system, a shared base class, and what turns a test into a job.

Importing this package has no side effects: ReFrame loads it once by name and once by path.
"""
