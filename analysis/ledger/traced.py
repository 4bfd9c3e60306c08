# SPDX-License-Identifier: BSD-3-Clause
"""One traced run: its document, its log, and the ledger made from both."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from iogauge.common.document import STOPPED, BadDocument
from iogauge.common.document import load as load_document
from iogauge.common.run_folder import DOCUMENT, TRACE

from ..darshan.log import Log, read_log
from ..darshan.raw import holds_traces
from ..errors import MalformedDocumentError, NothingFoundError, reraised
from .ledger import Ledger, make_ledger, own_files
from .phases import Singly, singly
from .verdict import Judgement, judge

RAW = "trace"  # folder of the recorder's traces, in a run's stage folder


@dataclass(frozen=True)
class Traced:
    folder: Path
    document: dict[str, Any]
    log: Log
    ledger: Ledger
    judgement: Judgement

    @cached_property
    def singly(self) -> Singly:
        return singly(self.log, self.document, own_files(self.document))


def last_traced(output: Path) -> Path:
    found = sorted(output.glob(f"**/{TRACE}"), key=lambda path: path.stat().st_mtime_ns)
    if not found:
        raise NothingFoundError(f"{output}: expected a traced run ({TRACE}), found none")
    return found[-1].parent


def is_traced(folder: Path) -> bool:
    return (folder / TRACE).exists() or holds_traces(folder / RAW)


def finished(folder: Path) -> dict[str, Any]:
    """A run's document. AnalysisError unless the run ended well."""
    with reraised(BadDocument, MalformedDocumentError, folder / DOCUMENT):
        document = load_document(folder / DOCUMENT)
    if document["status"] in STOPPED:
        what = f"expected a run that ended well: {document['error']}"
        raise NothingFoundError(f"{folder / DOCUMENT}: {what}")
    return document


def load(folder: Path) -> Traced:
    """A run's ledger and its log, which is made of the recorder's traces if there is none.
    AnalysisError if a part is unusable."""
    document = finished(folder)
    if (folder / TRACE).exists() or not holds_traces(folder / RAW):
        log = read_log(folder / TRACE, heat=True, segments=True)
    else:
        with TemporaryDirectory() as made:
            log = read_log(Path(made) / TRACE, convert=folder / RAW, heat=True, segments=True)
    ledger = make_ledger(document, log)
    return Traced(folder, document, log, ledger, judge(ledger))
