# SPDX-License-Identifier: BSD-3-Clause
"""`python -m tools.bench_nights`, as docs/ names it: tools/bench/nights.py."""

import sys

from tools.bench.nights import main

if __name__ == "__main__":
    sys.exit(main())
