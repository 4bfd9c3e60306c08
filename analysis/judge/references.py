# SPDX-License-Identifier: BSD-3-Clause
"""Reference data: published numbers, and what a site's own history predicts."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iogauge.common import paths
from iogauge.common.text import FOLDER as FOLDER_NAME

# ReFrame tests import this module, and need the libraries only at sites that have a file.
if TYPE_CHECKING:
    from .yaml_file import YamlFile

FOLDER = paths.ROOT / "references"
# A centre may keep its expectations outside the checkout.
SITES = paths.own("references")

# Columns of published tables that identify our runs. All other columns are parameters.
_OF_RUN = ("fs_type", "test", "pattern", "method", "scale", "processes", "quantity")
_NO_PARAMETER = ("value", "high", *_OF_RUN)


@dataclass(frozen=True)
class Published:
    """One published number. `value` in `unit`, up to `high` if a range is printed; `run` identifies
    our runs, `parameters` has the table's other columns."""

    id: str
    source: str
    tag: str
    system: str
    conditions: str
    quantity: str
    unit: str
    value: float
    high: float | None
    run: dict[str, Any]
    parameters: dict[str, Any]
    line: int

    def in_unit(self, unit: str) -> float:
        """The value in the unit of a run's quantity, if that can be; else as printed."""
        return self.value * _FACTORS.get(unit, {}).get(self.unit, 1.0)


_FACTORS = {
    "MiB/s": {
        "MB/s": 1e6 / 2**20,
        "GB/s": 1e9 / 2**20,
        "GiB/s": 2.0**10,
        "Gbit/s": 1e9 / 8 / 2**20,
    },
    "bytes": {"MB": 1e6, "GB": 1e9, "MiB": 2.0**20, "GiB": 2.0**30},
}


@functools.cache
def published(folder: Path = FOLDER) -> list[Published]:
    from .yaml_file import YamlFile

    file = YamlFile(folder / "published.yaml", FOLDER / "published.schema.json")
    numbers: list[Published] = []
    seen: set[str] = set()
    for index, group in enumerate(file.data["numbers"]):
        where: list[str | int] = ["numbers", index]
        if group["id"] in seen:
            raise file.error([*where, "id"], f"{group['id']!r} appears twice")
        seen.add(group["id"])
        if group["source"] not in file.data["sources"]:
            raise file.error([*where, "source"], f"{group['source']!r} is not among `sources`")
        if ("quantity" in group) == ("quantity" in group["columns"]):
            raise file.error(
                [*where, "columns"], "expected `quantity` once, for all or as a column"
            )
        for number, row in enumerate(group["rows"]):
            numbers.append(_number(file, [*where, "rows", number], group, row))
    return numbers


def _number(file: YamlFile, where: list[Any], group: dict[str, Any], row: list[Any]) -> Published:
    columns = group["columns"]
    if len(row) != len(columns):
        raise file.error(
            where, f"expected {len(columns)} values ({', '.join(columns)}), found {row}"
        )
    cells = dict(zip(columns, row, strict=True))
    for name in ("value", "high"):
        value = cells.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise file.error(where, f"{name}: expected a number above zero, found {value!r}")
    everything = {**group, **cells}
    return Published(
        id=group["id"],
        source=file.data["sources"][group["source"]],
        tag=group["tag"],
        system=group["system"],
        conditions=group["conditions"],
        quantity=everything["quantity"],
        unit=group["unit"],
        value=float(cells["value"]),
        high=float(cells["high"]) if "high" in cells else None,
        run={name: everything[name] for name in _OF_RUN if name in everything},
        parameters={name: v for name, v in cells.items() if name not in _NO_PARAMETER},
        line=file.line(where),
    )


@dataclass(frozen=True)
class Expected:
    value: float
    low: float
    high: float
    unit: str
    samples: int


CASE = ("partition", "stack", "test", "processes", "fsync", "hints")
Key = tuple[Any, ...]  # of CASE


def site_file(system: str, folder: Path = SITES) -> Path:
    return folder / "sites" / f"{system}.yaml"


@functools.cache
def site(system: str, folder: Path = SITES) -> Mapping[Key, Mapping[str, Expected]]:
    """A site's expectations, by case and performance variable; empty if it has no file."""
    file = _site_file(system, folder)
    if file is None:
        return {}
    expected: dict[Key, dict[str, Expected]] = {}
    for index, entry in enumerate(file.data["references"]):
        case = {"fsync": True, "hints": "", **entry["case"]}
        key = tuple(case[name] for name in CASE)
        if key in expected:
            raise file.error(["references", index], "this case appears twice")
        values = {name: Expected(**value) for name, value in entry["values"].items()}
        for name, value in values.items():
            if not value.low <= value.value <= value.high:
                where = ["references", index, "values", name]
                raise file.error(where, f"{name}: expected low <= value <= high")
        expected[key] = values
    return expected


def of_run(run: Mapping[str, Any], quantity: str, folder: Path = SITES) -> Expected | None:
    key = tuple(run[name] for name in CASE)
    return site(run["system"], folder).get(key, {}).get(quantity)


def baseline(system: str, folder: Path = SITES) -> str:
    file = _site_file(system, folder)
    return str(file.data.get("baseline", {}).get("name", "")) if file else ""


@functools.cache
def _site_file(system: str, folder: Path) -> YamlFile | None:
    path = site_file(system, folder)
    if not FOLDER_NAME.fullmatch(system) or not path.exists():
        return None
    from .yaml_file import YamlFile

    file = YamlFile(path, FOLDER / "site.schema.json")
    if file.data["system"] != system:
        raise file.error(["system"], f"expected {system!r}, found {file.data['system']!r}")
    return file


def for_reframe(
    system: str, partition: str, key: Key, folder: Path = SITES
) -> dict[str, dict[str, tuple[float, float, float | None, str]]]:
    """A test's `reference`: a bandwidth may be arbitrarily high and a time arbitrarily low."""
    values = site(system, folder).get(key, {})
    entries: dict[str, tuple[float, float, float | None, str]] = {}
    for name, expected in values.items():
        low, high = (bound / expected.value - 1 for bound in (expected.low, expected.high))
        entries[name] = (
            (expected.value, -1.0, high, expected.unit)
            if expected.unit == "s"
            else (expected.value, low, None, expected.unit)
        )
    return {f"{system}:{partition}": entries} if entries else {}
