# SPDX-License-Identifier: BSD-3-Clause
"""The hints of a run, in their order, and whether a test's name says what was in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import reframe as rfm
from reframe.core.builtins import variable
from reframe.core.exceptions import SanityError

from iogauge.common.hints import Hints, parse_hints, sort_hints
from reframe_tests.framework import labels
from reframe_tests.framework.labels import Label
from reframe_tests.machine import filesystems
from reframe_tests.machine.calls import Call


class Hinted(rfm.RegressionTestPlugin):
    """What `IoBenchmark` gets: `-S hints="K=V K=V"`, beside those of site and test; `-S
    unknown_hints=pass` where a library is newer than kernels/base/known_hints.def."""

    hints = variable(str, value="", loggable=True)
    unknown_hints = variable(str, value="")
    # Of a test whose name stands for hints or stripes: were they in use?
    label_check = variable(str, value="", loggable=True)

    has_label = False

    if TYPE_CHECKING:  # what IoBenchmark has
        pattern: str

        @property
        def the_call(self) -> Call: ...

        @property
        def file_system(self) -> dict[str, Any]: ...

    # ---------------------------------------------------------------- for children to define

    def own_hints(self) -> dict[str, str]:
        """Hints that the code which the test stands for sets itself."""
        return {}

    def label_hints(self) -> Label:
        """Hints that the test's name stands for; None: that nobody sets this one."""
        return {}

    def label_in_use(self, used: dict[str, Any]) -> tuple[list[str], list[str]]:
        """What is not as the test's name has it, and what nobody tells; `used` of the document."""
        return labels.hints_in_use(used["hints"], self.label_hints())

    # ---------------------------------------------------------------- for IoBenchmark

    def all_hints(self) -> dict[str, str]:
        """The site's for this file system, then the test's, then the user's."""
        site = filesystems.hints_for(self.file_system, self.pattern, self.the_call.needs)
        test = {**self.own_hints(), **self.label_hints()}
        return labels.merged(site, test, parse_hints(self.hints))

    @property
    def sorted_hints(self) -> Hints:
        return sort_hints(self.all_hints())

    def hints_against_the_name(self) -> str | None:
        """Of the user: a reason to skip."""
        return labels.contradiction(self.label_hints(), parse_hints(self.hints))

    def check_the_label(self, document: dict[str, Any]) -> None:
        """A run under the name of hints that were not in use is a wrong number in a table."""
        wrong, silent = self.label_in_use(document["used"])
        if wrong:
            raise SanityError("; ".join(wrong))
        self.label_check = labels.verdict(silent) if self.has_label else ""
