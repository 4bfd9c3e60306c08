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
NO_DOCUMENT = Wrong("no document")


def suggested(monkeypatch: pytest.MonkeyPatch, folder: str, first: Any, **of_the_run: Any) -> str:
    def load(path: Path) -> dict[str, Any]:
        assert path.parent == Path(folder)
        if isinstance(first, Wrong):
            raise first
        return {"verification": {"first": first}}

    monkeypatch.setattr(trace, "load", load)
    run: Any = SimpleNamespace(stagedir=folder, **of_the_run)
    return trace.TraceChecks.who_wrote_it(run)


@pytest.mark.parametrize("dxt", [False, True])
@pytest.mark.parametrize("recorder", [None, object()])
@pytest.mark.parametrize("first", [None, {"dataset": "u"}, NO_DOCUMENT])
def test_only_a_recorded_run_with_a_wrong_byte_names_blame(
    first: Any, recorder: object, dxt: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = suggested(monkeypatch, "/x y/stage", first, recorder=recorder, dxt=dxt)
    if not (recorder and isinstance(first, dict)):
        assert said == ""
    else:
        assert said == ("; who raced: iogauge blame '/x y/stage'" if dxt else REPEAT)
