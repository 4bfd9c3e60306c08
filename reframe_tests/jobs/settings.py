# SPDX-License-Identifier: BSD-3-Clause
"""`-S` for an unknown test or variable is an error: ReFrame only warns."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from reframe.core.exceptions import ReframeError
from reframe.core.pipeline import RegressionTest
from reframe.frontend.loader import RegressionCheckLoader

from iogauge.common.text import unknown

KEPT = "_iogauge_wrapped"

# The ReFrame variables, of many, that users set.
COMMON = {"num_tasks", "num_tasks_per_node", "time_limit", "exclusive_access", "env_vars"}


def variables(cls: type) -> list[str]:
    """What `-S` is used for with a test: its own variables, and some of ReFrame's."""
    mine = set(getattr(cls, "_rfm_var_space", ()))
    return sorted(mine - set(RegressionTest._rfm_var_space) | mine & COMMON)


def misplaced(
    asked: Iterable[str], unset: Mapping[str, Iterable[str]], known: Mapping[str, Iterable[str]]
) -> str | None:
    """The first of the settings (`TEST.NAME` or `NAME`) that no test took, with what would be
    right. `unset`: test -> names that it did not take; `known`: test -> its variables."""
    for setting in asked:
        test, dot, name = setting.partition(".")
        if not dot:
            if known and all(setting in unset.get(test, ()) for test in known):
                names = {name for names in known.values() for name in names}
                return f"-S {setting}=...: variable {unknown(setting, sorted(names))}"
        elif test not in known:
            return f"-S {setting}=...: test {unknown(test, sorted(known))}"
        elif name in unset.get(test, ()):
            return f"-S {setting}=...: variable {unknown(name, sorted(known[test]))}"
    return None


def refuse_unknown() -> None:
    """Have ReFrame check the settings once all tests are loaded."""
    load_all = RegressionCheckLoader.load_all
    if hasattr(load_all, KEPT):
        return

    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = {k: v for k, v in (self._external_vars or {}).items() if not k.startswith("_")}
        try:
            tests = load_all(self, *args, **kwargs)
        except (TypeError, ValueError) as error:  # ReFrame's words do not name the setting
            words = ((f"-S {k}={v}", rf"(?<!\w){re.escape(v)}(?!\w)") for k, v in given.items())
            asked = [word for word, value in words if re.search(value, str(error))]
            if not asked:
                raise
            raise ReframeError(f"{' or '.join(asked)}: {error}") from None
        known = {type(test).__name__: variables(type(test)) for test in tests}
        unset = {name: self.unset_vars(name) for name in known}
        problem = misplaced(given, unset, known)
        if problem:
            raise ReframeError(problem)
        # ReFrame would warn that fixtures do not take a benchmark's variable.
        fixtures = {type(test).__name__ for test in tests if test.is_fixture()}
        self._unset_vars = {k: v for k, v in self._unset_vars.items() if k not in fixtures}
        return tests

    setattr(checked, KEPT, True)
    RegressionCheckLoader.load_all = checked
