"""What exceptions say about a call: told by their names, so that no library is imported for it."""

import asyncio
import concurrent.futures
import errno
import http.client
import json
import socket
import ssl
import subprocess
import sys
import urllib.error
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate
from callgate.runtime.error_names import MEANING
from callgate.runtime.reported import reported


def named(*path: str, base: type[BaseException] = Exception) -> type[BaseException]:
    """A class as a library has it: `module.Name` of the ancestors first, each below the one before."""
    kind = base
    for each in path:
        module, _, name = each.rpartition(".")
        kind = type(name, (kind,), {"__module__": module})
    return kind


def raised(outer: BaseException, cause: BaseException) -> BaseException:
    """`outer`, raised from `cause`."""
    try:
        raise outer from cause
    except BaseException as error:
        return error


PYTHON: list[tuple[BaseException, str]] = [
    (TimeoutError("30 s"), "timeout"),
    (socket.timeout("timed out"), "timeout"),  # noqa: UP041 - the old name is what old code raises
    (asyncio.TimeoutError(), "timeout"),  # noqa: UP041
    (concurrent.futures.TimeoutError(), "timeout"),
    (OSError(errno.ETIMEDOUT, "timed out"), "timeout"),
    (subprocess.TimeoutExpired("ls", 5), "timeout"),
    (subprocess.CalledProcessError(2, "ls"), "exit_nonzero"),
    (asyncio.CancelledError(), "cancelled"),
    (concurrent.futures.CancelledError(), "cancelled"),
    (KeyboardInterrupt(), "cancelled"),
    (GeneratorExit(), "cancelled"),
    (SystemExit(1), "cancelled"),
    (named("trio._core.Cancelled", base=BaseException)("stopped after the booking"), "cancelled"),
    (named("greenlet.GreenletExit", base=BaseException)(), "cancelled"),
    (named("gevent.timeout.Timeout", base=BaseException)(), "timeout"),
    (raised(named("trio.Cancelled", base=BaseException)(), ConnectionRefusedError("no")), "cancelled"),
    (BaseExceptionGroup("two", [named("trio.Cancelled", base=BaseException)(), ValueError()]), "cancelled"),
    (ConnectionRefusedError("nobody there"), "network"),
    (socket.gaierror(-2, "unknown name"), "network"),
    (OSError(errno.ENETUNREACH, "unreachable"), "network"),
    (OSError(errno.EHOSTUNREACH, "no route"), "network"),
    (ConnectionResetError(), "connection_lost"),
    (BrokenPipeError(), "connection_lost"),
    (ConnectionAbortedError(), "connection_lost"),
    (ConnectionError(), "connection_lost"),
    (http.client.RemoteDisconnected(), "connection_lost"),
    (http.client.IncompleteRead(b"half"), "connection_lost"),
    (asyncio.IncompleteReadError(b"", 4), "connection_lost"),
    (ssl.SSLEOFError(), "connection_lost"),
    (ssl.SSLCertVerificationError(), "certificate"),
    (json.JSONDecodeError("cut", '{"a"', 4), "connection_lost"),
    (urllib.error.URLError(ConnectionRefusedError()), "network"),
    (urllib.error.URLError(socket.gaierror(-2, "unknown name")), "network"),
    (urllib.error.URLError(TimeoutError()), "timeout"),
    (urllib.error.URLError(BrokenPipeError()), "connection_lost"),
    (urllib.error.URLError("no host given"), "connection_lost"),
    (ValueError("no"), "ValueError"),
    (FileNotFoundError(errno.ENOENT, "no such file"), "FileNotFoundError"),
]


@pytest.mark.parametrize(("error", "kind"), PYTHON, ids=[f"{type(e).__name__}-{k}" for e, k in PYTHON])
def test_what_python_raises_is_told_apart(error: BaseException, kind: str) -> None:
    assert reported(error) == (kind, None, str(error))


