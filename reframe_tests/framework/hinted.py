# SPDX-License-Identifier: BSD-3-Clause
"""The hints of a run, in their order, and whether a test's name says what was in use."""

from typing import Any

import reframe as rfm
from reframe.core.builtins import variable

from iogauge.analysis.checks.result_file import Wrong
from iogauge.common.hints import Hints, parse_hints, sort_hints
from reframe_tests.framework import labels
from reframe_tests.framework.labels import Label
from reframe_tests.machine import filesystems


class Hinted(rfm.RegressionTestPlugin):
    """Mixed into `IoBenchmark`: `-S hints="K=V K=V"`, in addition to the site's and the test's; `-S
    unknown_hints=pass` if a library is newer than kernels/base/known_hints.def."""

    hints = variable(str, value="", loggable=True)
    unknown_hints = variable(str, value="")
    # For a test named after hints or stripes: were they in use?
    label_check = variable(str, value="", loggable=True)

    has_label = False

    def own_hints(self) -> dict[str, str]:
        """Hints set by the code that the test models."""
        return {}

    def label_hints(self) -> Label:
        """Hints in the test's name; None: nobody may set this one."""
        return {}

    def label_in_use(self, used: dict[str, Any]) -> tuple[list[str], list[str]]:
        """What differs from the test's name, and what is not reported, in the document's `used`."""
        return labels.hints_in_use(used["hints"], self.label_hints())

    def all_hints(self) -> dict[str, str]:
        site = filesystems.hints_for(self.file_system, self.pattern, self.the_call.needs)
        test = {**self.own_hints(), **self.label_hints()}
        return labels.merged(site, test, parse_hints(self.hints))

    @property
    def sorted_hints(self) -> Hints:
        return sort_hints(self.all_hints())

    def hint_conflict(self) -> str | None:
        """A mistake in the user's hints is a reason to skip."""
        return labels.contradiction(self.label_hints(), parse_hints(self.hints))

    def check_the_label(self, document: dict[str, Any]) -> None:
        """A label with hints that were not in use would be wrong in a table."""
        wrong, silent = self.label_in_use(document["used"])
        if wrong:
            raise Wrong("; ".join(wrong))
        self.label_check = labels.verdict(silent) if self.has_label else ""
