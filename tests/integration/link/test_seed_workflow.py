"""The seed's two-node browser workflow, from `POST /api/v1/runs` to a click in a real Chromium."""

import copy
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.integration.link.conftest import LinkServer
from tests.integration.link.test_our_worker import PACKAGES, OurWorker, build, publish, working

CHROMIUM = Path("/usr/bin/chromium")
WORKFLOW = Path(__file__).parents[3] / "examples" / "workflows" / "playwright-smoke-check.json"
OPEN = "2b2c3fcb-9c18-4ca2-9b5a-8ad4deb1f164"
CLICK = "8f5dea1f-6a13-4e43-843f-5361c40f8f5a"

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Chromium"),
]

PAGE = b"""<title>Log in</title>
<button id="login-button" onclick="document.title = 'Welcome'">Log in</button>"""


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *args: Any) -> None:
        """Be quiet."""


@pytest.fixture
def url() -> Iterator[str]:
    site = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{site.server_port}/"
    site.shutdown()
    site.server_close()


@pytest.mark.timeout(180)
@pytest.mark.parametrize("lease_s", [10.0])
async def test_the_seeds_workflow_opens_a_page_and_clicks_on_it(
    server: LinkServer, tmp_path: Path, url: str
) -> None:
    archive = build(PACKAGES / "crawlerx_playwright", tmp_path / "browser.cwx")
    await publish(server, archive)
    workflow = copy.deepcopy(json.loads(WORKFLOW.read_text()))
    workflow["nodes"][0]["parameters"]["url"] = url
    async with working(server, OurWorker(server, tmp_path, "browser")):
        run = await server.wait(await server.start(workflow), 60)
        assert run["status"] == "succeeded", run
    nodes = {node["nodeId"]: node for node in run["nodes"]}
    page = nodes[OPEN]["result"]["page"]
    assert page["title"] == "Log in"
    assert page["resourceRef"]["workerId"] == "browser"
    clicked = nodes[CLICK]["result"]
    assert clicked["done"] is True
    assert clicked["metadata"]["title"] == "Welcome"  # the click did what the page says it does
    # The page lives where it was opened, so the second node had to go there.
    assert nodes[CLICK]["workerName"] == "browser"
