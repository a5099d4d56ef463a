"""Takes the pictures of docs/screenshots: every page, both themes, wide and narrow, and in Chinese.

Starts a server with something to see on every page (the one the browser tests look at), opens each
page in Chromium and keeps what it shows. Without an option all pictures are taken anew; names of
pages take only those. Look at what it took before you commit it.
"""

import base64
import json
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser.conftest import ARGS, CHROMIUM, Fleet, Site  # noqa: E402
from tests.browser.seed import seed, seed_pods  # noqa: E402
from tests.integration.pods import Cluster  # noqa: E402
from windlass.testing.kube import KubeServer  # noqa: E402
from windlass.testing.loopback import free_port  # noqa: E402
from windlass.testing.processes import (  # noqa: E402
    ServerProcess,
    started,
    wait_until,
    worker_process,
)

SHOTS = ROOT / "docs" / "screenshots"
PAGE = ROOT / "docs" / "guides" / "screenshots.md"
SIZES = {1440: 900, 1024: 768, 390: 844}
QUALITY = 60


@contextmanager
def filled_site() -> Generator[tuple[str, dict[str, str]]]:
    """A server with something on every page: its address, and the pages by name."""
    with tempfile.TemporaryDirectory() as made, KubeServer() as kube:
        folder = Path(made)
        log = folder / "processes.log"
        store = f"sqlite:///{folder / 'windlass.db'}"
        port = free_port()
        pods = ("--kube-url", kube.url, "--kube-server-url", f"http://127.0.0.1:{port}")
        often = ("--lease-s", "3", "--kube-sync-s", "0.3", "--kube-unschedulable-s", "600")
        server = ServerProcess(store, "--no-auth", "--env-noop", *often, *pods, port=port, log=log)
        worker = worker_process("builtin", server.url, "pull", "--id", "w-one", log=log)
        with started(server, worker):
            site = Site(server, worker)
            wait_until(lambda: site.http.get("/api/v1/workers").json()["items"])
            fleet = Fleet(site, folder)
            with started(*fleet.workers.values()):
                for name in fleet.workers:
                    fleet.wait(name, "online")
                pages = seed(site, fleet)
                kube.objects.create("namespaces", {"metadata": {"name": "team-a"}})
                cluster = Cluster(server, kube)
                [pod] = cluster.attempts(seed_pods(cluster)["waits"])
                pages |= {"pods": "/pods?state=all", "pod": f"/pods?state=all&id={pod['id']}"}
                yield site.url, pages
            site.http.close()


def take(page: Page, name: str) -> None:
    """WebP is a quarter of a PNG; the driver cannot write it, the browser can."""
    session: Any = page.context.new_cdp_session(page)
    shot: dict[str, str] = session.send(
        "Page.captureScreenshot", {"format": "webp", "quality": QUALITY}
    )
    (SHOTS / f"{name}.webp").write_bytes(base64.b64decode(shot["data"]))
    session.detach()


def take_all(
    browser: Browser,
    url: str,
    pages: Mapping[str, str],
    theme: str,
    width: int,
    language: str = "en",
) -> None:
    prefs = json.dumps({"theme": theme, "zone": "utc", "language": language})
    mark = "" if language == "en" else f"-{language}"
    context = browser.new_context(
        viewport={"width": width, "height": SIZES[width]},
        locale="en-GB",
        timezone_id="UTC",
        reduced_motion="reduce",
    )
    context.add_init_script(f"localStorage.setItem('windlass.prefs', '{prefs}')")
    page = context.new_page()
    for name, path in pages.items():
        page.goto(url + path)
        page.locator("[data-link=live]").wait_for()
        page.wait_for_timeout(700)
        take(page, f"{name}-{theme}-{width}{mark}")
    context.close()


def has_chinese() -> bool:
    """Whether there is a font with Chinese characters; without one they would all be boxes."""
    found = subprocess.run(
        ["fc-list", ":lang=zh", "file"], capture_output=True, text=True, check=False
    )
    return bool(found.stdout.strip())


def write_page(names: list[str]) -> None:
    """The page of the docs that shows them: each page large, its other shapes as links."""
    lines = [
        "# The web UI in pictures",
        "",
        "Every page, taken by `python tools/screenshots.py`.",
        "",
    ]
    for name in names:
        others = [
            f"[{theme} {width}](../screenshots/{name}-{theme}-{width}.webp)"
            for theme in ("light", "dark")
            for width in SIZES
            if (theme, width) != ("light", 1440)
        ]
        if (SHOTS / f"{name}-light-1440-zh.webp").exists():
            others.append(f"[Chinese](../screenshots/{name}-light-1440-zh.webp)")
        title = name.replace("-", " ").capitalize()
        lines += [f"## {title}", "", f"![{title}](../screenshots/{name}-light-1440.webp)", ""]
        lines += [" · ".join(others), ""]
    PAGE.write_text("\n".join(lines).rstrip() + "\n")


def main(wanted: list[str]) -> None:
    SHOTS.mkdir(exist_ok=True)
    with filled_site() as (url, all_pages), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), chromium_sandbox=False, args=ARGS
        )
        pages = {name: path for name, path in all_pages.items() if name in wanted or not wanted}
        for theme in ("light", "dark"):
            for width in SIZES:
                take_all(browser, url, pages, theme, width)
        if has_chinese():
            take_all(browser, url, pages, "light", 1440, "zh")
        else:
            print("no font has Chinese characters, so there are no pictures in Chinese;")
            print("as an administrator: apt-get install fonts-wqy-zenhei")
        browser.close()
        write_page(list(all_pages))


if __name__ == "__main__":
    main(sys.argv[1:])
