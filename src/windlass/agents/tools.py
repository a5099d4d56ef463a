"""The tools of an attempt, and the one place through which every call of them goes.

`finish` and `ask_human` are not here: they are the answer itself, and are kept on the attempt.
"""

import logging
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic_ai import ModelRetry, RunContext, Tool
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, WrapperToolset
from pydantic_ai.toolsets.abstract import ToolsetTool

from windlass.agents.artifacts import artifact_tool
from windlass.agents.attempt import AgentAttempt
from windlass.agents.effects import AgentTool, EffectClass
from windlass.worker.errors import Cancelled, ServiceError

log = logging.getLogger(__name__)


class ToolSource(Protocol):
    """Where an attempt's further tools come from: its environment, the blackboard."""

    def tools(self, attempt: AgentAttempt) -> Iterable[AgentTool]: ...


class Ledger(Protocol):
    """Where calls of tools are kept, and where those that cannot be undone are let through."""

    def action(
        self, attempt: AgentAttempt, tool: str, effect: EffectClass, arguments: Mapping[str, Any]
    ) -> AbstractAsyncContextManager[None]:
        """Around one call. Raises `ToolRefused` instead of letting it happen."""
        ...


class ToolRefused(Exception):
    """The call is not allowed; the model is told so and has to do without."""


class NoLedger:
    """Keeps nothing; what cannot be undone is refused, as nobody could have approved it."""

    @asynccontextmanager
    async def action(
        self, attempt: AgentAttempt, tool: str, effect: EffectClass, arguments: Mapping[str, Any]
    ) -> AsyncGenerator[None]:
        if effect is EffectClass.IRREVERSIBLE:
            raise ToolRefused(f'"{tool}" cannot be undone and needs an approval, which nobody gave')
        yield


@dataclass
class GuardedTools(WrapperToolset[AgentAttempt]):
    """Lets only tools with an effect class be called, each as an action of the ledger."""

    effects: Mapping[str, EffectClass] = field(default_factory=dict[str, EffectClass])
    ledger: Ledger = field(default_factory=NoLedger)

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[AgentAttempt],
        tool: ToolsetTool[AgentAttempt],
    ) -> Any:
        effect = self.effects.get(name)
        try:
            if effect is None:
                raise ToolRefused(f'"{name}" is not known to the policy')
            async with self.ledger.action(ctx.deps, name, effect, tool_args):
                return await self.wrapped.call_tool(name, tool_args, ctx, tool)
        except (ModelRetry, ToolFailed, ServiceError, Cancelled):
            raise
        except ToolRefused as error:
            raise ToolFailed(f"refused by policy: {error}") from error
        except ValueError as error:
            # What a tool says of its arguments is for the model, which may try others.
            raise ModelRetry(str(error)) from error
        except Exception as error:
            log.warning('tool "%s" of attempt %s failed', name, ctx.deps.context.attempt_id)
            raise ToolFailed(f"{type(error).__name__}: {error}") from error


def toolset(
    attempt: AgentAttempt,
    own: Iterable[AgentTool],
    sources: Iterable[ToolSource],
    ledger: Ledger,
) -> AbstractToolset[AgentAttempt]:
    """Everything an attempt's model may call."""
    offered = [artifact_tool(attempt), *own]
    for source in sources:
        offered += source.tools(attempt)
    functions = FunctionToolset[AgentAttempt](
        [Tool[AgentAttempt](each.function, name=each.name) for each in offered]
    )
    return GuardedTools(functions, {each.name: each.effect for each in offered}, ledger)
