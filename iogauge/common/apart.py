# SPDX-License-Identifier: BSD-3-Clause
"""Work in another process."""

import errno
import traceback
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

T = TypeVar("T")


def apart(work: Callable[..., T], *given: Any) -> T:
    """What it returns or raises. What memory it and its libraries took is free afterwards."""
    context = get_context("fork")
    mine, its = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(its, work, given))
    process.start()
    its.close()
    try:
        found, error, where = mine.recv()
    except EOFError:
        why = "its process was killed; perhaps for lack of memory"
        raise OSError(errno.ENOMEM, why, work.__name__.strip("_")) from None
    finally:
        process.join()
    if error is not None:
        raise error from RuntimeError(where)
    return found  # type: ignore[no-any-return]


def _work(to: "Connection[Any, Any]", work: Callable[..., Any], given: tuple[Any, ...]) -> None:
    try:
        answer: tuple[Any, BaseException | None, str] = (work(*given), None, "")
    except BaseException as error:
        answer = (None, error, traceback.format_exc())
    to.send(answer)
