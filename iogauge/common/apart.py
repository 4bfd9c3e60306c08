# SPDX-License-Identifier: BSD-3-Clause
"""Work in another process."""

import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

T = TypeVar("T")


def apart(what: str, work: Callable[..., T], *given: Any) -> T:
    """The result of `work`, or what it raises. Its memory, and its libraries', is free afterwards.
    Raises OSError, with `what`, if its process ended without either."""
    context = get_context("fork")
    mine, its = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(its, work, given))
    process.start()
    its.close()
    try:
        found, error, where = mine.recv()
    except EOFError:
        process.join()
        raise OSError(f"{what}: its process {_end(process.exitcode or 0)}") from None
    except BaseException:  # an interrupt: nobody reads the answer
        process.kill()
        raise
    finally:
        mine.close()
        process.join()
    if error is not None:
        raise error from RuntimeError(where)
    return found  # type: ignore[no-any-return]


def _end(status: int) -> str:
    if status == -signal.SIGKILL:
        return "was killed, perhaps for lack of memory"
    return f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"


def _work(to: "Connection[Any, Any]", work: Callable[..., Any], given: tuple[Any, ...]) -> None:
    try:
        answer: tuple[Any, BaseException | None, str] = (work(*given), None, "")
    except BaseException as error:
        answer = (None, error, traceback.format_exc())
    with suppress(BrokenPipeError):
        to.send(answer)
