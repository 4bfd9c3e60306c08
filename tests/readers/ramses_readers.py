# SPDX-License-Identifier: BSD-3-Clause
"""What public readers of RAMSES find in a dump that `iokernel ramses-amr` and `ramses-hydro` wrote.

    .local/venv-readers/bin/python tests/readers/ramses_readers.py FOLDER DUMP [--plot FILE]

Prints one line of JSON for yt and one for osyris: leaf cells, their mass and volume, and the radius
of the outermost cell that the shock has reached. `make test-newer` makes the environment; nothing
else of the project imports yt or osyris.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

CENTRE = 0.5
SHOCKED = 1.5  # times the density before
WIDTH = 0.8  # of the picture, in lengths of the box


def figures(reader: str, density: Any, width: Any, distance: Any) -> dict[str, Any]:
    return {
        "reader": reader,
        "cells": len(density),
        "mass": float((density * width**3).sum()),
        "volume": float((width**3).sum()),
        "shock": float(distance[density > SHOCKED].max()),
        "cell": float(width.max()),
    }


def by_yt(folder: Path, dump: int, plot: Path | None) -> dict[str, Any]:
    import numpy as np
    import yt

    yt.set_log_level("error")
    found = yt.load(str(folder / f"output_{dump:05d}" / f"info_{dump:05d}.txt"))
    cells = found.all_data()
    places = [np.array(cells["index", axis].to("code_length")) - CENTRE for axis in "xyz"]
    if plot:
        picture = yt.SlicePlot(found, "z", ("ramses", "Density"), width=(WIDTH, "code_length"))
        picture.set_log(("ramses", "Density"), False)
        picture.annotate_quiver(("ramses", "x-velocity"), ("ramses", "y-velocity"), factor=24)
        picture.annotate_title(f"RAMSES dump {dump}: density and velocity, read by yt")
        picture.save(str(plot), mpl_kwargs={"dpi": 70})
    return figures(
        "yt",
        np.array(cells["ramses", "Density"]),
        np.array(cells["index", "dx"].to("code_length")),
        np.sqrt(sum(place**2 for place in places)),
    )


def by_osyris(folder: Path, dump: int) -> dict[str, Any]:
    import numpy as np
    import osyris

    mesh = osyris.RamsesDataset(dump, path=str(folder)).load()["mesh"]
    position = mesh["position"]
    places = [getattr(position, axis).values - CENTRE for axis in "xyz"]
    distance = np.sqrt(sum(place**2 for place in places))
    return figures("osyris", mesh["density"].values, mesh["dx"].values, distance)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("dump", type=int)
    parser.add_argument("--plot", type=Path, help="a picture of a slice, by yt")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = by_yt(options.folder, options.dump, options.plot)
    print(json.dumps(found))
    sys.stdout.flush()
    found = by_osyris(options.folder, options.dump)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
