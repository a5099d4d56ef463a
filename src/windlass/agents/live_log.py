"""An agent at work as lines of its attempt's log: what it thinks, says and calls, as it happens."""

from collections.abc import AsyncIterable

import msgspec
from pydantic_ai import RunContext
from pydantic_ai.messages import (
    AgentStreamEvent,
    OutputToolResultEvent,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallEvent,
    ToolResultEvent,
)

from windlass.agents.attempt import AgentAttempt
from windlass.worker.context import Context

_LINE_CHARS = 160
"""A line that has grown so long is shown before the model ends it."""
_SHOWN_CHARS = 400


class LiveLog:
    """Turns pieces of words into lines."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._line = ""
        self._thinking = False

    async def follow(
        self, _ctx: RunContext[AgentAttempt], events: AsyncIterable[AgentStreamEvent]
    ) -> None:
        """Write down everything a model and its tools do in one step."""
        async for event in events:
            self.note(event)
        self.flush()

    def note(self, event: AgentStreamEvent) -> None:
        match event:
            case PartStartEvent(part=TextPart(content=text)):
                self._begin(text, thinking=False)
            case PartStartEvent(part=ThinkingPart(content=text)):
                self._begin(text, thinking=True)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                self._add(text)
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text))):
                self._add(text)
            case PartEndEvent():
                self.flush()
            case ToolCallEvent(part=part):
                self._write(f"→ {part.tool_name} {short(part.args)}")
            case OutputToolResultEvent(part=part) if part.outcome == "success":
                pass  # the answer itself is what comes of it
            case ToolResultEvent(part=part):
                self._write(f"← {part.tool_name} {short(part.content)}")
            case _:
                pass

    def flush(self) -> None:
        """Show what stands on the last line."""
        if self._line.strip():
            self._write(f"… {self._line.rstrip()}" if self._thinking else self._line.rstrip())
        self._line = ""

    def _begin(self, text: str, *, thinking: bool) -> None:
        self.flush()
        self._thinking = thinking
        self._add(text)

    def _add(self, text: str) -> None:
        *ended, rest = text.split("\n")
        for part in ended:
            self._line += part
            self.flush()
        self._line += rest
        if len(self._line) > _LINE_CHARS and self._line[-1:].isspace():
            self.flush()

    def _write(self, line: str) -> None:
        self._context.log(line)


def short(value: object) -> str:
    """A value in one line that fits."""
    if isinstance(value, str):
        text = value
    else:
        try:
            text = msgspec.json.encode(value).decode()
        except (TypeError, ValueError):
            text = str(value)
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
