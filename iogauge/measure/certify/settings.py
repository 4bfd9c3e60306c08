# SPDX-License-Identifier: BSD-3-Clause
"""The settings of a stack's MPI-IO that a certificate tries: a full product of its factors.

A setting is a mapping of factors to values; a factor that is not there is left to the library. Its
name is the factors in order, `fcoll=vulcan aggregators=2`, and `default` where there is none.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

Setting = dict[str, str]

DEFAULT = "default"
AGGREGATORS = ("1", "2", "4")
# What ompi_info says of a component: `MCA fcoll: vulcan (MCA v2.1.0, ...)`.
COMPONENT = re.compile(r"^\s*MCA (io|fcoll): (\w+) ", re.MULTILINE)
OMPIO = "ompio"


def name_of(setting: Mapping[str, str]) -> str:
    return " ".join(f"{factor}={value}" for factor, value in setting.items()) or DEFAULT


def components(ompi_info: str) -> dict[str, list[str]]:
    """The components of `io` and `fcoll` that this build of Open MPI has, from what ompi_info
    prints."""
    found: dict[str, list[str]] = {"io": [], "fcoll": []}
    for framework, name in COMPONENT.findall(ompi_info):
        found[framework].append(name)
    return found


def product(factors: Mapping[str, Iterable[str]]) -> list[Setting]:
    """All combinations; an empty value leaves the factor out."""
    names = list(factors)
    return [
        {name: value for name, value in zip(names, values, strict=True) if value}
        for values in itertools.product(*factors.values())
    ]


def ompio(fcolls: Sequence[str]) -> list[Setting]:
    """OMPIO: each collective component, numbers of aggregators, data sieving."""
    factors = {"fcoll": ("", *fcolls), "aggregators": ("", *AGGREGATORS), "sieving": ("", "off")}
    return product(factors)


def romio(io: str = "") -> list[Setting]:
    """ROMIO, of MPICH or (`io`) within Open MPI: data sieving and collective buffering, each on and
    off, and numbers of aggregators where it is on."""
    sieving = ("", "off", "on")
    found = product({"io": (io,), "sieving": sieving, "buffering": ("", "off", "on")})
    return found + product(
        {"io": (io,), "sieving": sieving, "buffering": ("on",), "aggregators": AGGREGATORS}
    )


def of_openmpi(ompi_info: str) -> list[Setting]:
    found = components(ompi_info)
    settings = ompio(found["fcoll"]) if OMPIO in found["io"] else []
    for io in found["io"]:
        settings += [] if io == OMPIO else romio(io)
    return settings


_SWITCH = {"on": "enable", "off": "disable"}


def _romio_hints(setting: Mapping[str, str]) -> dict[str, str]:
    hints: dict[str, str] = {}
    if value := setting.get("sieving"):
        hints |= {f"romio_ds_{way}": _SWITCH[value] for way in ("write", "read")}
    if value := setting.get("buffering"):
        hints |= {f"romio_cb_{way}": _SWITCH[value] for way in ("write", "read")}
    if count := setting.get("aggregators"):
        # One node has as many aggregators as the list allows it: one, where nothing is said.
        hints |= {"cb_nodes": count, "cb_config_list": f"*:{count}"}
    return hints


def _ompio_hints(setting: Mapping[str, str]) -> dict[str, str]:
    hints: dict[str, str] = {}
    if value := setting.get("fcoll"):
        hints["fcoll"] = value
    if value := setting.get("aggregators"):
        hints["io_ompio_num_aggregators"] = value
    if setting.get("sieving") == "off":
        hints |= {f"fbtl_posix_{way}_datasieving": "0" for way in ("write", "read")}
    return hints


def hints_of(setting: Mapping[str, str], is_ompio: bool) -> dict[str, str]:
    """The hints of a setting, as a site file has them. `is_ompio`: what the stack takes where the
    setting names no `io`."""
    return (_ompio_hints if is_ompio and "io" not in setting else _romio_hints)(setting)


def variables_of(setting: Mapping[str, str]) -> dict[str, str]:
    """What is no hint: the component of Open MPI's framework `io`."""
    return {"OMPI_MCA_io": setting["io"]} if "io" in setting else {}
