# SPDX-License-Identifier: BSD-3-Clause
"""`python -m tools.bench_paio`, as docs/ names it: tools/bench/paio.py."""

import sys

from tools.bench.paio import main

if __name__ == "__main__":
    sys.exit(main())
