"""A part an agent can play: what it is told, how it may end, and what its end means."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic_ai import ModelRetry, StructuredDict, ToolOutput

from windlass.agents.attempt import AgentAttempt
from windlass.model.questions import read_request

Check = Callable[[AgentAttempt, dict[str, Any]], Any]
"""The answer from what a final tool was called with; raises ModelRetry with all that is wrong."""


@dataclass(frozen=True, slots=True)
class FinalTool:
    """A tool that ends the attempt with an answer."""

    name: str
    description: str
    properties: dict[str, Any]
    required: tuple[str, ...]
    check: Check

    def output(self) -> ToolOutput[dict[str, Any]]:
        # The schema tells the model what is there; the contract's own readers judge what it says.
        schema = {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
        }
        shape = StructuredDict(schema, name=self.name, description=self.description)
        return ToolOutput(shape, name=self.name, description=self.description, strict=False)


@dataclass(frozen=True, slots=True)
class Part:
    """Planning, working or judging."""

    instructions: str
    finals: tuple[FinalTool, ...]

    def check(self, attempt: AgentAttempt, name: str | None, given: dict[str, Any]) -> Any:
        """What a call of a final tool comes to."""
        final = next((each for each in self.finals if each.name == name), self.finals[0])
        return final.check(attempt, given)


def text(description: str, *words: str) -> dict[str, Any]:
    """The schema of a text; of one of some words."""
    found: dict[str, Any] = {"type": "string", "description": description}
    return {**found, "enum": list(words)} if words else found


_OPTION = {
    "type": "object",
    "properties": {"id": text("short"), "label": text("what a person reads")},
    "required": ["id", "label"],
}
QUESTION: dict[str, Any] = {
    "question": text("what only a person can decide, with all they need to know for it"),
    "options": {"type": "array", "items": _OPTION, "description": "none: answered in words"},
    "timeout_seconds": {"type": "number", "description": "0: wait for as long as it takes"},
    "default_action": {
        "type": "object",
        "description": 'the answer if time runs out: {"mode": "select_option", "option_id": "…"}',
    },
    "blocks_run": {"type": "boolean", "description": "whether everything else has to wait too"},
}
_FREE = {"id": "words", "label": "in your own words", "kind": "freeform"}


def question(given: dict[str, Any]) -> dict[str, Any]:
    """A checkpoint from what `ask_human` was called with."""
    checkpoint = {**given, "options": given.get("options") or [_FREE]}
    read = read_request(checkpoint)
    if isinstance(read, str):
        raise ModelRetry(f"{read}; ask again")
    return checkpoint
