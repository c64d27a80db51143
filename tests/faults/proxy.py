"""A proxy in front of the emulator that loses answers and says that the service is busy: the network as it can be."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.azurite import ACCOUNT, connection_string
from tests.faults.ways import Plan, Way

BUSY, LOST = "busy", "lost"  # 503 before the effect; no answer after it
CUT, SHORT = "cut", "short"  # half an answer, the connection cut; half an answer that claims to be all
RESET, STALL = "reset", "stall"  # the connection ends before the effect; half an answer, then silence for a while

STALL_SECONDS = 1.5
OF_HTTP = tuple(Way)  # all of them can happen on the wire
_STATUS = {
    Way.BUSY: (503, "ServerBusy"), Way.BUSY_AFTER: (500, "InternalError"), Way.RANGE: (416, "InvalidRange"),
    Way.CHANGED: (412, "ConditionNotMet"), Way.CHANGED_AFTER: (412, "ConditionNotMet"),
    Way.EXISTS: (409, "BlobAlreadyExists"), Way.EXISTS_AFTER: (409, "BlobAlreadyExists"),
}


@dataclass(frozen=True)
class Answer:
    """What the proxy says: of itself instead of the service, or (`after`) when the service has done it."""

    status: int
    code: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    after: bool = False


Fault = str | Answer  # "" for none


class FaultyProxy:
    """Passes requests on; `faults` says what to do with the next ones whose request line holds `match`, else `plan`
    which one fails. `everything` is what it does with all of them."""

    def __init__(self, port: int) -> None:
        self.plan: Plan | None = None
        self.everything: Fault = ""
        self.faults: list[Fault] = []
        self.match = ""
        self.seen: list[str] = []  # the request lines that matched
        self.endpoint = ""
        self._target = port
        self._lock = threading.Lock()

    def break_next(self, match: str, *faults: Fault) -> None:
        with self._lock:
            self.match, self.faults, self.seen = match, list(faults), []

    def fault(self, handler: BaseHTTPRequestHandler) -> Fault:
        line = f"{handler.command} {handler.path}"
        with self._lock:
            if self.everything:
                return self.everything
            plan = self.plan
            if plan is not None:
                hit = plan.hits() if _can(plan.way, handler) else 0
                return RESET if hit == 2 else _fault_of(plan.way) if hit else ""
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


def _can(way: Way, handler: BaseHTTPRequestHandler) -> bool:
    """Whether a request can fail in this way; a create of the lock is no call of the storage, but one on the wire."""
    reads = handler.command == "GET"
    match way:
        case Way.SHORT | Way.CUT:
            return reads
        case Way.RANGE:
            return reads and "x-ms-range" in handler.headers
        case Way.LOST_WRITE:  # a lock that may be held already is nothing that the job relies on
            return handler.command == "PUT" and "dataset.lock" not in handler.path and (
                "comp=" not in handler.path or "comp=blocklist" in handler.path)
        case Way.CHANGED | Way.CHANGED_AFTER:
            return "If-Match" in handler.headers
        case Way.EXISTS | Way.EXISTS_AFTER:
            return "If-None-Match" in handler.headers
    return True


def _fault_of(way: Way) -> Fault:
    match way:
        case Way.BEFORE | Way.DOWN:
            return RESET
        case Way.LOST | Way.LOST_WRITE | Way.LOST_DOWN | Way.LOST_FEW:
            return LOST
        case Way.SHORT:
            return SHORT
        case Way.CUT:
            return CUT
    status, code = _STATUS[way]
    headers = (("Retry-After", "1"),) if status == 503 else ()
    return Answer(status, code, headers, after=way in (Way.BUSY_AFTER, Way.CHANGED_AFTER, Way.EXISTS_AFTER))


@contextmanager
def faulty_proxy(port: int) -> Iterator[tuple[FaultyProxy, str]]:
    """The proxy and the connection string that leads through it."""
    proxy = FaultyProxy(port)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_request(self) -> None:
            fault = proxy.fault(self)
            if fault == BUSY:
                fault = Answer(503, "ServerBusy")
            if fault == RESET:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.close_connection = True
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            if isinstance(fault, Answer) and not fault.after:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.answer(fault)
                return
            try:
                status, headers, body = proxy.forward(self)
            except OSError:  # no service behind it
                self.close_connection = True
                return
            if fault == LOST:
                self.close_connection = True
                return
            if isinstance(fault, Answer):
                self.answer(fault)
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
            if fault in (CUT, STALL):
                self.close_connection = True
                self.wfile.write(body[: len(body) // 2])
                self.wfile.flush()
                time.sleep(STALL_SECONDS if fault == STALL else 0)
            elif self.command != "HEAD":
                self.wfile.write(body)

        def answer(self, answer: Answer) -> None:
            self.send_response(answer.status)
            self.send_header("x-ms-error-code", answer.code)
            for key, value in answer.headers:
                self.send_header(key, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    for verb in ("GET", "PUT", "HEAD", "DELETE"):
        setattr(Handler, f"do_{verb}", Handler.handle_request)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        proxy.endpoint = f"http://127.0.0.1:{server.server_address[1]}/{ACCOUNT}"
        yield proxy, connection_string(proxy.endpoint)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
