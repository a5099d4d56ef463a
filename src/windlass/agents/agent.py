"""An agent: one profile's model, thinking about one attempt at a time until it has an answer."""

import logging
from collections.abc import Sequence
from typing import Any

import msgspec
from pydantic_ai import Agent, RunContext
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from windlass.agents.approvals import approvals_in
from windlass.agents.attempt import AgentAttempt
from windlass.agents.failures import AgentFailure, meaning_of
from windlass.agents.live_log import LiveLog
from windlass.agents.parts import Part
from windlass.agents.planner import PLANNER
from windlass.agents.settings import AgentSettings
from windlass.agents.tools import ToolSource, toolset
from windlass.agents.usage import accounted
from windlass.agents.verifier import VERIFIER
from windlass.agents.worker import CALLED, WORKER
from windlass.worker.context import Context
from windlass.worker.errors import ServiceError

log = logging.getLogger(__name__)

RETRIES = 3
"""How often a model may mend the same answer, or the same call of a tool."""


class ProfileAgent:
    """Plans, works or judges, as each attempt's role asks."""

    def __init__(
        self,
        profile: str,
        model: Model,
        settings: AgentSettings,
        sources: Sequence[ToolSource] = (),
    ) -> None:
        self.profile = profile
        self._model = model
        self._settings = settings
        self._sources = sources
        self._agents = {id(part): self._agent(part) for part in (PLANNER, WORKER, CALLED, VERIFIER)}

    async def serve(self, ctx: Context, input: Any) -> Any:  # noqa: A002  the binder's names
        """One attempt: a brief in, an answer out."""
        attempt = AgentAttempt(ctx, input)
        part = part_of(attempt)
        with accounted(ctx, self._settings.price(self.profile)) as used:
            try:
                answer = await self._think(attempt, part, used)
            except AgentRunError as error:
                failure = meaning_of(error)
                ctx.log(str(failure))
                if part is WORKER and isinstance(failure, AgentFailure):
                    return _failed(attempt, failure)
                raise failure from error
        return _value(answer) if part is CALLED else answer

    async def _think(self, attempt: AgentAttempt, part: Part, used: Any) -> Any:
        tools = toolset(attempt, self._settings.tools, self._sources)
        brief = msgspec.json.encode(attempt.input).decode()
        attempt.approvals = approvals_in(brief)
        ended = await self._agents[id(part)].run(
            brief,
            deps=attempt,
            usage=used,
            usage_limits=UsageLimits(request_limit=self._settings.steps_max),
            # A planner hands in a plan and does nothing else.
            toolsets=[] if part is PLANNER else [tools],
            event_stream_handler=LiveLog(attempt.context).follow,
        )
        return ended.output

    def _agent(self, part: Part) -> Agent[AgentAttempt, Any]:
        agent = Agent[AgentAttempt, Any](
            self._model,
            name=self.profile,
            deps_type=AgentAttempt,
            instructions=part.instructions,
            output_type=[final.output() for final in part.finals],
            retries=RETRIES,
            # A busy model is the run's to wait for, not this process's.
            model_settings=ModelSettings(request_timeout=self._settings.timeout_s, max_retries=0),
        )

        @agent.output_validator
        def check(ctx: RunContext[AgentAttempt], given: Any) -> Any:
            return part.check(ctx.deps, ctx.tool_name, given)

        return agent


def part_of(attempt: AgentAttempt) -> Part:
    """What an attempt asks for, whatever profile it came to."""
    match attempt.context.role:
        case "plan":
            return PLANNER
        case "verify":
            return VERIFIER
        case _:
            return WORKER if attempt.is_briefed else CALLED


def _failed(attempt: AgentAttempt, failure: AgentFailure) -> dict[str, Any]:
    return {
        "status": "failed",
        "summary": failure.message,
        "failure_class": failure.failure_class,
        "structured_output": None,
        "artifacts": attempt.artifacts,
    }


def _value(answer: dict[str, Any]) -> Any:
    """A flow's node takes any value for its result, so a failure has to be said as one."""
    if answer.get("status") == "failed":
        raise ServiceError(str(answer.get("summary") or "the agent gave up"))
    return answer.get("structured_output")
