# SPDX-License-Identifier: BSD-3-Clause
"""What is printed, against its JSON: the table of a run, the list, a plan, the help."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import mean, median

import pytest
from iokernel_stacks import Stack
from run_figures import CEILINGS, OPERATIONS, SERVED

STEPS = 2
PAYLOAD = STEPS * 12 * 10 * 8 * 16 * 8  # 16 values of 8 bytes at each point
BANDWIDTH = r"([\d.]+) MiB/s(?:   \(([\d.]+) to ([\d.]+) over (\d+) repeats\))?"
SIDES = ("write", "read")


def line(table: str, label: str) -> str:
    """What stands behind a label that occurs once."""
    (found,) = re.findall(rf"^ {re.escape(label)} *: +(.*)$", table, re.MULTILINE)
    return str(found)


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_table_says_what_the_document_says(openmpi: Stack, tmp_path: Path, repeats: int) -> None:
    """The median of the repeats, and their range if there are several; phases as their mean."""
    words = ["s3d", "--grid", "12x10x8", "--method", "posix", "--dir", str(tmp_path), "--phases"]
    words += ["--steps", str(STEPS), "--repeat", str(repeats)]
    run = openmpi.run(*words, document=tmp_path / "result.json")
    samples = run.good()["samples"]
    for side in SIDES:
        all_ = [sample[side]["bandwidth"] for sample in samples]
        shown = re.fullmatch(BANDWIDTH, line(run.stdout, f"{side} bandwidth"))
        assert shown, run.stdout
        middle, low, high, count = shown.groups()
        assert float(middle) == pytest.approx(median(all_), abs=0.01)
        if repeats == 1:
            assert (low, high, count) == (None, None, None)
        else:
            assert int(count) == repeats
            assert float(low) == pytest.approx(min(all_), abs=0.01)
            assert float(high) == pytest.approx(max(all_), abs=0.01)
        for name in samples[0][side]["phases"]:
            seconds = line(run.stdout, f"{side:6}{name}").split()
            for word, of in zip(seconds, ("min", "mean", "max"), strict=True):
                right = mean(sample[side]["phases"][name][of] for sample in samples)
                assert float(word) == pytest.approx(right, abs=1e-6), (side, name, of)
    assert line(run.stdout, "processes") == "2 on 1 node"
    assert line(run.stdout, "payload") == f"{PAYLOAD / 2**20:.2f} MiB in {STEPS} dumps"
    read_back = f"{repeats * PAYLOAD / 2**20:.2f} MiB read back"
    assert line(run.stdout, "verification") == f"verified, {read_back}"


FLUSHED = ("--fsync", "--steps", "2", "--repeat", "2", "--phases", "--ceilings", "--small")
SMALL = ("4 KiB at random", "small files")


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        (
            ["weather", "--grid", "16x12x4", "--arrays", "2", "--method", "ioserver",
             "--compute-seconds", "0.01"],
            [*(label for label, _ in SERVED.values()), "I/O processes", "write drain", *SMALL],
        ),
        (["metadata", "--files", "3", "--method", "posix"], [f"file {op}" for op in OPERATIONS]),
        (
            ["cgns-unstructured", "--elements", "50", "--method", "mpiio"],
            ["write coordinates", "read  fields", *SMALL],
        ),
    ],
    ids=lambda value: value[0],
)  # fmt: skip
def test_every_line_of_a_table(
    openmpi: Stack, tmp_path: Path, words: list[str], labels: list[str]
) -> None:
    """`good` compares them; here is one run of each kind that has them."""
    words = [*words, *FLUSHED, "--dir", str(tmp_path)]
    run = openmpi.run(*words, document=tmp_path / "result.json")
    run.good()
    both = [f"{name} {side}" for name in CEILINGS.values() for side in SIDES]
    for label in (*labels, *both):
        assert line(run.stdout, label)


def test_the_list_is_what_its_json_says(openmpi: Stack) -> None:
    listed = json.loads(openmpi.alone("--list", "--json", "-").stdout)
    right = ["patterns", *(f"  {one['name']:14} {one['summary']}" for one in listed["patterns"])]
    right.append("methods")
    for one in listed["methods"]:
        text = one["summary"] if one["available"] else one["reason"]
        text += f"; modes: {', '.join(one['modes'])}" if one["modes"] else ""
        lacks = [
            f"; not {mode}: this build lacks {why}" for mode, why in one["lacking_modes"].items()
        ]
        right.append(f"  {one['name']:14} {text}{''.join(lacks)}")
    assert openmpi.alone("--list").stdout.splitlines() == right
    libraries = {one["name"] for one in listed["methods"] if one["name"] in listed["libraries"]}
    assert {"hdf5", "pnetcdf"} <= libraries and "mpi" in listed["libraries"]


def test_a_plan_is_what_its_json_says(openmpi: Stack) -> None:
    words = [
        "s3d",
        "--grid",
        "12x10x8",
        "--steps",
        "3",
        "--procs",
        "4",
        "--method",
        "posix",
        "--plan",
    ]
    made = json.loads(openmpi.alone(*words, "--json", "-").stdout)
    payload = 3 * 12 * 10 * 8 * 16 * 8
    assert (made["bytes"], made["memory_per_process"], made["files"]) == (payload, payload / 12, 12)
    said = openmpi.alone(*words).stdout
    assert said.splitlines()[0] == " plan: s3d by posix, 4 processes, 3 dumps"
    assert json.loads(line(said, "options")) == made["pattern_options"]
    assert line(said, "files") == str(made["files"])
    assert line(said, "payload") == f"{payload} bytes, {payload / 2**30:.3f} GiB"
    assert line(said, "calls per process") == str(made["calls_per_process"])
    for label, name in (("data", "memory"), ("buffer", "buffer")):
        size = made[f"{name}_per_process"]
        assert line(said, f"{label} per process") == f"{size} bytes, {size / 2**20:.3f} MiB"


def test_help_has_each_pattern_method_and_option(openmpi: Stack) -> None:
    """Of one pattern: its own options, and no other pattern."""
    listed = json.loads(openmpi.alone("--list", "--json", "-").stdout)
    said = openmpi.alone("--help").stdout
    for one in listed["patterns"]:
        assert f"{one['name']}: {one['summary']}\n" in said
    for one in listed["methods"]:
        part = said.partition(f"\nOptions of method {one['name']}:\n")[2].partition("\n\n")[0]
        found = re.findall(r"^  --([\w-]+) ", part, re.MULTILINE)
        assert found == (one["options"] if one["available"] else [])
    common = said.partition("\nOptions:\n")[2]
    documented = (Path(__file__).parents[2] / "docs" / "iokernel.md").read_text()
    table = documented.partition("## Options")[2].partition("###")[0]
    rows = re.findall(r"^\| (`--[^|]*) \|", table, re.MULTILINE)
    words = {word for row in rows for word in re.findall(r"`(--[\w-]+)", row)}
    shown = set(re.findall(r"^  (--[\w-]+) ", common, re.MULTILINE))
    assert shown - words <= {"--plan", "--list", "--help", "--version"} and words <= shown
    of_one = openmpi.alone("s3d", "--help").stdout
    assert "--procs-grid PXxPYxPZ" in of_one and "\nior: " not in of_one and "\ns3d: " in of_one
