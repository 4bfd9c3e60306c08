# SPDX-License-Identifier: BSD-3-Clause
"""`python -m tools.bench_recorder`, as docs/ names it: tools/bench/recorder.py."""

import sys

from tools.bench.recorder import main

if __name__ == "__main__":
    sys.exit(main())
