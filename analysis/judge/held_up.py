# SPDX-License-Identifier: BSD-3-Clause
"""A run's own files, and the first thing to try against what held it up most."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iogauge.common.document import STOPPED, BadDocument
from iogauge.common.document import load as load_document
from iogauge.common.run_folder import DOCUMENT, TRACE

from ..errors import AnalysisError, MalformedDocumentError, NothingFoundError
from ..ledger import traced
from ..session.model import Direction
from . import bottleneck, proofs


@dataclass(frozen=True)
class Loaded:
    """`trace` is None where there is none that can be used; then `note` says so."""

    document: dict[str, Any]
    trace: traced.Traced | None
    note: str

    def causes(self) -> list[tuple[bottleneck.Facts, list[bottleneck.Cause]]]:
        """What held each direction up, what explains most first."""
        reasons = self.trace.judgement.reasons if self.trace else ()
        of = bottleneck.facts(self.document, self.trace)
        return [(one, bottleneck.causes(one, reasons)) for one in of]


def load(folder: Path) -> Loaded:
    """The document, and the trace where there is one. Raises AnalysisError for a run without
    numbers."""
    try:
        document = load_document(folder / DOCUMENT)
    except BadDocument as problem:
        raise MalformedDocumentError(f"{folder / DOCUMENT}{problem}") from None
    if document["status"] in STOPPED or not document["samples"]:
        raise NothingFoundError(f"{folder}: expected a run that ended well: {document['error']}")
    if not (folder / TRACE).exists():
        return Loaded(document, None, "not traced: which process, layer and calls is unknown")
    try:
        return Loaded(document, traced.load(folder), "")
    except AnalysisError as error:
        return Loaded(document, None, f"its trace cannot be used: {error}")


def to_try(folder: Path, direction: Direction) -> tuple[bottleneck.Cause, proofs.Advice] | None:
    """What held a run up most, and what to try against it; None where nothing is known."""
    try:
        loaded = load(folder)
    except AnalysisError:
        return None
    causes = [cause for one, of in loaded.causes() if one.direction == direction for cause in of]
    if not causes:
        return None
    return causes[0], proofs.advice(proofs.run_of(folder, loaded.document), causes[0])
