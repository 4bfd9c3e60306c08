# SPDX-License-Identifier: BSD-3-Clause
"""A stand-in for iokernel under a launcher, for the tuner's tests: `standin.py DOCUMENT WORDS ...`.

It leaves DOCUMENT, a recorded one, as the words ask: a hint named `crash`, `hang` or `wrong` does
that, and `speed=N` is its bandwidth in MiB/s.
"""

import itertools
import json
import os
import signal
import sys
import time
from pathlib import Path


def main() -> None:
    words = sys.argv[2:]
    after = dict(itertools.pairwise(words))
    hints = [b for a, b in itertools.pairwise(words) if a == "--hint"]
    asked = dict(hint.split("=", 1) for hint in hints)
    if "crash" in asked:
        print("iokernel: process 0: crashed by signal 8", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGFPE)
    if "hang" in asked:
        Path(after["--dir"], "left").write_text("x")
        time.sleep(60)
    document = json.loads(Path(sys.argv[1]).read_text())
    speed = float(asked.get("speed", "100"))
    for sample in document["samples"]:
        for direction in ("write", "read"):
            sample[direction]["bandwidth"] = speed
    document["summary"] |= {"write_bw": speed, "read_bw": speed}
    document["asked"]["hints"] = asked
    document["asked"] |= {"method": after["--method"], "mode": after.get("--mode")}
    if "wrong" in asked:
        document["status"] = "failed"
        document["verification"] |= {
            "verdict": "mismatch",
            "first": {"dataset": "u", "index": [3], "expected": 1, "found": 0, "offset": 8,
                      "file": "f", "process": 0, "host": "h"},
        }  # fmt: skip
    Path(after["--json"]).write_text(json.dumps(document))
    sys.exit("wrong" in asked)


main()
