# SPDX-License-Identifier: BSD-3-Clause
"""docs/result.schema.json takes every recorded document, and refuses what the contract forbids."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from iogauge.common.document import SCHEMA
from tests.analysis_recorded import ROOT, documents

RULES: dict[str, Any] = json.loads((ROOT / "docs" / "result.schema.json").read_text())
VALIDATOR = Draft202012Validator(RULES)
RECORDED = [json.loads(path.read_text()) for path in documents()]
GOOD = next(d for d in RECORDED if "mpiio" in d["asked"]["argv"])


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(RULES)
    assert RULES["properties"]["schema"] == {"const": SCHEMA}


def test_recorded_documents_are_valid() -> None:
    assert len(RECORDED) == 22 + 27
    for document in RECORDED:
        VALIDATOR.validate(document)


def test_every_key_of_the_contract_is_in_the_schema() -> None:
    """The contract's first table names the top-level keys in its first column."""
    text = (ROOT / "docs" / "result-format.md").read_text()
    table = next(block for block in text.split("\n\n") if block.startswith("|"))
    first = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {cell.strip().strip("`") for cell in first}
    assert named - {"files"} <= set(RULES["properties"])
    assert set(RULES["properties"]) - {"file_count", "file_bytes"} == named


@pytest.mark.parametrize("key", sorted(GOOD))
def test_every_key_is_required(key: str) -> None:
    document = copy.deepcopy(GOOD)
    del document[key]
    assert not VALIDATOR.is_valid(document)


def first_sample(document: dict[str, Any]) -> dict[str, Any]:
    sample: dict[str, Any] = document["samples"][0]
    return sample


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(schema="iogauge.result/2"),
        lambda d: d.update(status="fine"),
        lambda d: d.update(error="but it is ok"),
        lambda d: d.update(extra=1),
        lambda d: d["asked"].update(mode="collectiv"),
        lambda d: d["asked"].update(steps=0),
        lambda d: d["asked"]["hints"].update(cb_nodes=4),
        lambda d: d["system"].update(processes="2"),
        lambda d: d["system"].update(hosts=[]),
        lambda d: d["system"].update(time="2026-11-20 17:43:54"),
        lambda d: d["used"].update(caches="warm"),
        lambda d: d["used"].update(resident_fraction=1.5),
        lambda d: d["payload"].update(bytes=-1),
        lambda d: d["payload"]["datasets"][0].update(type="double"),
        lambda d: d["files"].extend([{"path": "x", "bytes": 1}] * 65),
        lambda d: d.update(samples=[]),
        lambda d: first_sample(d)["write"].update(bandwidth=0),
        lambda d: first_sample(d)["write"]["phases"].pop("flush"),
        lambda d: first_sample(d)["read"]["phases"].update(flush={}),
        lambda d: first_sample(d)["read"]["phases"]["open"].update(min=None),
        lambda d: first_sample(d)["ceilings"].pop("shared"),
        lambda d: d["verification"].update(verdict="mismatch"),
        lambda d: d["verification"].update(mismatches=1),
        lambda d: d.update(status="failed"),
        lambda d: d.update(status="error"),
        lambda d: d.update(status="hung"),
        lambda d: d["memory"].update(peak_rss=None),
    ],
)
def test_what_the_contract_forbids(change: Any) -> None:
    document = copy.deepcopy(GOOD)
    change(document)
    assert not VALIDATOR.is_valid(document)


def test_a_mismatch_says_where_it_is() -> None:
    document = copy.deepcopy(GOOD)
    document |= {"status": "failed", "error": None}
    document["verification"] |= {"verdict": "mismatch", "mismatches": 1}
    assert not VALIDATOR.is_valid(document)
    document["verification"]["first"] = {
        "dataset": "u", "index": [0, 1], "file": "f", "offset": None, "expected": 1.5,
        "found": "0x7ff8000000000000", "process": 0, "host": "node1",
    }  # fmt: skip
    VALIDATOR.validate(document)


def test_the_real_ior_may_say_null_where_it_does_not_know() -> None:
    document = copy.deepcopy(GOOD)
    unknown = {
        "program": ("build", "compiler"), "asked": ("prefix", "seed"),
        "system": ("cores_per_node",), "used": ("resident_fraction",), "memory": ("peak_rss",),
    }  # fmt: skip
    for part, keys in unknown.items():
        document[part] |= dict.fromkeys(keys)
    assert not VALIDATOR.is_valid(document), "iokernel itself knows"
    document["program"]["name"] = "ior"
    VALIDATOR.validate(document)


def test_modes_are_those_of_the_table() -> None:
    table = (ROOT / "kernels" / "base" / "modes.def").read_text()
    names = re.findall(r'^IO_MODE\(\w+, "([^"]+)"', table, re.MULTILINE)
    assert RULES["properties"]["asked"]["properties"]["mode"]["enum"] == [*names, None]
