"""The nodes: open a page, click on it. Pages stay open between the tasks of a run."""

import asyncio
from typing import Any

from playwright.async_api import Error, Locator
from playwright.async_api import TimeoutError as TookTooLong
from worker.agent.runner import ExecutionContext

from crawlerx_playwright.browser import CHROMIUM, Chromium, Session

PAGE_TYPE = "browser_page"
IDLE_S = 300.0


class PlaywrightAdapter:
    """Made once in its process, so all nodes share one browser."""

    def __init__(self) -> None:
        self._chromium = Chromium()

    async def open_page(self, context: ExecutionContext) -> dict[str, Any]:
        params = context.params
        executable = context.config.get("executablePath", CHROMIUM)
        session = await self._chromium.open(executable)
        try:
            await session.page.goto(
                params["url"],
                wait_until=params.get("waitFor", "domcontentloaded"),
                timeout=params.get("timeoutMs", 30000),
            )
            shown = {"url": session.page.url, "title": await session.page.title()}
        except Error as error:
            await self._chromium.close(session)
            return _failed("E.PLAYWRIGHT.NAVIGATION", error)
        except BaseException:
            await self._chromium.close(session)
            raise
        handle = context.resource_registry.put_object(
            session,
            resource_type=PAGE_TYPE,
            metadata=shown,
            ttl_s=float(context.config.get("idleSeconds", IDLE_S)),
            close=self._chromium.close,
        )
        page = {**shown, "resourceRef": handle.ref}
        return {
            "status": "succeeded",
            "outputs": {"status": "SUCCEEDED", "page": page, "done": True},
            "artifacts": [context.resource_registry.to_artifact_descriptor(handle.resource_id)],
        }

    async def click(self, context: ExecutionContext) -> dict[str, Any]:
        params = context.params
        session = _session(context)
        timeout = params.get("timeoutMs", 30000)
        target = session.page.locator(params["selector"]).first
        try:
            await _wait(target, params.get("waitFor", "visible"), timeout)
            await asyncio.sleep(params.get("delay", 0) / 1000)
            await target.click(button=params.get("button", "left"), timeout=timeout)
            await session.page.wait_for_load_state("domcontentloaded", timeout=timeout)
            shown = {"url": session.page.url, "title": await session.page.title()}
        except TookTooLong as error:
            return _failed("E.PLAYWRIGHT.TIMEOUT", error)
        except Error as error:
            return _failed("E.PLAYWRIGHT.CLICK", error)
        metadata = {**shown, "selector": params["selector"], "button": params.get("button", "left")}
        return {
            "status": "succeeded",
            "outputs": {"status": "SUCCEEDED", "done": True, "metadata": metadata},
        }


def _session(context: ExecutionContext) -> Session:
    """The page the parameters name, or else the one this run opened last."""
    registry = context.resource_registry
    ref = (context.params.get("page") or {}).get("resourceRef") or {}
    resource_id = ref.get("resourceId")
    if resource_id is None:
        opened = registry.list(scope=context.run_id, resource_type=PAGE_TYPE)
        if not opened:
            raise LookupError("this run has no open page; connect one, or open one first")
        resource_id = opened[-1].resource_id
    session: Session = registry.get_object(resource_id)
    return session


async def _wait(target: Locator, state: str, timeout_ms: float) -> None:
    if state in ("visible", "attached"):
        await target.wait_for(state=state, timeout=timeout_ms)
        return
    element = await target.element_handle(timeout=timeout_ms)
    await element.wait_for_element_state(state, timeout=timeout_ms)


def _failed(code: str, error: Error) -> dict[str, Any]:
    return {"status": "failed", "error": {"code": code, "message": error.message}}
