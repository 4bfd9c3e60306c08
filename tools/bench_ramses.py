# SPDX-License-Identifier: BSD-3-Clause
"""`python -m tools.bench_ramses`, as docs/ names it: tools/bench/ramses.py."""

import sys

from tools.bench.ramses import main

if __name__ == "__main__":
    sys.exit(main())
