# SPDX-License-Identifier: BSD-3-Clause
"""What site files share: `common`, and the stacks of Debian, of wheels and of prefixes."""

import reframe_tests  # noqa: F401 - refuses an old ReFrame before its configuration
