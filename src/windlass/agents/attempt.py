"""One attempt of an agent: what its tools and the checks of its answer know of it."""

from dataclasses import dataclass, field
from typing import Any

from windlass.model.values import is_object
from windlass.worker.context import Context


@dataclass(slots=True)
class AgentAttempt:
    """The brief it was given, and what it has gathered so far."""

    context: Context
    input: Any
    artifacts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    approvals: list[str] = field(default_factory=list[str])
    """Tokens of approvals that nobody has used yet, the newest last."""

    @property
    def brief(self) -> dict[str, Any]:
        """Its input, where that is a brief; a node of a flow may hand over any value instead."""
        return self.input if self.is_briefed else {}

    @property
    def is_briefed(self) -> bool:
        return is_object(self.input) and "role" in self.input and "task" in self.input