LIBRARIES: list[tuple[tuple[str, ...], str]] = [
    (("httpx.RequestError", "httpx.TransportError", "httpx.TimeoutException", "httpx.ConnectTimeout"), "network"),
    (("httpx.TransportError", "httpx.TimeoutException", "httpx.PoolTimeout"), "network"),
    (("httpx.TransportError", "httpx.TimeoutException", "httpx.ReadTimeout"), "timeout"),
    (("httpx.TransportError", "httpx.TimeoutException", "httpx.WriteTimeout"), "timeout"),
    (("httpx.TransportError", "httpx.NetworkError", "httpx.ConnectError"), "network"),
    (("httpx.TransportError", "httpx.NetworkError", "httpx.ReadError"), "connection_lost"),
    (("httpx.TransportError", "httpx.NetworkError", "httpx.WriteError"), "connection_lost"),
    (("httpx.TransportError", "httpx.ProtocolError", "httpx.RemoteProtocolError"), "connection_lost"),
    (("httpx.TransportError", "httpx.ProtocolError", "httpx.LocalProtocolError"), "local_protocol_error"),
    (("httpx.RequestError", "httpx.DecodingError"), "connection_lost"),
    (("httpx.InvalidURL",), "InvalidURL"),
    (("httpcore._exceptions.TimeoutException", "httpcore._exceptions.ConnectTimeout"), "network"),
    (("requests.exceptions.ConnectionError", "requests.exceptions.ConnectTimeout"), "network"),
    (("requests.exceptions.Timeout", "requests.exceptions.ReadTimeout"), "timeout"),
    (("requests.exceptions.RequestException", "requests.exceptions.ChunkedEncodingError"), "connection_lost"),
    (("urllib3.exceptions.HTTPError", "urllib3.exceptions.NewConnectionError"), "network"),
    (("urllib3.exceptions.HTTPError", "urllib3.exceptions.TimeoutError"), "timeout"),
    (("urllib3.exceptions.TimeoutError", "urllib3.exceptions.ConnectTimeoutError"), "network"),
    (("urllib3.exceptions.TimeoutError", "urllib3.exceptions.ReadTimeoutError"), "timeout"),
    (("urllib3.exceptions.HTTPError", "urllib3.exceptions.ProtocolError"), "connection_lost"),
    (("aiohttp.client_exceptions.ClientOSError", "aiohttp.client_exceptions.ClientConnectorError"), "network"),
    (("aiohttp.client_exceptions.ClientConnectionError", "aiohttp.client_exceptions.ClientOSError"), "connection_lost"),
    (("aiohttp.client_exceptions.ServerConnectionError", "aiohttp.client_exceptions.ServerTimeoutError"), "timeout"),
    (("aiohttp.client_exceptions.ServerTimeoutError", "aiohttp.client_exceptions.ConnectionTimeoutError"), "network"),
    (
        ("aiohttp.client_exceptions.ClientConnectionError", "aiohttp.client_exceptions.ServerDisconnectedError"),
        "connection_lost",
    ),
    (("aiohttp.client_exceptions.ClientError", "aiohttp.client_exceptions.ClientPayloadError"), "connection_lost"),
    (("openai.OpenAIError", "openai.APIConnectionError", "openai.APITimeoutError"), "timeout"),
    (("openai.OpenAIError", "openai.APIConnectionError"), "connection_lost"),
    (("anthropic.AnthropicError", "anthropic.APIConnectionError", "anthropic.APITimeoutError"), "timeout"),
    (("anthropic.AnthropicError", "anthropic.APIConnectionError"), "connection_lost"),
    (("anyio.ClosedResourceError",), "connection_lost"),
    (("playwright.Error", "playwright.TimeoutError"), "timeout"),
    (("google.api_core.exceptions.DeadlineExceeded",), "timeout"),
    (("redis.exceptions.ConnectionError",), "connection_lost"),
    (("websockets.exceptions.ConnectionClosedError",), "connection_lost"),
    (("httpx2.TransportError", "httpx2.ConnectError"), "network"),
    (("mine.ConnectError",), "ConnectError"),
]


@pytest.mark.parametrize(("path", "kind"), LIBRARIES, ids=[path[-1] for path, _ in LIBRARIES])
def test_what_libraries_raise_is_told_by_the_nearest_known_ancestor(path: tuple[str, ...], kind: str) -> None:
    assert reported(named(*path)("why")) == (kind, None, "why")


