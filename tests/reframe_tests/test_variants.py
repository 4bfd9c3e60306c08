# SPDX-License-Identifier: BSD-3-Clause
"""Variants that `-n` and `-t` cannot choose are not made; all that they choose are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from iogauge.analysis.judge.remedies import NO_SCALES
from reframe_tests.framework.variants import SCALES, is_called, values_of
from tests.reframe_session import ROOT, reframe


@pytest.mark.parametrize(
    "words",
    [["-n", "S3d"], ["-nS3d"], ["--name", "S3d"], ["--name=S3d"], ["-r", "-n", "S3d", "-l"]],
)
def test_an_option_in_each_of_its_forms(words: list[str]) -> None:
    assert values_of(words, "-n", "--name") == ["S3d"]


def test_other_options_are_none_of_it() -> None:
    words = ["--nocolor", "--name-of=S3d", "-S", "n=1", "--system", "node"]
    assert values_of(words, "-n", "--name") == []


# `-Rn` and `-Rt` are read by ReFrame alone: then all variants are made.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("", "smoke"),
        ("", "quick"),
        ("", "^(node|laptop)$"),
        ("", "p"),
        ("", "idris-2011"),
        ("scale=smoke", ""),
        ("Weak|fs=ram.*call=hdf5", "node"),
    ],
)
def test_the_same_variants_are_listed(name: str, tag: str, tmp_path: Path) -> None:
    short = [*(["-n", name] if name else []), *(["-t", tag] if tag else [])]
    whole = [*(["-Rn", name] if name else []), *(["-Rt", tag] if tag else [])]
    files = "s3d.py sweeps.py metadata.py"
    ours, all_made = (reframe(tmp_path, "-l", *words, tests=files) for words in (short, whole))
    assert ours.listed == all_made.listed
    assert ours.listed


def test_a_wrong_expression_is_said_by_reframe(tmp_path: Path) -> None:
    for option in ("-n", "-t"):
        session = reframe(tmp_path, "-l", option, "S3d(", tests="sweeps.py")
        assert session.status == 1 and "invalid regex: 'S3d('" in session.text, session.text


@pytest.mark.parametrize("setting", ["repeats=abc", "S3d.time_limit=soon"])
def test_a_value_of_another_type_is_said_with_its_setting(setting: str, tmp_path: Path) -> None:
    session = reframe(tmp_path, "-l", "-n", "^S3d", "-S", setting, tests="s3d.py")
    assert session.status == 1
    assert f"reframe error: -S {setting}: " in session.text


@pytest.mark.parametrize(
    ("name", "chosen"),
    [("S3d", True), ("Ior", False), ("S3d@3", True), ("Ior@3", True), ("/1a2b3c4d", True)],
)
def test_reframe_chooses_by_hash_and_number(name: str, chosen: bool) -> None:
    test = type("S3d", (), {"raw_params": {}})
    assert is_called(test, {}, [name]) == chosen


def test_each_scale_is_known() -> None:
    texts = [path.read_text() for path in (ROOT / "reframe_tests" / "benchmarks").glob("*.py")]
    there = {name for text in texts for name in re.findall(r'"([\w-]+)": Scale\(', text)}
    axes = [axis for text in texts for axis in re.findall(r"scale = axis\(\[(.*)\]\)", text)]
    there |= {name for axis in axes for name in re.findall(r'"([\w-]+)"', axis)}
    assert there - set(NO_SCALES) == set(SCALES)


def test_a_test_without_a_chosen_variant_is_known(tmp_path: Path) -> None:
    setting = "WeakScaling.repeats=2"
    session = reframe(tmp_path, "-l", "-n", "^S3d", "-S", setting, tests="s3d.py sweeps.py")
    assert session.status == 0, session.text


def test_a_file_without_its_tag_lists_nothing(tmp_path: Path) -> None:
    assert not reframe(tmp_path, "-l", "-t", "quick", "-n", "CliffSizes", tests="cliff.py").listed
