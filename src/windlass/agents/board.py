"""The run's blackboard as tools: an agent reads what others let it know, and lets them know."""

from collections.abc import Iterable
from typing import Any

from windlass.agents.attempt import AgentAttempt
from windlass.agents.effects import AgentTool
from windlass.model.ledger import EffectClass

_LISTED_MAX = 100


class BoardTools:
    """For whoever works on a plan; who judges only reads."""

    def tools(self, attempt: AgentAttempt) -> Iterable[AgentTool]:
        if not attempt.is_briefed:
            return []
        context = attempt.context

        def read_board(key: str) -> Any:
            """Read what stands under a key of the run's blackboard; the brief lists some."""
            entry = context.blackboard.get(key)
            return None if entry is None else entry.value

        def list_board(prefix: str = "") -> list[str]:
            """List the keys of the run's blackboard that begin so."""
            return [entry.key for entry in context.blackboard.list(prefix)[:_LISTED_MAX]]

        def write_board(key: str, value: Any) -> int:
            """Let others know something: write it under a key of your own task that begins with
            `progress.`, as in `progress.pages`. Returns the revision."""
            return context.blackboard.put(key, value)

        reads = [
            AgentTool("read_board", read_board, EffectClass.LOCAL_READ),
            AgentTool("list_board", list_board, EffectClass.LOCAL_READ),
        ]
        if context.role == "verify":
            return reads
        return [*reads, AgentTool("write_board", write_board, EffectClass.LOCAL_MUTATION)]
