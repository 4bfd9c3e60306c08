# SPDX-License-Identifier: BSD-3-Clause
"""Which variants of a benchmark are made. ReFrame makes all before it looks at `-n` and `-t`: 6,000
variants, 6 ms each, at every start."""

import functools
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Any, TypeVar

import reframe as rfm
from reframe.core import decorators
from reframe.core.builtins import parameter

from iogauge.common.experiments import experiments
from reframe_tests.machine.scales import QUICK_SCALE

Benchmark = TypeVar("Benchmark", bound=type[rfm.RegressionTest])

# The values of an axis are part of the test's name, and logged.
axis = functools.partial(parameter, type=str, loggable=True)

SCALES = (
    *("smoke", "laptop", "node", "example", "paper", "paper-gsfc", "paper-sc45"),
    *("paper-50", "paper-64", "paper-128", "paper-150"),
)
SUITES = ("quick", "modes")
# Other tags of benchmarks that no parameter has.
TAGS = (*SUITES, "peak", "cliff", "scaling", "stripes", "s3d")


def values_of(words: list[str], short: str, long: str) -> list[str]:
    """The values of an option on a command line: `-n S3d`, `-nS3d`, `--name S3d`, `--name=S3d`.
    Empty if one is not a regular expression, which ReFrame reports."""
    values = [word for option, word in pairwise(words) if option in (short, long)]
    joined = (re.match(rf"(?:{short}(?!-)|{long}=)(.+)", word) for word in words)
    values += [found[1] for found in joined if found]
    with suppress(re.error):
        return [re.compile(value).pattern for value in values]
    return []


def is_known_tag(tag: str) -> bool:
    """Does it choose a suite, scale or experiment, which parameters say?"""
    known = (*SUITES, *SCALES, *(one.id for one in experiments()))
    return any(re.search(tag, one) for one in known)


def may_have(cls: Any, given: Mapping[str, Any], tag: str) -> bool:
    """Can the variant with these parameters have a tag that matches?"""
    if tag in SUITES:
        return given["scale"] == QUICK_SCALE or QUICK_SCALE not in cls.scales
    mine = [*map(str, given.values()), given["call"].partition(":")[0], *cls.family, *TAGS]
    mine += [one.id for one in cls.experiments_with(given)]
    return any(re.search(tag, one) for one in mine)


def is_called(cls: Any, given: Mapping[str, Any], names: list[str]) -> bool:
    """The same of its name, by which `-n` chooses; also true for a hash and a variant's number."""
    if not names or any("@" in name or name.startswith("/") for name in names):
        return True
    values = (f"%{name}={cls.raw_params[name].format(value)}" for name, value in given.items())
    return bool(re.search("|".join(names), (cls.__name__ + "".join(values)).replace(" ", "")))


def benchmark(cls: Benchmark) -> Benchmark:
    """In place of `rfm.simple_test`: registers the variants that make sense (`makes_sense()`) and
    that `-n` and `-t` may choose; one of a class at least, so that `-S` knows it."""
    names = values_of(sys.argv[1:], "-n", "--name")
    tags = list(filter(is_known_tag, values_of(sys.argv[1:], "-t", "--tag")))

    def wanted(number: int) -> bool:
        given = cls.get_variant_info(number)["params"]
        chosen = is_called(cls, given, names) and all(may_have(cls, given, tag) for tag in tags)
        return chosen and cls.makes_sense(given)

    for number in list(filter(wanted, range(cls.num_variants))) or [0]:
        decorators._register_test(cls, variant_num=number)
    return cls
