# SPDX-License-Identifier: BSD-3-Clause
"""`python -m reframe_tests.collect`, as the documentation names it."""

import sys

from reframe_tests.offline.collect import main

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