def test_a_class_of_ones_own_below_a_known_one_is_what_that_is() -> None:
    assert reported(named("httpx.TimeoutException", "httpx.ReadTimeout", "shop.SlowTill")("x"))[0] == "timeout"


CONNECTION = named("requests.exceptions.ConnectionError")
MAX_RETRIES = named("urllib3.exceptions.MaxRetryError")


def max_retries(reason: BaseException) -> BaseException:
    """As urllib3 raises it: with what was wrong last under `reason`."""
    error = MAX_RETRIES("gave up")
    error.reason = reason  # type: ignore[attr-defined]
    return error


def test_requests_tells_by_what_urllib3_had_to_say() -> None:
    refused = named("urllib3.exceptions.NewConnectionError")("refused")
    broken = named("urllib3.exceptions.ProtocolError")("Connection aborted.", http.client.RemoteDisconnected())
    assert reported(CONNECTION(max_retries(refused)))[0] == "network"
    assert reported(CONNECTION(broken))[0] == "connection_lost"
    assert reported(CONNECTION("out of the blue"))[0] == "connection_lost"


def test_a_certificate_that_nobody_trusts_is_found_under_three_layers() -> None:
    inner = named("urllib3.exceptions.SSLError")(ssl.SSLCertVerificationError())
    assert reported(named("requests.exceptions.SSLError")(max_retries(inner)))[0] == "certificate"


def test_a_provider_tells_by_what_its_client_had_to_say() -> None:
    connection, timeout = (
        named("openai.APIConnectionError"),
        named("openai.APIConnectionError", "openai.APITimeoutError"),
    )
    never, read = named("httpx.NetworkError", "httpx.ConnectError"), named("httpx.TransportError", "httpx.ReadError")
    slow = named("httpx.TimeoutException", "httpx.ConnectTimeout")
    assert reported(raised(connection("Connection error."), never("refused")))[0] == "network"
    assert reported(raised(connection("Connection error."), read("reset")))[0] == "connection_lost"
    assert reported(raised(timeout("Request timed out."), slow("")))[0] == "network"
    assert reported(raised(timeout("Request timed out."), named("httpx.ReadTimeout")("")))[0] == "timeout"


def test_what_a_tool_raises_from_a_failure_of_transport_is_that_failure() -> None:
    assert reported(raised(RuntimeError("no luck"), TimeoutError()))[0] == "timeout"
    assert (
        reported(raised(RuntimeError("no luck"), raised(OSError("x"), ConnectionResetError())))[0] == "connection_lost"
    )


def test_what_a_tool_raises_from_another_failure_keeps_its_name() -> None:
    assert reported(raised(RuntimeError("no"), KeyError("x")))[0] == "RuntimeError"
    assert reported(raised(RuntimeError("no"), json.JSONDecodeError("cut", "{", 1)))[0] == "RuntimeError"
    try:
        try:
            raise TimeoutError
        except TimeoutError:
            raise LookupError("beside it") from None
    except LookupError as error:
        assert reported(error)[0] == "LookupError"


def test_of_a_group_the_one_counts_after_which_most_may_have_happened() -> None:
    refused, reset = ConnectionRefusedError(), ConnectionResetError()
    assert reported(ExceptionGroup("two", [refused, reset]))[0] == "connection_lost"
    assert reported(ExceptionGroup("two", [refused, ValueError()]))[0] == "network"
    assert reported(ExceptionGroup("one", [ExceptionGroup("inner", [refused, TimeoutError()])]))[0] == "timeout"
    assert reported(ExceptionGroup("none", [ValueError()]))[0] == "ExceptionGroup"


def test_exceptions_that_go_round_in_a_circle_end() -> None:
    first, second = CONNECTION("a"), CONNECTION("b")
    first.__cause__, second.__cause__ = second, first
    assert reported(first)[0] == "connection_lost"


class Answered(Exception):
    """As libraries raise for an answer that says no."""

    def __init__(self, **fields: Any) -> None:
        super().__init__("no")
        for name, value in fields.items():
            setattr(self, name, value)


