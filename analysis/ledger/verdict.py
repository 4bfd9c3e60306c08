# SPDX-License-Identifier: BSD-3-Clause
"""Does the ledger add up? Pure. Every byte that one layer moved and another did not must have a
cause that the trace shows. The bounds come from the cause, they are not a tolerance."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..darshan.log import VARIABLES
from .ledger import Ledger, Side, Verdict

HEADER = 2**20  # bytes: no header of a file is larger
PROBE = 64  # bytes: a library looks at the first few to learn a file's format
HEADER_SHARE = 0.1  # of the data, if there are very many small files
INT_LIMIT = 2**31  # Darshan's runtime has the size of one MPI-IO call in an int

HOLES = "collective buffering holes"
SIEVING = "data sieving read-modify-write"
READ_SIEVING = "data sieving of reads"
REWRITING = "header rewriting"
REREADING = "header reading"
PAST_END = "reads past the end of the file"
ONCE = "metadata that several processes gave, written once"
PADDING = "alignment padding"
GAPS = "metadata between compressed chunks, written with them and again"
SHARED_CHUNKS = "compressed chunks, read by each process that needs a part"
OVERFLOW = "MPI-IO sizes above 2 GiB, which Darshan's runtime counts in 32 bits"
SEVERAL = "calls of HDF5 for several data sets, which Darshan's runtime (3.5) does not count"
MULTI = "multi"  # the mode that makes them (kernels/base/modes.def)


@dataclass(frozen=True)
class Finding:
    """A difference between two layers, and its cause. `wrong`: no cause was found."""

    text: str
    wrong: bool = False


@dataclass(frozen=True)
class Judgement:
    verdict: Verdict
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.verdict}: {'; '.join(self.reasons)}" if self.reasons else self.verdict


def judge(ledger: Ledger) -> Judgement:
    """`inconclusive` if the log lost records, else `unbalanced`, `explained` or `balanced`."""
    if ledger.partial:
        return Judgement("inconclusive", (f"the log is partial: {', '.join(ledger.partial)}",))
    findings = [finding for side in ledger.sides for finding in _findings(ledger, side)]
    wrong = tuple(finding.text for finding in findings if finding.wrong)
    if wrong:
        return Judgement("unbalanced", wrong)
    causes = tuple(dict.fromkeys(finding.text for finding in findings))
    return Judgement("explained" if causes else "balanced", causes)


def as_json(ledger: Ledger, judgement: Judgement) -> dict[str, Any]:
    found = {"verdict": judgement.verdict, "reasons": judgement.reasons}
    return {**found, **ledger.as_json()}


def _findings(ledger: Ledger, side: Side) -> Iterator[Finding]:
    yield from _missing(ledger, side)
    yield from _format(ledger, side)
    yield from _between(ledger, side)
    if side.direction == "write":
        yield from _holes(side)


def _missing(ledger: Ledger, side: Side) -> Iterator[Finding]:
    """Bytes of payload that a layer did not move."""
    if side.posix < side.stored:
        yield _unmoved(side, side.stored - side.posix, "POSIX")
    for layer in side.layers:
        if layer.name in VARIABLES and layer.calls and layer.bytes < side.payload:
            if ledger.mode == MULTI:
                yield Finding(SEVERAL)
                continue
            yield _unmoved(side, side.payload - layer.bytes, layer.title)
    if side.mpiio is not None and side.mpiio < side.stored:
        of_each = side.stored // (ledger.processes * side.repeats)
        if of_each >= INT_LIMIT and side.posix >= side.stored:
            yield Finding(OVERFLOW)
        else:
            yield _unmoved(side, side.stored - side.mpiio, "MPI-IO")


def _unmoved(side: Side, size: int, layer: str) -> Finding:
    verb = "written" if side.direction == "write" else "read"
    return Finding(f"{size} bytes of payload were not {verb} by {layer} calls", wrong=True)


def _format(ledger: Ledger, side: Side) -> Iterator[Finding]:
    """Bytes that the top layer moved beyond the files' size: headers, moved again."""
    top = side.posix if side.mpiio is None else side.mpiio
    extra = top - (side.stored if side.files is None else max(side.files, side.stored))
    if extra <= 0:
        return
    cause = REWRITING if side.direction == "write" else REREADING
    readers = 1 if side.direction == "write" else ledger.processes
    # Each header may be moved once more; in very small files headers are most of the bytes.
    headers = side.format_overhead or 0
    whole = (side.files or side.stored) * ledger.processes
    most = max(HEADER_SHARE * side.stored, HEADER * side.repeats * readers, headers)
    if side.stored and extra <= most:
        yield Finding(f"{cause} ({extra} bytes)")
    elif side.stored != side.payload and side.direction == "read" and extra <= whole:
        yield Finding(f"{SHARED_CHUNKS} ({extra} bytes)")
    else:
        text = f"{extra} bytes {side.direction} beyond what the files hold, too many for headers"
        yield Finding(text, wrong=True)


