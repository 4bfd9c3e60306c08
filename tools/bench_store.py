# SPDX-License-Identifier: BSD-3-Clause
"""`python -m tools.bench_store`, as docs/ names it: tools/bench/store.py."""

import sys

from tools.bench.store import main

if __name__ == "__main__":
    sys.exit(main())
