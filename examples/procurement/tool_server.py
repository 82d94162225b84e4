"""A small tool server over the supplier database: POST /supplier_search, /quote_search, /submit_quotation."""

import json
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import supplier_database


class ToolServer:
    """Serves on a free port of this machine for as long as the `with` block lasts.

    `asked` counts the requests of each tool, `quotation` is what was handed in.
    """

    def __init__(self, database: Path) -> None:
        self.asked: dict[str, int] = {}
        self.quotation: dict[str, Any] | None = None
        self._database = database
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    def __enter__(self) -> str:
        """Start, and give the address."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, tool: str, arguments: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The HTTP status and the body of an answer."""
        with self._lock:
            self.asked[tool] = self.asked.get(tool, 0) + 1
        with closing(sqlite3.connect(self._database)) as database:
            match tool:
                case "supplier_search":
                    return 200, {"items": supplier_database.suppliers(database, **arguments)}
                case "quote_search":
                    return 200, {"quotes": supplier_database.quotes(database, **arguments)}
                case "submit_quotation":
                    self.quotation = arguments
                    return 200, {"accepted": True}
        return 404, {"error": f"there is no tool `{tool}`"}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self.answer

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # the name is http.server's
                length = int(self.headers.get("Content-Length") or 0)
                status, body = answer(self.path.strip("/"), json.loads(self.rfile.read(length)))
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler


def client(url: str) -> Callable[[str, dict[str, Any]], Any]:
    """What calls the server's tools."""

    def call(tool: str, arguments: dict[str, Any]) -> Any:
        request = Request(f"{url}/{tool}", json.dumps(arguments).encode(), {"Content-Type": "application/json"})
        with urlopen(request, timeout=10) as response:
            return json.load(response)

    return call
