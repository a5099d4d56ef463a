"""The UI is for browsers: API clients keep their answers, and nothing falls back to a page."""

import gzip
import re
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from windlass.server.ui import PLACES, WebUi

pytestmark = pytest.mark.anyio

ROUTER = Path(__file__).parents[3] / "ui" / "src" / "router.tsx"
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


async def api(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"api {request.url.path}")


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    page = '<html><head><base href="/" /></head></html>'
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    script = tmp_path / "assets" / "index-abc.js"
    script.write_text("go()", encoding="utf-8")
    (tmp_path / "assets" / "index-abc.js.gz").write_bytes(gzip.compress(b"go()"))
    (tmp_path / "secret.txt").write_text("no", encoding="utf-8")
    return tmp_path


def client_of(dist: Path) -> httpx.AsyncClient:
    routes = [Route("/flows", api), Route("/api/v1/runs", api)]
    app = Starlette(routes=routes, middleware=[Middleware(WebUi, dist=dist)])
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(transport=transport, base_url="http://windlass")


@pytest.mark.parametrize(
    ("path", "base"),
    [
        ("/", "./"),
        ("/runs", "./"),
        ("/runs/01a1/", "../../"),
        ("/runs/01a1", "../"),
        ("/flows/x", "../"),
        ("/inbox", "./"),
        ("/workers", "./"),
        ("/environments", "./"),
        ("/settings", "./"),
    ],
)
async def test_a_browser_gets_the_page_with_a_base_of_its_own(
    dist: Path, path: str, base: str
) -> None:
    answer = await client_of(dist).get(path, headers=BROWSER)
    assert answer.status_code == 200
    assert f'<base href="{base}"' in answer.text
    assert answer.headers["cache-control"] == "no-cache"
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]


async def test_an_api_client_gets_what_the_path_always_answered(dist: Path) -> None:
    client = client_of(dist)
    for accept in ("*/*", "application/json"):
        assert (await client.get("/flows", headers={"Accept": accept})).text == "api /flows"
    assert "<base" in (await client.get("/flows", headers=BROWSER)).text


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/runs", "/metrics", "/tasks/get"])
async def test_nothing_of_the_api_falls_back_to_the_page(dist: Path, path: str) -> None:
    answer = await client_of(dist).get(path, headers=BROWSER)
    assert answer.status_code == 404


async def test_an_asset_never_changes_and_comes_packed(dist: Path) -> None:
    answer = await client_of(dist).get("/assets/index-abc.js")
    assert answer.text == "go()"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-encoding"] == "gzip"
    assert "javascript" in answer.headers["content-type"]
    plain = await client_of(dist).get(
        "/assets/index-abc.js", headers={"Accept-Encoding": "identity"}
    )
    assert "content-encoding" not in plain.headers


@pytest.mark.parametrize(
    "path", ["/assets/gone.js", "/assets/../secret.txt", "/assets/%2e%2e/secret.txt"]
)
async def test_a_missing_asset_is_not_found_rather_than_a_page(dist: Path, path: str) -> None:
    answer = await client_of(dist).get(path, headers=BROWSER)
    assert answer.status_code == 404
    assert "<" not in answer.text


async def test_without_a_build_the_page_says_how_to_make_one(tmp_path: Path) -> None:
    answer = await client_of(tmp_path).get("/", headers=BROWSER)
    assert answer.status_code == 503
    assert "make ui" in answer.text


async def test_every_page_of_the_ui_is_one_the_server_knows() -> None:
    paths = re.findall(r"path: '/([\w-]*)", ROUTER.read_text(encoding="utf-8"))
    assert set(paths) == PLACES