def _given_by_several(ledger: Ledger, side: Side) -> int:
    """The most bytes that collective writes may have merged. Without collective metadata, for
    example, each process passes HDF5's attributes to MPI-IO, and one copy is written: all
    processes' non-payload bytes except for one."""
    mpiio = side.layer("MPI-IO")
    if side.direction == "read" or not mpiio or not mpiio.collective or side.posix < side.stored:
        return 0
    return max(0, mpiio.bytes - side.stored) * (ledger.processes - 1) // ledger.processes


def _between(ledger: Ledger, side: Side) -> Iterator[Finding]:
    """Bytes that POSIX moved beyond, or short of, what MPI-IO was asked for."""
    if side.mpiio is None:
        return
    extra = side.posix - side.mpiio
    whole = (side.files or side.stored) * ledger.processes
    if extra < 0:
        text = f"{-extra} bytes that MPI-IO was to {side.direction} did not reach POSIX"
        if side.posix >= side.stored and side.direction == "read":
            # A library asks for more than the file has.
            yield Finding(f"{PAST_END} ({-extra} bytes)")
        elif -extra <= _given_by_several(ledger, side):
            yield Finding(f"{ONCE} ({-extra} bytes)")
        else:
            yield Finding(text, wrong=True)
    if extra <= 0:
        return
    if extra > whole + _rewritten(ledger):
        text = f"{extra} bytes {side.direction} by POSIX beyond MPI-IO's: more than all of the file"
        yield Finding(f"{text} for each process", wrong=True)
    elif side.direction == "write":
        yield _modified(ledger, side, extra)
    else:
        own = extra - _rewritten(ledger)
        if 0 < own <= PROBE * ledger.processes * side.repeats:
            yield Finding(f"{REREADING} ({own} bytes)")
        elif own > 0:
            yield Finding(f"{READ_SIEVING} ({own} bytes)")


def _rewritten(ledger: Ledger) -> int:
    """Bytes read and written back because they lay between bytes to write."""
    side = ledger.side("write")
    return 0 if side is None or side.mpiio is None else max(0, side.posix - side.mpiio)


def _modified(ledger: Ledger, side: Side, extra: int) -> Finding:
    """The cause of `extra` written bytes: MPI-IO must have read them first."""
    read = ledger.side("read")
    expected = 0
    if read:
        # More than POSIX read: a library asks for a whole buffer, past the end.
        wanted = read.stored if read.mpiio is None else read.mpiio
        expected = wanted if wanted <= read.posix else read.stored
    before = ledger.all_read - expected
    if 2 * before < extra and side.stored != side.payload and extra <= (side.format_overhead or 0):
        # It lay past the end of the file, where the read found nothing.
        return Finding(f"{GAPS} ({extra} bytes)")
    if 2 * before < extra:
        text = f"POSIX wrote {extra} bytes more than MPI-IO, without reading them first"
        return Finding(text, wrong=True)
    layer = side.layer("MPI-IO")
    asked, used = ledger.hints.get("romio_cb_write", (None, None))
    collective = bool(layer and layer.collective) and (used or asked) != "disable"
    return Finding(f"{HOLES if collective else SIEVING} ({extra} bytes)")


def _holes(side: Side) -> Iterator[Finding]:
    if side.files is None:
        return
    holes = side.files - side.untraced - side.posix
    if holes > 0 and side.posix >= side.stored:
        yield Finding(f"{PADDING} ({holes} bytes)")
