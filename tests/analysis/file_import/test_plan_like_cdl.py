# SPDX-License-Identifier: BSD-3-Clause
"""The text of ncdump: variables named as its sections are, and files that are cut off."""

import subprocess

import netCDF4
import numpy as np
import pytest

from iogauge.analysis.file_import import cdl
from iogauge.analysis.file_import.document import CannotLikeError

NAMES = ("dimensions", "variables", "data", "types", "group", "group_id", "groups", "database")


@pytest.fixture(scope="module", params=["-h", "-hs", "-c", ""])
def dumped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What ncdump prints of a file whose variables, dimensions and attributes have these names."""
    path = tmp_path_factory.mktemp("cdl") / "a.nc"
    with netCDF4.Dataset(path, "w") as dataset:
        for name in NAMES:
            dataset.createDimension(name, 2)
            made = dataset.createVariable(name, "f4", (name,))
            made.setncatts({"units": "{K}; }", **dict.fromkeys(NAMES, np.int32(3))})
            made[:] = [1, 2]
        dataset.setncatts(dict.fromkeys(NAMES, "group: a {"))
    return subprocess.run(
        ["ncdump", *request.param.split(), path], capture_output=True, text=True, check=True
    ).stdout


def test_variables_named_as_sections(dumped: str) -> None:
    like = cdl.read(dumped, "a.cdl")
    assert [one.name for one in like.variables] == [*NAMES]
    assert {one.name for one in like.attributes} == {*NAMES}
    for one in like.variables:
        assert {made.name for made in one.attributes} == {"units", *NAMES}


def test_no_beginning_of_a_text_passes_for_all_of_it() -> None:
    text = (
        "netcdf a {\ndimensions:\n\tx = 2 ;\nvariables:\n\tfloat data(x) ;\n"
        '\t\tdata:units = "K;}" ;\n\tint y(x) ;\ndata:\n\n data = 1, 2 ;\n\n y = 3, 4 ;\n}\n'
    )
    assert [one.name for one in cdl.read(text, "a.cdl").variables] == ["data", "y"]
    for size in range(len(text.rstrip())):
        with pytest.raises(CannotLikeError):
            cdl.read(text[:size], "a.cdl")


@pytest.mark.parametrize("after", ["", "data:\n x = 1, 2 ;\n"])
def test_a_group_is_refused_wherever_it_begins(after: str) -> None:
    text = f"netcdf a {{\ndimensions:\n\tx = 2 ;\nvariables:\n\tint x(x) ;\n{after}\ngroup: g {{\n"
    with pytest.raises(CannotLikeError, match="it has groups"):
        cdl.read(f"{text}  }} // group g\n}}\n", "a.cdl")