@pytest.mark.parametrize("name", ["status_code", "status"])
def test_a_status_is_read_from_the_exception_or_its_response(name: str) -> None:
    assert reported(Answered(**{name: 503})) == ("http", 503, "no")
    assert reported(Answered(response=Answered(**{name: 404}))) == ("http", 404, "no")


def test_an_overloaded_provider_throttles() -> None:
    assert reported(Answered(status_code=529)) == ("throttled", 529, "no")


@pytest.mark.parametrize("status", [200, 302, 0, -1, True, "503", None, 600, 10**40])
def test_what_is_no_status_of_a_failure_is_none(status: object) -> None:
    assert reported(Answered(status_code=status)) == ("Answered", None, "no")


def test_an_answer_of_200_that_cannot_be_read_is_a_lost_one() -> None:
    error = named("aiohttp.client_exceptions.ContentTypeError")("not json")
    error.status = 200  # type: ignore[attr-defined]
    assert reported(error)[0] == "connection_lost"


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        (408, "Timed out while waiting for response", "timeout"),
        (-32001, "Request timed out", "timeout"),
        (-32000, "Connection closed", "connection_lost"),
        (-32602, "Unknown tool: serach", "unknown_tool"),
        (-32602, "Invalid params", "invalid_arguments"),
        (-32601, "Method not found", "unknown_tool"),
        (-32603, "Internal error", "McpError"),
    ],
)
def test_errors_of_mcp_are_told_by_their_code(code: int, message: str, kind: str) -> None:
    error = named("mcp.shared.exceptions.McpError")(message)
    error.error = Answered(code=code, message=message)  # type: ignore[attr-defined]
    assert reported(error) == (kind, None, message)


def test_a_property_that_raises_and_a_text_that_cannot_be_made_do_no_harm() -> None:
    class Spiteful(Exception):
        @property
        def response(self) -> object:
            raise RuntimeError

        def __str__(self) -> str:
            raise RuntimeError

    assert reported(Spiteful()) == ("Spiteful", None, "<Spiteful without text>")


def test_every_name_of_the_table_that_python_has_itself_is_a_class_there() -> None:
    places = {
        "builtins": "builtins",
        "http": "http.client",
        "urllib": "urllib.error",
        "concurrent": "concurrent.futures",
    }
    for name in MEANING:
        root, _, kind = name.partition(".")
        if root in sys.stdlib_module_names:
            found = getattr(import_module(places.get(root, root)), kind)
            assert issubclass(found, BaseException)
            assert found.__module__.partition(".")[0].lstrip("_") == root


@pytest.mark.parametrize(
    "root", ["httpx", "httpcore", "requests", "urllib3", "aiohttp", "openai", "anthropic", "anyio"]
)
def test_every_name_of_the_table_that_an_installed_library_has_is_where_the_table_says(root: str) -> None:
    library = pytest.importorskip(root, reason=f"`{root}` is not installed here")
    holders = [library]
    for inner in ("exceptions", "client_exceptions", "_exceptions"):
        try:
            holders.append(import_module(f"{root}.{inner}"))
        except ImportError:
            continue
    for name in (name for name in MEANING if name.startswith(f"{root}.")):
        found = next(filter(None, (getattr(holder, name.partition(".")[2], None) for holder in holders)), None)
        assert isinstance(found, type), name
        assert f"{found.__module__.partition('.')[0]}.{found.__name__}" == name


# The same failures over real libraries, against a bank that fails at a named step.

Ask = Callable[[str], Any]


def by_urllib(url: str) -> Any:
    from urllib.request import Request, urlopen

    try:
        with urlopen(Request(url, b"{}", {"Content-Type": "application/json"}), timeout=0.5) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise


