# SPDX-License-Identifier: BSD-3-Clause
"""Errors with their exit codes. A message names the file and what was expected."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST = 1000  # characters of a message

EXIT_OK = 0
EXIT_NOT_VERIFIED = 1  # a run failed, or some byte was not verified
EXIT_USAGE = 2  # as argparse does
EXIT_DATA = 3  # a report or a result document is missing or unusable
EXIT_NO_ORDER = 4  # accesses whose order, if any, the trace does not show
EXIT_UNSIGNED = 5  # a consistent bundle, but no signature, or an unchecked one


class AnalysisError(Exception):
    """Base of all errors that the user sees as one line, without a traceback."""

    exit_code = EXIT_DATA


class MalformedReportError(AnalysisError):
    """The report is not JSON, is truncated, or lacks a required key."""


class UnknownSchemaError(AnalysisError):
    """A result document has an unknown schema."""


class MalformedDocumentError(AnalysisError):
    """A result document is not JSON, is truncated, or violates its schema."""


class StoppedRunError(AnalysisError):
    """The run stopped; the message is the reason it gave."""


class StoreError(AnalysisError):
    """The store is missing, of an unknown version, or cannot be written."""


class NothingFoundError(AnalysisError):
    """There is no report, or no run matches."""


class ReferenceFileError(AnalysisError):
    """A file of references or claims violates its schema; names the line."""


class UsageError(AnalysisError):
    """An argument is invalid; the message says what would be valid."""

    exit_code = EXIT_USAGE


@contextmanager
def reraised(
    of: type[Exception] | tuple[type[Exception], ...],
    error: Callable[[str], Exception],
    before: object = "",
) -> Iterator[None]:
    """An exception in the block becomes `error`, with `before` in front of its text."""
    try:
        yield
    except of as problem:
        raise error(f"{before}{problem}") from None
