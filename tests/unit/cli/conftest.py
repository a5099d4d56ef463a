"""A server that answers as it is told, and the command line in front of it."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from windlass.cli import output
from windlass.cli.main import cli


class Server:
    """Answers by method and path, and keeps the requests."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], Any] = {}
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        found = self.answers.get((request.method, request.url.path))
        if callable(found):
            found = found(request)
        if found is None:
            return httpx.Response(404, json={"detail": f"nothing at {request.url.path}"})
        return found if isinstance(found, httpx.Response) else httpx.Response(200, json=found)

    def body(self) -> Any:
        return json.loads(self.requests[-1].content)


Invoke = Callable[..., Any]


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def invoke(server: Server, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    make = httpx.Client.__init__

    def with_fake(self: httpx.Client, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **{**kwargs, "transport": httpx.MockTransport(server)})

    monkeypatch.setattr(httpx.Client, "__init__", with_fake)

    def run(*args: str, **kwargs: Any) -> Any:
        return CliRunner().invoke(cli, args, **kwargs)

    return run


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
