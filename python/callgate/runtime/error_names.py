"""What the exceptions of well-known libraries say about a call, by their names, so that none of them is imported."""

from __future__ import annotations

import errno
from typing import Final, NamedTuple


class Around(NamedTuple):
    """An exception that stands around another one: what is inside says more, and `otherwise` holds where nothing is."""

    otherwise: str


NETWORK: Final = "network"
"""The request was never sent: the call did not happen."""
CONNECTION_LOST: Final = "connection_lost"
"""The request was sent, or a part of it, and no whole answer came back: the call may have happened."""
TIMEOUT: Final = "timeout"
"""No answer came in time: the call may have happened."""
CANCELLED: Final = "cancelled"
"""Somebody stopped waiting: the call may have happened."""

MEANING: Final[dict[str, str | Around]] = {
    # Python itself. The time-outs of asyncio, concurrent.futures and socket are all `TimeoutError`.
    "builtins.TimeoutError": TIMEOUT,
    "builtins.ConnectionRefusedError": NETWORK,
    "builtins.ConnectionError": CONNECTION_LOST,
    "builtins.KeyboardInterrupt": CANCELLED,
    "builtins.SystemExit": CANCELLED,
    "builtins.GeneratorExit": CANCELLED,
    "asyncio.CancelledError": CANCELLED,
    "asyncio.IncompleteReadError": CONNECTION_LOST,
    "concurrent.CancelledError": CANCELLED,
    "concurrent.BrokenExecutor": CONNECTION_LOST,
    "socket.gaierror": NETWORK,
    "socket.herror": NETWORK,
    "ssl.SSLCertVerificationError": "certificate",
    "ssl.SSLError": CONNECTION_LOST,
    # an answer that breaks off or cannot be read is no sign that nothing happened
    "json.JSONDecodeError": CONNECTION_LOST,
    "simplejson.JSONDecodeError": CONNECTION_LOST,
    "http.NotConnected": NETWORK,
    "http.IncompleteRead": CONNECTION_LOST,
    "http.BadStatusLine": CONNECTION_LOST,
    "urllib.ContentTooShortError": CONNECTION_LOST,
    "urllib.URLError": Around(CONNECTION_LOST),
    "subprocess.TimeoutExpired": TIMEOUT,
    "subprocess.CalledProcessError": "exit_nonzero",
    # httpx, and httpcore underneath
    "httpx.ConnectError": NETWORK,
    "httpx.ConnectTimeout": NETWORK,
    "httpx.PoolTimeout": NETWORK,
    "httpx.ProxyError": NETWORK,
    "httpx.UnsupportedProtocol": "unsupported_protocol",
    "httpx.LocalProtocolError": "local_protocol_error",
    "httpx.TimeoutException": TIMEOUT,
    "httpx.TransportError": CONNECTION_LOST,
    "httpx.DecodingError": CONNECTION_LOST,
    "httpcore.ConnectError": NETWORK,
    "httpcore.ConnectTimeout": NETWORK,
    "httpcore.PoolTimeout": NETWORK,
    "httpcore.ConnectionNotAvailable": NETWORK,
    "httpcore.ProxyError": NETWORK,
    "httpcore.UnsupportedProtocol": "unsupported_protocol",
    "httpcore.LocalProtocolError": "local_protocol_error",
    "httpcore.TimeoutException": TIMEOUT,
    "httpcore.NetworkError": CONNECTION_LOST,
    "httpcore.ProtocolError": CONNECTION_LOST,
    # requests, which tells less than urllib3 underneath
    "requests.ConnectTimeout": NETWORK,
    "requests.ProxyError": Around(NETWORK),
    "requests.ReadTimeout": TIMEOUT,
    "requests.SSLError": Around(CONNECTION_LOST),
    "requests.RetryError": Around(CONNECTION_LOST),
    "requests.ConnectionError": Around(CONNECTION_LOST),
    "requests.Timeout": TIMEOUT,
    "requests.ChunkedEncodingError": CONNECTION_LOST,
    "requests.ContentDecodingError": CONNECTION_LOST,
    "urllib3.NewConnectionError": NETWORK,
    "urllib3.NameResolutionError": NETWORK,
    "urllib3.ConnectTimeoutError": NETWORK,
    "urllib3.EmptyPoolError": NETWORK,
    "urllib3.ClosedPoolError": NETWORK,
    "urllib3.ProxyError": Around(NETWORK),
    "urllib3.MaxRetryError": Around(CONNECTION_LOST),
    "urllib3.SSLError": Around(CONNECTION_LOST),
    "urllib3.TimeoutError": TIMEOUT,
    "urllib3.ProtocolError": CONNECTION_LOST,
    "urllib3.DecodeError": CONNECTION_LOST,
    # aiohttp
    "aiohttp.ClientConnectorCertificateError": "certificate",
    "aiohttp.ClientConnectorError": NETWORK,
    "aiohttp.ConnectionTimeoutError": NETWORK,
    "aiohttp.ServerFingerprintMismatch": "certificate",
    "aiohttp.ServerTimeoutError": TIMEOUT,
    "aiohttp.ClientConnectionError": CONNECTION_LOST,
    "aiohttp.ClientPayloadError": CONNECTION_LOST,
    "aiohttp.ContentTypeError": CONNECTION_LOST,
    # the libraries of model providers, which stand on httpx
    "openai.APITimeoutError": Around(TIMEOUT),
    "openai.APIConnectionError": Around(CONNECTION_LOST),
    "openai.APIResponseValidationError": CONNECTION_LOST,
    "anthropic.APITimeoutError": Around(TIMEOUT),
    "anthropic.APIConnectionError": Around(CONNECTION_LOST),
    "anthropic.APIResponseValidationError": CONNECTION_LOST,
    # MCP, and anyio underneath
    "anyio.EndOfStream": CONNECTION_LOST,
    "anyio.BrokenResourceError": CONNECTION_LOST,
    "anyio.ClosedResourceError": CONNECTION_LOST,
    "anyio.BrokenWorkerProcess": CONNECTION_LOST,
}
"""By the first part of the module and the name of the class: libraries move their classes from file to file."""

