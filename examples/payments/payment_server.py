"""A small bank over HTTP that fails at any step on demand: POST /pay, GET /payment?reference=...

    bank = PaymentServer()
    with bank as url:
        bank.fail("after_effect")        # the next payment is booked, and nobody is told
        ...

The steps: `before_effect` (the connection breaks off, nothing is booked), `after_effect` (it is booked, then the
connection breaks off), `half_answer` (booked, half of the answer comes), `slow` (booked, the answer comes after
`delay`), `unavailable` (503 with `Retry-After`, nothing is booked). While `down()` lasts nobody listens at all.
"""

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

STEPS = ("before_effect", "after_effect", "half_answer", "slow", "unavailable")


class QuietServer(ThreadingHTTPServer):
    """A server that does not tell the terminal when a client has gone away, and knows who is still connected."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), (ConnectionError, ValueError)):
            super().handle_error(request, client_address)


class PaymentServer:
    """Serves on a free port of this machine for as long as the `with` block lasts.

    Attributes:
        booked: the payments, in the order in which they were made. It does not look for doubles: that is the point.
        requests: how often `/pay` was asked, failures included.
        retry_after: what `unavailable` says; a number of seconds, or `date` for the same as a date.
        delay: seconds that `slow` waits before it answers.
    """

    def __init__(self, *, retry_after: float | str = 0, delay: float = 1.0) -> None:
        self.booked: list[dict[str, Any]] = []
        self.requests = 0
        self.retry_after = retry_after
        self.delay = delay
        self._plan: list[str] = []
        self._lock = threading.Lock()
        self._server: QuietServer | None = None
        self._port = 0

    def fail(self, step: str, times: int = 1) -> None:
        """Let the next payments fail at a step."""
        if step not in STEPS:
            raise ValueError(f"`{step}` is no step: there are {', '.join(STEPS)}")
        with self._lock:
            self._plan += [step] * times

    def __enter__(self) -> str:
        self._listen()
        return f"http://127.0.0.1:{self._port}"

    def __exit__(self, *_: object) -> None:
        self._stop()

    @contextmanager
    def down(self) -> Iterator[None]:
        """Nobody listens: connections are refused before anything was sent."""
        self._stop()
        try:
            yield
        finally:
            self._listen()

    def _listen(self) -> None:
        self._server = QuietServer(("127.0.0.1", self._port), self._handler())
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def _stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _pay(self, order: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
        """Book a payment unless this one is to fail before; the step that fails, and the answer."""
        with self._lock:
            self.requests += 1
            step = self._plan.pop(0) if self._plan else None
            if step in ("before_effect", "unavailable"):
                return step, {}
            payment = {**order, "payment": f"p{len(self.booked) + 1}"}
            self.booked.append(payment)
            return step, payment

    def _find(self, reference: str) -> dict[str, Any]:
        with self._lock:
            found = [each for each in self.booked if each.get("reference") == reference]
        # what is not there now was not booked: this bank books at once
        return {"found": bool(found), "settled": True, "payment": found[0]["payment"] if found else None}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        bank = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                reference = parse_qs(urlsplit(self.path).query).get("reference", [""])[0]
                self._answer(200, bank._find(reference))

            def do_POST(self) -> None:
                order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                step, payment = bank._pay(order)
                if step == "unavailable":
                    asked = bank.retry_after
                    words = formatdate(time.time() + 1, usegmt=True) if asked == "date" else str(asked)
                    self._answer(503, {"error": "come back later"}, {"Retry-After": words})
                elif step in ("before_effect", "after_effect"):
                    self._break_off()
                elif step == "half_answer":
                    self._answer(200, payment, half=True)
                    self._break_off()
                else:
                    if step == "slow":
                        time.sleep(bank.delay)
                    self._answer(200, payment)

            def _answer(self, code: int, body: Any, headers: dict[str, str] | None = None, half: bool = False) -> None:
                data = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data[: len(data) // 2] if half else data)

            def _break_off(self) -> None:
                self.close_connection = True
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        return Handler
