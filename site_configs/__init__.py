# SPDX-License-Identifier: BSD-3-Clause
"""Site configurations, one file per site: living sites and templates here, machines of published
measurements in historic/. What they share is in support/."""
