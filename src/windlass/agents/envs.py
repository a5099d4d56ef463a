"""An attempt's environment as tools: commands and files in a container, pages in a browser."""

from collections.abc import Iterable
from typing import Any

from windlass.agents.attempt import AgentAttempt
from windlass.agents.effects import AgentTool
from windlass.model.ledger import EffectClass
from windlass.worker.envs import Env

_TEXT_MAX = 20_000


class EnvTools:
    """For attempts that have a place of their own."""

    def tools(self, attempt: AgentAttempt) -> Iterable[AgentTool]:
        context = attempt.context
        if not context.has_env:
            return []
        return (
            browser_tools(context.env) if context.env.kind == "browser" else box_tools(context.env)
        )


def box_tools(env: Env) -> list[AgentTool]:
    def env_run(command: str, timeout_s: float = 60.0) -> dict[str, Any]:
        """Run a shell command in your own container; its files stay until you finish."""
        done = env.exec(command, timeout_s=timeout_s)
        told = {"code": done.code, "out": done.out[:_TEXT_MAX], "err": done.err[:_TEXT_MAX]}
        return {**told, "timed_out": True} if done.timed_out else told

    def env_read(path: str) -> str:
        """Read a text file of your container."""
        return env.read(path).decode(errors="replace")[:_TEXT_MAX]

    def env_write(path: str, text: str) -> str:
        """Write a text file in your container, whole."""
        env.write(path, text)
        return f"{path}: {len(text)} characters"

    return [
        AgentTool("env_run", env_run, EffectClass.LOCAL_MUTATION),
        AgentTool("env_read", env_read, EffectClass.LOCAL_READ),
        AgentTool("env_write", env_write, EffectClass.LOCAL_MUTATION),
    ]


def browser_tools(env: Env) -> list[AgentTool]:
    async def browser_open(url: str) -> dict[str, str]:
        """Go to an address in your own browser; returns the page's title and text."""
        async with env.browser() as page:
            await page.goto(url)
            return await _told(page)

    async def browser_read() -> dict[str, str]:
        """The title, address and text of the page your browser shows."""
        async with env.browser() as page:
            return await _told(page)

    async def browser_click(selector: str) -> dict[str, str]:
        """Click what a CSS selector names; returns the page as it is then."""
        async with env.browser() as page:
            await page.click(selector)
            return await _told(page)

    async def browser_fill(selector: str, text: str) -> str:
        """Fill the field that a CSS selector names."""
        async with env.browser() as page:
            await page.fill(selector, text)
        return "filled"

    return [
        AgentTool("browser_open", browser_open, EffectClass.EXTERNAL_READ),
        AgentTool("browser_read", browser_read, EffectClass.LOCAL_READ),
        AgentTool("browser_click", browser_click, EffectClass.EXTERNAL_WRITE),
        AgentTool("browser_fill", browser_fill, EffectClass.LOCAL_MUTATION),
    ]


async def _told(page: Any) -> dict[str, str]:
    text = await page.inner_text("body")
    return {"title": await page.title(), "url": page.url, "text": text[:_TEXT_MAX]}
