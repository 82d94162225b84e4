"""What callgate raises: for faulty policies, refused starts, and exceptions of tools turned into reported errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callgate.policy.diagnostics import Diagnostic

Reported = tuple[str | None, int | None, str | None]


class PolicyError(ValueError):
    """A policy that cannot be used.

    `diagnostics` holds all that is wrong, errors and warnings, in the order of files and positions.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        lines = [_line(diagnostic) for diagnostic in self.diagnostics if diagnostic.severity == "error"]
        super().__init__("\n".join(["the policy cannot be used:", *lines]))


class SpawnError(RuntimeError):
    """An agent that may not be started: `reason` is `budget_depth`, or `bad_call_id` where the name is taken."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


def _line(diagnostic: Diagnostic) -> str:
    span = diagnostic.span
    place = f"{diagnostic.file}:{span.line}:{span.column}" if span else diagnostic.file
    hint = f" ({diagnostic.hint})" if diagnostic.hint else ""
    return f"  {place}: {diagnostic.code}: {diagnostic.message}{hint}"


def reported(error: BaseException | Mapping[str, object] | str) -> Reported:
    """An exception, a dictionary or a text as (type, status, message).

    Exceptions are told by what they are called and carry, so that no library has to be imported: a time-out, a broken
    connection, an HTTP status under `status_code`, `status` or `code`, else the name of the class.

    >>> reported(TimeoutError("30 s"))
    ('timeout', None, '30 s')
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
    status = _status(error)
    return _kind(error, status), status, _text(error)


def _status(error: BaseException) -> int | None:
    for holder in (error, _field(error, "response")):
        for name in ("status_code", "status"):
            value = _field(holder, name)
            if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
                return value
    return None


def _field(holder: object, name: str) -> object:
    try:
        return getattr(holder, name, None)
    except Exception:  # a property of somebody else's that raises has nothing to tell
        return None


def _kind(error: BaseException, status: int | None) -> str:
    names = {ancestor.__name__ for ancestor in type(error).__mro__}
    if status is not None:
        return "http"
    if isinstance(error, TimeoutError) or names & {"TimeoutException", "Timeout", "APITimeoutError"}:
        return "timeout"
    if "CancelledError" in names or isinstance(error, KeyboardInterrupt):
        return "cancelled"
    if isinstance(error, ConnectionError) or names & {"NetworkError", "APIConnectionError", "ConnectionError"}:
        return "network"
    return type(error).__name__


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # an exception whose text cannot be made still is a failure, and must be told
        return f"<{type(error).__name__} without text>"
