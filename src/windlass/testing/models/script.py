"""Scripts of models: which line answers which request.

A script is a list of lines. A line says whom it answers (the name of the model, the role and the
alias of the task in the brief, how many answers came before, what the last message contains) and
what: text, calls of tools, a refusal, a status, or nothing for a while. The first line that fits
and has not been used up answers.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
import yaml

from windlass.model.values import is_list, is_object


class ScriptedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call of a tool, as a model makes it."""

    name: str
    arguments: Any = {}
    """A text is sent as it is, so that it may be no JSON at all."""

    @property
    def text(self) -> str:
        if isinstance(self.arguments, str):
            return self.arguments
        return msgspec.json.encode(self.arguments).decode()


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One answer, and whom it is for."""

    model: str = ""
    role: str = ""
    alias: str = ""
    turn: int | None = None
    """How many answers the conversation has had; a line without it answers at any time."""
    contains: str = ""
    """A part of the last message, whoever wrote it."""
    times: int = 1
    """How often it answers; 0: always."""

    text: str = ""
    thinking: str = ""
    calls: list[ScriptedCall] = []
    refusal: str = ""
    status: int = 200
    retry_after_s: float | None = None
    delay_s: float = 0
    """What it waits before it answers; longer than the caller waits makes a time-out."""
    cut: bool = False
    """Whether the line breaks in the middle of the answer."""
    tokens: tuple[int, int] = (100, 20)
    """What the answer is said to have used: of the prompt, and of the answer itself."""


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request, as far as lines look at it."""

    model: str
    role: str
    alias: str
    turn: int
    last: str
    tools: list[str] = []


class Script:
    """The lines that are left."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines = [(line, line.times) for line in lines]
        self.asked: list[Asked] = []
        """Every request so far, in order."""

    def answer(self, asked: Asked) -> Line | None:
        """The line for a request; None where the script has none left for it."""
        self.asked.append(asked)
        for at, (line, left) in enumerate(self._lines):
            if (left or not line.times) and fits(line, asked):
                self._lines[at] = (line, left - 1 if left else 0)
                return line
        return None


def fits(line: Line, asked: Asked) -> bool:
    """Whether a line is meant for a request."""
    names = ((line.model, asked.model), (line.role, asked.role), (line.alias, asked.alias))
    if any(wanted and wanted != found for wanted, found in names):
        return False
    return line.turn in (None, asked.turn) and line.contains in asked.last


def read_script(text: str) -> Script:
    """A script from JSON or YAML; ValueError says what is wrong with it."""
    try:
        return Script(msgspec.convert(yaml.safe_load(text), list[Line]))
    except (msgspec.ValidationError, yaml.YAMLError) as error:
        raise ValueError(f"not a script of models: {error}") from error


def read_request(body: dict[str, Any]) -> Asked:
    """What a chat completion asks for."""
    messages = [item for item in _list(body.get("messages")) if is_object(item)]
    asked_by_user = [item for item in messages if item.get("role") == "user"]
    brief = _brief(_text(asked_by_user[0]) if asked_by_user else "")
    task: Any = brief.get("task")
    return Asked(
        model=str(body.get("model", "")),
        role=str(brief.get("role", "")),
        alias=str(task.get("alias", "")) if is_object(task) else "",
        turn=sum(item.get("role") == "assistant" for item in messages),
        last=_text(messages[-1]) if messages else "",
        tools=[str(item["function"]["name"]) for item in _list(body.get("tools"))],
    )


def _brief(text: str) -> dict[str, Any]:
    try:
        found: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}
    return found if is_object(found) else {}


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if is_list(content):
        return "\n".join(str(part.get("text", "")) for part in content if is_object(part))
    return content if isinstance(content, str) else ""


def _list(value: Any) -> list[Any]:
    return value if is_list(value) else []
