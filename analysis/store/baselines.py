# SPDX-License-Identifier: BSD-3-Clause
"""Baselines, STORE/baselines/WHEN-NAME.json: changes before a date are acknowledged, with author
and reason. Later levels are compared with the level of that date. None is ever changed."""

import uuid
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from iogauge.common import json_file, schemas
from iogauge.common.text import plain_all

from ..errors import StoreError, reraised
from .database import Where

FOLDER = "baselines"
SCHEMA, SCHEMA_FILE = "iogauge.baseline/1", Path(__file__).with_name("baseline.schema.json")


@dataclass(frozen=True)
class Baseline:
    """`where`: the words of --where that select the histories. Times are UTC, ISO 8601."""

    where: tuple[str, ...]
    since: str
    who: str
    when: str
    why: str
    name: str = ""

    def condition(self) -> tuple[str, list[Any]]:
        chosen = Where.parse(self.where, Where("true"))
        return chosen.sql, chosen.values

    @property
    def moment(self) -> datetime:
        return datetime.fromisoformat(self.since)


def add(store: Path, one: Baseline) -> Path:
    day = "".join(c for c in one.when if c.isdigit())[:14]
    path = store / FOLDER / f"{day}-{uuid.uuid4().hex[:8]}.json"
    data = {"schema": SCHEMA, **asdict(one)}
    del data["name"]
    json_file.write(path, data)
    return path


def load(store: Path) -> list[Baseline]:
    """All baselines, oldest first. Raises StoreError for an unusable one: without it, acknowledged
    changes would be reported again."""
    return [_read(path) for path in sorted((store / FOLDER).glob("*.json"))]


def remove(store: Path, name: str) -> None:
    known = [one.name for one in load(store)]
    if name not in known:
        raise StoreError(f"{name}: no such baseline; there are {', '.join(known) or 'none'}")
    (store / FOLDER / f"{name}.json").unlink()


def _read(path: Path) -> Baseline:
    with reraised((json_file.Unreadable, ValueError), StoreError, f"{path}: "):
        data = plain_all(json_file.read(path, "baseline"))
        schemas.check(data, SCHEMA)
        if wrong := schemas.problem(data, SCHEMA_FILE):
            raise ValueError(wrong)
        words = {key: data[key] for key in ("since", "who", "when", "why")}
        found = Baseline(tuple(data["where"]), name=path.stem, **words)
        if found.moment.tzinfo is not None:
            raise ValueError("since: expected a time in UTC without a zone")
        return found
