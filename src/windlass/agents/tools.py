"""The tools of an attempt, and the one place through which every call of them goes.

`finish` and `ask_human` are not here: they are the answer itself, and are kept on the attempt.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic_ai import ModelRetry, RunContext, Tool
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, WrapperToolset
from pydantic_ai.toolsets.abstract import ToolsetTool

from windlass.agents.artifacts import artifact_tool
from windlass.agents.attempt import AgentAttempt
from windlass.agents.effects import AgentTool
from windlass.model.ledger import EffectClass
from windlass.worker.errors import ActionRefused, Cancelled, ServiceError

log = logging.getLogger(__name__)


class ToolSource(Protocol):
    """Where an attempt's further tools come from: its environment, the blackboard."""

    def tools(self, attempt: AgentAttempt) -> Iterable[AgentTool]: ...


@dataclass
class GuardedTools(WrapperToolset[AgentAttempt]):
    """Lets only tools with an effect class be called, each as an action of the ledger."""

    effects: Mapping[str, EffectClass] = field(default_factory=dict[str, EffectClass])

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[AgentAttempt],
        tool: ToolsetTool[AgentAttempt],
    ) -> Any:
        effect = self.effects.get(name)
        if effect is None:
            raise ToolFailed(f'refused by policy: nobody says what "{name}" does')
        attempt = ctx.deps
        token = ""
        if effect is EffectClass.IRREVERSIBLE and attempt.approvals:
            token = attempt.approvals.pop()
        try:
            async with attempt.context.action(
                name, effect, input=tool_args, approval=token
            ) as action:
                action.output = await self._called(name, tool_args, ctx, tool)
                return action.output
        except ActionRefused as error:
            raise ToolFailed(f"refused by policy: {error}") from error

    async def _called(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[AgentAttempt],
        tool: ToolsetTool[AgentAttempt],
    ) -> Any:
        """What a tool returns; what it raises is for the model, unless it is about the attempt."""
        try:
            return await self.wrapped.call_tool(name, tool_args, ctx, tool)
        except (ModelRetry, ToolFailed, ServiceError, Cancelled):
            raise
        except ValueError as error:
            # What a tool says of its arguments is for the model, which may try others.
            raise ModelRetry(str(error)) from error
        except Exception as error:
            log.warning('tool "%s" of attempt %s failed', name, ctx.deps.context.attempt_id)
            raise ToolFailed(f"{type(error).__name__}: {error}") from error


def toolset(
    attempt: AgentAttempt, own: Iterable[AgentTool], sources: Iterable[ToolSource]
) -> AbstractToolset[AgentAttempt]:
    """Everything an attempt's model may call."""
    offered = [artifact_tool(attempt), *own]
    for source in sources:
        offered += source.tools(attempt)
    functions = FunctionToolset[AgentAttempt](
        [Tool[AgentAttempt](each.function, name=each.name) for each in offered]
    )
    return GuardedTools(functions, {each.name: each.effect for each in offered})
