# SPDX-License-Identifier: BSD-3-Clause
"""What can go wrong, each with its exit code. A message names the file and what was expected."""

from __future__ import annotations

LONGEST = 1000  # characters of a message

EXIT_OK = 0
EXIT_NOT_VERIFIED = 1  # a run failed, or some byte of it was not verified
EXIT_USAGE = 2  # as argparse does
EXIT_DATA = 3  # a report or a result document is missing or cannot be used


class AnalysisError(Exception):
    """Base of all errors that the user sees as one line, without a traceback."""

    exit_code = EXIT_DATA


class MissingReportError(AnalysisError):
    """There is no report where one was looked for."""


class MalformedReportError(AnalysisError):
    """The report is not JSON, is cut off, or lacks a key that every report has."""


class UnknownReportVersionError(AnalysisError):
    """The report's data version is not one that the loader was written for."""


class EmptySessionError(AnalysisError):
    """The session ran no test."""


class UnknownSchemaError(AnalysisError):
    """A result document says a schema that this reader does not know."""


class MalformedDocumentError(AnalysisError):
    """A result document is not JSON, is cut off, or breaks its schema."""


class StoppedRunError(AnalysisError):
    """The run stopped; the message is the line that it gave as the reason."""


class OutputError(AnalysisError):
    """A page or a picture cannot be written where it was asked for."""

    exit_code = EXIT_USAGE


class StoreError(AnalysisError):
    """The store is missing, of an unknown version, or cannot be written."""


class NothingFoundError(AnalysisError):
    """No run fits what was asked for."""


class ReferenceFileError(AnalysisError):
    """A file of references or claims breaks its schema; the message names the line."""


class TooFewSamplesError(AnalysisError):
    """There are fewer samples than the answer needs; the message gives the counts."""


class UsageError(AnalysisError):
    """An argument means nothing here; the message says what would be right."""

    exit_code = EXIT_USAGE
