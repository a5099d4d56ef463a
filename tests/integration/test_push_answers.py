"""Answers of push workers take no more memory than a result may have, however they are packed."""

import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.integration.conftest import TOKEN, Served
from windlass.testing.processes import ServerProcess, started

BOMB_MB = 200
"""So much comes out of two hundred kilobytes."""
ROOM_KB = 80 * 1024
"""What a server may take beyond what it took before: ten times the largest result."""


def bomb() -> bytes:
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    piece = bytes(1024 * 1024)
    return b"".join([*(packing.compress(piece) for _ in range(BOMB_MB)), packing.flush()])


@contextmanager
def answering(body: bytes) -> Iterator[str]:
    """A push worker whose every answer is this, packed."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def most_kb(pid: int) -> int:
    """The most memory a process has had so far."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("VmHWM:")]
    return int(line.split()[1])


def test_a_packed_answer_is_cut_off_where_the_bound_is(tmp_path: Path) -> None:
    server = ServerProcess(f"sqlite:///{tmp_path / 'w.db'}", "--admin-token", TOKEN)
    with started(server), answering(bomb()) as url:
        served = Served(server, "")
        worker = {"id": "w", "transport": "push", "services": ["bomb"], "capacity": 1, "url": url}
        assert served.http.post("/api/v1/workers", json=worker).status_code == 200
        node = {"service": "bomb"}
        served.push("bomb", {"start": "a", "nodes": {"a": node}, "on_failure": "fail"})
        before = most_kb(server.pid)
        run = served.run("bomb")
        assert run["state"] == "failed"
        assert "the result is over the limit" in str(run["error"])
        assert most_kb(server.pid) - before < ROOM_KB
        served.http.close()
