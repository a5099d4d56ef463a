"""`make dev` on a machine without podman and Chromium: it starts, and says how to get them."""

import os
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import BrowserContext, expect

from windlass.testing.loopback import free_port
from windlass.testing.processes import Process, wait_until

pytestmark = pytest.mark.browser


def test_what_is_missing_is_shown_with_how_to_get_it(
    context: BrowserContext, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    bare = {**os.environ, "PATH": "/nonexistent", "HOME": str(tmp_path)}
    words = ("dev", "--port", url.rpartition(":")[2], "--no-example")
    db = ("--db", f"sqlite:///{tmp_path / 'w.db'}")
    with Process(*words, *db, env=bare, log=tmp_path / "log"):
        wait_until(lambda: is_ready(url))
        page = context.new_page()
        page.goto(f"{url}/environments")
        told = page.locator("main")
        for words_of in ("podman", "Chromium", "env-docker", "env-browser", "windlass env-host"):
            expect(told).to_contain_text(re.compile(re.escape(words_of)))
        page.evaluate("localStorage.setItem('windlass.prefs', '{\"language\": \"zh\"}')")
        page.reload()
        missing = page.locator("[data-missing=container]")
        expect(missing).to_contain_text("请安装 podman 或 Docker")
        expect(missing).not_to_contain_text("install")
        body = {"name": "box", "kind": "container", "config": {"image": "x"}}
        refused = httpx.post(f"{url}/api/v1/envs/resources", json=body)
        assert refused.status_code == 503
        assert "install podman" in refused.json()["detail"]


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code == 200
    except httpx.HTTPError:
        return False
