# SPDX-License-Identifier: BSD-3-Clause
# PYTHON_ARGCOMPLETE_OK
"""`python -m iogauge`: the command `iogauge`."""

import sys

from iogauge.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
