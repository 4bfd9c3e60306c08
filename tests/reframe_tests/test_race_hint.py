# SPDX-License-Identifier: BSD-3-Clause
"""What a run with wrong bytes suggests."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from iogauge.analysis.checks.result_file import Wrong
from reframe_tests.framework import trace

REPEAT = "; who raced: repeat it with -S dxt=true, then iogauge blame FOLDER"
FOLDER = Path("/x y/stage")
NO_DOCUMENT = Wrong("no document")


@pytest.mark.parametrize("dxt", [False, True])
@pytest.mark.parametrize("recorder", [None, object()])
@pytest.mark.parametrize("first", [None, {"dataset": "u"}, NO_DOCUMENT])
def test_only_a_recorded_run_with_a_wrong_byte_names_blame(
    first: Any, recorder: object, dxt: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(path: Path) -> dict[str, Any]:
        assert path.parent == FOLDER
        if first is NO_DOCUMENT:
            raise NO_DOCUMENT
        return {"verification": {"first": first}}

    monkeypatch.setattr(trace, "load", load)
    run: Any = SimpleNamespace(stagedir=str(FOLDER), recorder=recorder, dxt=dxt)
    said = trace.TraceChecks.who_wrote_it(run)
    if not (recorder and isinstance(first, dict)):
        assert said == ""
    else:
        assert said == ("; who raced: iogauge blame '/x y/stage'" if dxt else REPEAT)
