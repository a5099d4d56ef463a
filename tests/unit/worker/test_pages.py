"""Pages of leased browsers: while a worker runs, one Playwright drives them all."""

from types import SimpleNamespace
from typing import Any

import pytest

from windlass.worker.adapters.host.pages import BrowserPage, driver_kept

pytestmark = pytest.mark.anyio


class Api:
    """Playwright, as far as a page needs it: how often it was started and stopped."""

    def __init__(self) -> None:
        self.started = 0
        self.stopped = 0
        self.closed = 0
        self.error: Exception | None = None
        self.chromium = self

    def async_playwright(self) -> "Api":
        return self

    async def start(self) -> "Api":
        self.started += 1
        return self

    async def stop(self) -> None:
        self.stopped += 1

    async def connect_over_cdp(self, endpoint: str) -> Any:
        if self.error is not None:
            raise self.error
        return SimpleNamespace(contexts=[SimpleNamespace(pages=[endpoint])], close=self.close)

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    made = Api()
    monkeypatch.setattr(BrowserPage, "_api", lambda page, name: made)
    return made


def page() -> BrowserPage:
    return BrowserPage(lambda: "ws://here", RuntimeError)


async def test_pages_of_a_worker_share_what_drives_them(api: Api) -> None:
    async with driver_kept():
        async with page() as one, page() as other:
            assert (one, other) == ("ws://here", "ws://here")
        async with page():
            pass
        assert (api.started, api.stopped, api.closed) == (1, 0, 3)
    assert api.stopped == 1


async def test_a_page_on_its_own_leaves_nothing_running(api: Api) -> None:
    async with page():
        assert api.started == 1
    assert (api.stopped, api.closed) == (1, 1)


async def test_after_a_connection_that_failed_the_next_page_has_another_driver(api: Api) -> None:
    async with driver_kept():
        async with page():
            api.error = OSError("the driver has died")
            with pytest.raises(OSError, match="died"):
                await page().__aenter__()
            assert api.stopped == 0, "somebody else may still be driven by it"
        assert api.stopped == 1
        api.error = None
        async with page():
            assert api.started == 2
    assert api.stopped == 2