# Of libraries that nobody listed: careful rather than right, since what is ambiguous is never blindly done again.
_WORDS: Final = (
    (TIMEOUT, ("timeout", "timedout", "deadlineexceeded")),
    (CONNECTION_LOST, ("connectionerror", "connectionreset", "connectionclosed", "connectionlost", "disconnected")),
)

NEVER_SENT: Final = frozenset(
    {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL, errno.ECONNREFUSED}
    | {getattr(errno, "EHOSTDOWN", errno.EHOSTUNREACH)}
)
"""Numbers of an `OSError` that no connection survives to."""

OVERLOADED: Final = 529
"""A status that Anthropic's API made up: too many callers, not the caller's fault."""

MCP_CODES: Final[dict[int, str]] = {
    408: TIMEOUT,  # the Python library puts the status of HTTP where a code of JSON-RPC belongs
    -32001: TIMEOUT,
    -32000: CONNECTION_LOST,
    -32601: "unknown_tool",
    -32602: "invalid_arguments",
}
"""Codes of MCP's errors: -32000 is `connection closed`, -32001 `request timed out`, the others are of JSON-RPC 2.0."""


def meaning(kind: type[BaseException]) -> str | Around | None:
    """What a class of exceptions says, by the nearest of its ancestors that is known; None where none is.

    A class of a library that is not listed is told by its own name where that speaks of time or of a connection.

    Example:
        >>> meaning(ConnectionResetError), meaning(ValueError)
        ('connection_lost', None)
    """
    for ancestor in kind.__mro__:
        module = str(getattr(ancestor, "__module__", "")).partition(".")[0].lstrip("_")
        # a second edition of a library, as `httpx2` is one of `httpx`, keeps the names
        for edition in (module, module.rstrip("0123456789")):
            found = MEANING.get(f"{edition}.{ancestor.__name__}")
            if found is not None:
                return found
    name = kind.__name__.lower()
    return next((said for said, words in _WORDS if any(word in name for word in words)), None)
