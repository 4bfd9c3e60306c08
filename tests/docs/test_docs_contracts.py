# SPDX-License-Identifier: BSD-3-Clause
"""docs/add-a-*.md name each member of the kernels' contracts, and no other; docs/how-to/nightly.md
each metric."""

from __future__ import annotations

import re

import pytest

from iogauge.analysis.pages import metrics
from iogauge.common.paths import KERNELS, ROOT

# What every model shows, without a word of explanation.
PLAIN = {"name", "summary", "state_size"}


def members(header: str, struct: str) -> set[str]:
    text = re.sub(r"/\*.*?\*/", "", (KERNELS / header).read_text(), flags=re.DOTALL)
    (body,) = re.findall(rf"^struct {struct} {{\n(.*?)^}};", text, re.DOTALL | re.MULTILINE)
    found: set[str] = set()
    for line in " ".join(body.split()).split(";"):
        if call := re.search(r"\(\*(\w+)\)\(", line):
            found.add(call[1])
        elif line.strip():
            found |= {part.split()[-1].lstrip("*") for part in line.split(",")}
    return found


@pytest.mark.parametrize(
    ("page", "header", "struct"),
    [
        ("add-a-pattern", "pattern.h", "io_pattern"),
        ("add-a-method", "method_roles.h", "io_option_functions"),
        ("add-a-method", "method_roles.h", "io_server_functions"),
    ],
)
def test_each_member_is_on_its_page(page: str, header: str, struct: str) -> None:
    named = set(re.findall(r"`(\w+)`", (ROOT / "docs" / f"{page}.md").read_text()))
    assert len(members(header, struct)) > 5
    assert members(header, struct) - named - PLAIN == set()


def test_lists_of_members_name_no_other() -> None:
    text = (ROOT / "docs" / "add-a-method.md").read_text()
    for word, struct in (("options", "io_option_functions"), ("servers", "io_server_functions")):
        (listed,) = re.findall(rf"^- `{word}` \((.*?)\)", text, re.DOTALL | re.MULTILINE)
        assert set(re.findall(r"`(\w+)`", listed)) == members("method_roles.h", struct)
    text = (ROOT / "docs" / "add-a-pattern.md").read_text()
    rows = re.findall(r"^ +\| ([^|]*`[^|]*) \|", text, re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    others = {"file_per_process", "role", "zone", "node"}  # of a schema, and of a data set
    assert listed - others <= members("pattern.h", "io_pattern")


def test_each_metric_and_its_labels_are_on_the_nightly_page() -> None:
    text = (ROOT / "docs" / "how-to" / "nightly.md").read_text()
    named = set(re.findall(r"`(\w+)`", text))
    for name, (_, labels) in metrics.METRICS.items():
        assert f"iogauge_{name}" in named
        assert named.issuperset(labels), name
