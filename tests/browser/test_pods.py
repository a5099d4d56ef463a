"""The page of pods, on a server with a Pod API server and on one without."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.seed import seed_pods
from tests.browser.test_pages import barriers
from tests.integration.pods import Cluster
from windlass.testing.kube import KubeServer, kinds
from windlass.testing.loopback import free_port
from windlass.testing.processes import ServerProcess, started, wait_until

pytestmark = pytest.mark.browser

FITS = "document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A server anybody may use that launches pods."""
    port = free_port()
    with KubeServer() as kube:
        kube.objects.create("namespaces", {"metadata": {"name": "team-a"}})
        at = ("--kube-url", kube.url, "--kube-server-url", f"http://127.0.0.1:{port}")
        often = ("--kube-sync-s", "0.3", "--kube-unschedulable-s", "600")
        db = f"sqlite:///{tmp_path / 'w.db'}"
        server = ServerProcess(db, "--no-auth", *at, *often, port=port, log=tmp_path / "log")
        with server:
            found = Cluster(server, kube)
            with found.http:
                yield found


def row_of(name: str) -> str:
    return f"[data-pod='{name}']"


def test_pods_are_shown_with_what_they_wait_for_say_and_failed_with(
    cluster: Cluster, page: Page
) -> None:
    runs = seed_pods(cluster)
    names = {kind: cluster.attempts(run)[0]["externalRef"] for kind, run in runs.items()}
    names = {kind: ref.split("/")[1] for kind, ref in names.items()}
    page.goto(f"{cluster.server.url}/pods")
    waits, works = (page.locator(row_of(names[kind])) for kind in ("waits", "works"))
    expect(waits).to_contain_text("0/3 nodes are available")
    expect(waits).to_contain_text("team-a")
    expect(waits).to_contain_text("render:2")
    expect(works).to_contain_text("counting rows")
    expect(works.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "42")
    expect(page.locator(row_of(names["fails"]))).to_have_count(0)
    assert not barriers(page, "pods")

    # It moves while one looks.
    cluster.begin(runs["waits"])
    expect(waits).to_contain_text("running")

    page.locator("[data-namespace='team-a'] button").click()
    expect(page).to_have_url(f"{cluster.server.url}/pods?namespace=team-a")
    expect(works).to_have_count(0)
    page.goto(f"{cluster.server.url}/pods")
    page.get_by_label("Status").select_option("failed")
    failed = page.locator(row_of(names["fails"]))
    expect(failed).to_contain_text("Out of memory")
    page.get_by_label("Find a pod").fill("no such thing")
    expect(page.get_by_text("No pod fits the filter.")).to_be_visible()
    page.get_by_role("button", name="Clear the filter").click()
    expect(works).to_be_visible()

    works.get_by_role("link", name=names["works"]).click()
    detail = page.get_by_role("complementary", name="Pod")
    detail.get_by_role("link", name="work #1").click()
    expect(page).to_have_url(re.compile(f"/runs/{runs['works']}.*tab=attempts.*attempt=1"))
    expect(page.locator("code", has_text=f"default/{names['works']}")).to_be_visible()


def test_a_pod_tells_what_happened_to_it_and_what_it_waits_for(
    cluster: Cluster, page: Page
) -> None:
    runs = seed_pods(cluster)
    attempts = {kind: cluster.attempts(run)[0] for kind, run in runs.items()}
    name = attempts["waits"]["externalRef"].split("/")[1]
    page.goto(f"{cluster.server.url}/pods")
    page.locator(row_of(name)).get_by_role("link", name=name).click()
    detail = page.get_by_role("complementary", name="Pod")
    expect(detail.get_by_text("Made in the cluster")).to_be_visible()
    waits = detail.locator("[data-pod-event=waits]")
    expect(waits.last).to_contain_text("waits for a node: 0/3 nodes are available")
    expect(detail.get_by_text("no node yet")).to_be_visible()
    cluster.kube.events.tell("team-a", name, "FailedMount", "no such volume", count=4)
    fuller = kinds.condition("PodScheduled", kinds.now(), "False", "Unschedulable", message="0/4")
    cluster.set(cluster.pod(runs["waits"]), {"conditions": [fuller]})
    mounted = detail.locator("[data-kubernetes-event=FailedMount]")
    expect(mounted).to_contain_text("4", timeout=15_000)
    expect(mounted).to_contain_text("no such volume")
    assert not barriers(page, "a pod")
    # It moves while one looks, and what it waited for stays in its story.
    cluster.begin(runs["waits"], "n7")
    expect(detail.locator("[data-pod-event=runs]")).to_contain_text("on n7")
    expect(waits.last).to_be_visible()
    page.keyboard.press("Escape")
    expect(detail).to_have_count(0)

    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{cluster.server.url}/pods?state=all&id={attempts['fails']['id']}")
    ended = detail.locator("[data-pod-event=ended]")
    expect(ended).to_contain_text("Out of memory")
    expect(ended).to_contain_text("exit code 137")
    assert page.evaluate(FITS)
    page.goto(f"{cluster.server.url}/pods?id=00000000-0000-7000-8000-000000000000~a.0@1")
    expect(page.get_by_text("There is no such pod.")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_fits_a_phone_in_chinese(cluster: Cluster, browser: Browser, theme: str) -> None:
    seed_pods(cluster)
    prefs = json.dumps({"theme": theme, "language": "zh"})
    context = browser.new_context(viewport={"width": 390, "height": 844}, locale="zh-CN")
    context.add_init_script(f"localStorage.setItem('windlass.prefs', '{prefs}')")
    page = context.new_page()
    page.goto(f"{cluster.server.url}/pods?state=all")
    expect(page.locator("[data-pod]")).to_have_count(3)
    expect(page.get_by_text("内存不足").first).to_be_visible()
    assert page.evaluate(FITS)
    table = page.get_by_role("group", name="Pod", exact=True)
    assert table.evaluate("box => box.scrollWidth <= box.clientWidth"), "the table scrolls sideways"
    assert not barriers(page, f"pods {theme}")
    context.close()


def test_without_a_cluster_the_page_says_how_to_get_one(
    context: BrowserContext, tmp_path: Path
) -> None:
    server = ServerProcess(f"sqlite:///{tmp_path / 'w.db'}", "--no-auth", log=tmp_path / "log")
    with started(server), KubeServer() as kube:
        page = context.new_page()
        page.goto(f"{server.url}/pods")
        expect(page.get_by_text("windlass server --kubeconfig")).to_be_visible()
        expect(page.locator("[data-no-launcher]")).to_have_count(0)
        cluster = Cluster(server, kube)
        with cluster.http:
            cluster.start()
            wait_until(lambda: cluster.http.get("/api/v1/pods").json()["queued"] == 1)
        expect(page.locator("[data-no-launcher]")).to_contain_text("Tasks that wait for a pod: 1")


def test_with_a_cluster_and_no_pod_the_page_names_the_example(cluster: Cluster, page: Page) -> None:
    page.goto(f"{cluster.server.url}/pods")
    expect(page.get_by_text("examples/pods/report.yaml")).to_be_visible()
    page.get_by_label("Status").select_option("all")
    expect(page.get_by_text("No pod fits the filter.")).to_be_visible()
