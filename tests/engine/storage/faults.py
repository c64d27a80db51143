"""A proxy in front of the emulator that loses answers and says that the service is busy: the network as it can be."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.azurite import ACCOUNT, connection_string

BUSY, LOST = "busy", "lost"  # 503 before the effect; no answer after it
CUT, SHORT = "cut", "short"  # half an answer, the connection cut; half an answer that claims to be all


class FaultyProxy:
    """Passes requests on; `faults` says what to do with the next ones whose request line holds `match`."""

    def __init__(self, port: int) -> None:
        self.faults: list[str] = []
        self.match = ""
        self.seen: list[str] = []  # the request lines that matched
        self._target = port
        self._lock = threading.Lock()

    def break_next(self, match: str, *faults: str) -> None:
        with self._lock:
            self.match, self.faults, self.seen = match, list(faults), []

    def fault(self, line: str) -> str:
        with self._lock:
            if self.match not in line:
                return ""
            self.seen.append(line)
            return self.faults.pop(0) if self.faults else ""

    def forward(self, handler: BaseHTTPRequestHandler) -> tuple[int, list[tuple[str, str]], bytes]:
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        connection = http.client.HTTPConnection("127.0.0.1", self._target, timeout=30)
        try:
            connection.putrequest(handler.command, handler.path, skip_host=True, skip_accept_encoding=True)
            for key, value in handler.headers.items():
                connection.putheader(key, value)
            connection.endheaders(body or None)
            answer = connection.getresponse()
            kept = [(k, v) for k, v in answer.getheaders() if k.lower() not in ("transfer-encoding", "connection")]
            return answer.status, kept, answer.read()
        finally:
            connection.close()


@contextmanager
def faulty_proxy(port: int) -> Iterator[tuple[FaultyProxy, str]]:
    """The proxy and the connection string that leads through it."""
    proxy = FaultyProxy(port)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_request(self) -> None:
            fault = proxy.fault(f"{self.command} {self.path}")
            if fault == BUSY:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(503)
                self.send_header("x-ms-error-code", "ServerBusy")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            status, headers, body = proxy.forward(self)
            if fault == LOST:
                self.close_connection = True
                return
            if fault == SHORT:
                body = body[: len(body) // 2]
                headers = [(k, str(len(body)) if k.lower() == "content-length" else v) for k, v in headers]
            self.send_response_only(status)
            for key, value in headers:
                self.send_header(key, value)
            if self.command != "HEAD" and not any(key.lower() == "content-length" for key, _ in headers):
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if fault == CUT:
                self.close_connection = True
                self.wfile.write(body[: len(body) // 2])
            elif self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    for verb in ("GET", "PUT", "HEAD", "DELETE"):
        setattr(Handler, f"do_{verb}", Handler.handle_request)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        yield proxy, connection_string(f"http://127.0.0.1:{server.server_address[1]}/{ACCOUNT}")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