def by_http_client(url: str) -> Any:
    connection = http.client.HTTPConnection(url.split("/")[2], timeout=0.5)
    try:
        connection.request("POST", "/pay", b"{}", {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status >= 400:
            raise Answered(status=answer.status, headers=answer.headers)
        return json.loads(body)
    finally:
        connection.close()


def by_httpx(url: str) -> Any:
    httpx = pytest.importorskip("httpx", reason="`httpx` is not installed here")
    return httpx.post(url, json={}, timeout=0.5).raise_for_status().json()


def by_requests(url: str) -> Any:
    requests = pytest.importorskip("requests", reason="`requests` is not installed here")
    answer = requests.post(url, json={}, timeout=0.5)
    answer.raise_for_status()
    return answer.json()


def by_urllib3(url: str) -> Any:
    urllib3 = pytest.importorskip("urllib3", reason="`urllib3` is not installed here")
    with urllib3.PoolManager(retries=urllib3.Retry(0, status=0), timeout=0.5) as pool:
        answer = pool.request("POST", url, json={})
        if answer.status >= 400:
            raise Answered(status=answer.status, headers=answer.headers)
        return answer.json()


def by_aiohttp(url: str) -> Any:
    aiohttp = pytest.importorskip("aiohttp", reason="`aiohttp` is not installed here")

    async def ask() -> Any:
        limit = aiohttp.ClientTimeout(total=0.5)
        async with (
            aiohttp.ClientSession(timeout=limit, raise_for_status=True) as session,
            session.post(url, json={}) as a,
        ):
            return await a.json()

    return asyncio.run(ask())


def by_openai(url: str) -> Any:
    openai = pytest.importorskip("openai", reason="`openai` is not installed here")
    client = openai.OpenAI(api_key="none", base_url=url, max_retries=0, timeout=0.5)
    return client.post("", body={}, cast_to=dict[str, Any])


CLIENTS = [by_urllib, by_http_client, by_httpx, by_requests, by_urllib3, by_aiohttp, by_openai]
STEPS = [
    ("before_effect", ("connection_lost", None)),
    ("after_effect", ("connection_lost", None)),
    ("half_answer", ("connection_lost", None)),
    ("slow", ("timeout", None)),
    ("unavailable", ("http", 503)),
]


@pytest.fixture
def bank(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(root / "examples" / "payments"))
    return import_module("payment_server").PaymentServer(delay=1.0)


@pytest.mark.parametrize("ask", CLIENTS)
def test_a_client_that_fails_at_a_step_is_told_by_that_step(bank: Any, ask: Ask) -> None:
    with bank as url:
        told = {}
        for step, _ in STEPS:
            bank.fail(step)
            with pytest.raises(Exception) as caught:
                ask(f"{url}/pay")
            told[step] = reported(caught.value)[:2]
        with bank.down(), pytest.raises(Exception) as caught:
            ask(f"{url}/pay")
    assert told == dict(STEPS)
    assert reported(caught.value)[:2] == ("network", None)


def test_nothing_is_imported_to_tell_an_exception() -> None:
    program = (
        "import sys\nfrom callgate.runtime.reported import reported\nreported(TimeoutError()), reported(OSError())\n"
        "names = ('httpx', 'requests', 'urllib3', 'aiohttp', 'openai', 'asyncio')\n"
        "print([name for name in names if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


CLASSES = [
    ("connection_lost", "read", "transient"),
    ("connection_lost", "write", "ambiguous"),
    ("connection_lost", "external", "ambiguous"),
    ("connection_lost", "unknown", "ambiguous"),
    ("network", "external", "transient"),
]


@pytest.mark.parametrize(("kind", "effect", "klass"), CLASSES)
def test_a_lost_connection_is_ambiguous_where_something_may_have_happened(
    tmp_path: Path, kind: str, effect: str, klass: str
) -> None:
    (tmp_path / "policy.yaml").write_text(
        "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: p}\nspec: {extends: [default], tools: [t]}\n"
        "---\napiVersion: callgate/v1\nkind: ToolManifest\nmetadata: {name: t}\n"
        f"spec: {{tools: {{act: {{effect: {effect}}}}}}}\n"
    )
    task = Gate.load(tmp_path).task("t")
    verdict = task.admit("act", {})
    assert task.observe(verdict.call_id, error={"type": kind}).error_class == klass


def test_an_interruption_with_a_status_is_no_answer() -> None:
    stopped = named("shop.Stopped", base=BaseException)("stopped")
    stopped.status_code = 404  # type: ignore[attr-defined]
    assert reported(stopped) == ("cancelled", None, "stopped")
