"""Failures as the engine takes them: exceptions, dictionaries and texts as a type, a status and a message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from .error_names import (
    CANCELLED,
    CONNECTION_LOST,
    MCP_CODES,
    NETWORK,
    NEVER_SENT,
    OVERLOADED,
    TIMEOUT,
    meaning,
)

Reported = tuple[str | None, int | None, str | None]

# Of several failures inside one, the one after which the call is most likely to have happened counts.
_WORST: Final = (TIMEOUT, CONNECTION_LOST, CANCELLED, "certificate", NETWORK)
# How far exceptions are followed that stand around others.
_DEEPEST: Final = 8


def reported(error: BaseException | Mapping[str, object] | str) -> Reported:
    """An exception, a dictionary or a text as (type, status, message).

    Exceptions are told by the names of their classes and by what they carry, so that no library has to be imported:
    `http` with a status; `network` where the request was never sent; `connection_lost` where it was, and no whole
    answer came; `timeout`; `cancelled`, as is every exception that is no
    `Exception`; else the name of the class. An exception that stands around another one, by
    `raise ... from` or as libraries do, is what the inner one is; a group of exceptions is its worst.

    >>> reported(TimeoutError("30 s"))
    ('timeout', None, '30 s')
    >>> reported(ConnectionRefusedError("nobody there"))
    ('network', None, 'nobody there')
    >>> reported({"type": "http", "status": 503})
    ('http', 503, None)
    """
    if isinstance(error, str):
        return None, None, error
    if isinstance(error, Mapping):
        kind, status, message = error.get("type"), error.get("status"), error.get("message")
        return (
            None if kind is None else str(kind),
            status if isinstance(status, int) and not isinstance(status, bool) and abs(status) < 2**31 else None,
            None if message is None else str(message),
        )
    if not isinstance(error, BaseException):
        raise TypeError(
            f"`error` has to be an exception, a dictionary with `type`, `status` and `message`, or a text, "
            f"found `{type(error).__name__}`"
        )
    status = _status(error) if isinstance(error, Exception) else None
    if status is not None:
        return "throttled" if status == OVERLOADED else "http", status, _text(error)
    return _kind(error, _DEEPEST) or type(error).__name__, None, _text(error)


def field(holder: object, name: str) -> Any:
    """An attribute of somebody else's object; None where it is not there, or is a property that raises."""
    try:
        return getattr(holder, name, None)
    except Exception:  # what raises has nothing to tell
        return None


def _status(error: BaseException) -> int | None:
    """The status of an answer that says no; an exception about an answer of 200 is about something else."""
    for holder in (error, field(error, "response")):
        for name in ("status_code", "status"):
            value = field(holder, name)
            if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
                return value
    return None


def _kind(error: BaseException, deeper: int) -> str | None:
    """The type of a failure of transport; None where it is none."""
    if not isinstance(error, Exception):
        return _interruption(error, deeper)
    if isinstance(error, BaseExceptionGroup):
        return _worst(error.exceptions, deeper)
    if isinstance(error, OSError) and error.errno in NEVER_SENT:
        return NETWORK
    mcp = _mcp(error)
    if mcp is not None:
        return mcp
    found = meaning(type(error))
    if isinstance(found, str):
        return found
    if found is None:
        # what a tool raises of its own says nothing about transport, unless it names a failure of that as its cause
        cause = error.__cause__
        told = _kind(cause, deeper - 1) if cause is not None and deeper else None
        return told if told in _WORST and not _is_json(cause) else None
    return (_worst(_inside(error), deeper) or found.otherwise) if deeper else found.otherwise


def _interruption(error: BaseException, deeper: int) -> str:
    """What is no `Exception` ends whoever waits, whatever library it is of: it says nothing about the call."""
    if isinstance(error, BaseExceptionGroup):
        return _worst(error.exceptions, deeper) or CANCELLED
    found = meaning(type(error))
    return found if found in (TIMEOUT, CONNECTION_LOST) else CANCELLED


def _worst(errors: Any, deeper: int) -> str | None:
    kinds = {_kind(each, deeper - 1) for each in errors} if deeper else set()
    return next((kind for kind in _WORST if kind in kinds), None)


def _inside(error: BaseException) -> Iterator[BaseException]:
    """What a library put into its own exception: as an argument, as `reason`, or as the cause."""
    context = None if error.__suppress_context__ else error.__context__
    for each in (*error.args, field(error, "reason"), error.__cause__ or context):
        if isinstance(each, BaseException) and each is not error:
            yield each


def _mcp(error: BaseException) -> str | None:
    """What an error of MCP says by its code."""
    if not any(ancestor.__name__.lower() == "mcperror" for ancestor in type(error).__mro__):
        return None
    told = field(error, "error")
    code, message = field(told, "code"), str(field(told, "message") or "")
    if code == -32602 and message.lower().startswith("unknown tool"):
        return "unknown_tool"
    return MCP_CODES.get(code) if isinstance(code, int) else None


def _is_json(error: BaseException | None) -> bool:
    return any(ancestor.__name__ == "JSONDecodeError" for ancestor in type(error).__mro__)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # an exception whose text cannot be made still is a failure, and must be told
        return f"<{type(error).__name__} without text>"
