# SPDX-License-Identifier: BSD-3-Clause
"""Is a run right? Its result document against what was asked for, the clock, storage and trace."""
