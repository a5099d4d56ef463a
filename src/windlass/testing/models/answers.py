"""A line of a script as a chat completion: whole, or as the chunks of a stream."""

from collections.abc import Iterator
from typing import Any

import msgspec

from windlass.testing.models.script import Line

_CREATED = 1_700_000_000


def whole(line: Line, model: str, number: int) -> dict[str, Any]:
    """The answer in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": line.text or None}
    if line.thinking:
        message["reasoning_content"] = line.thinking
    if line.refusal:
        message["refusal"] = line.refusal
    if line.calls:
        message["tool_calls"] = _calls(line, number)
    choice = {"index": 0, "message": message, "finish_reason": _reason(line)}
    return {**_head("chat.completion", model, number), "choices": [choice], "usage": _usage(line)}


def chunks(line: Line, model: str, number: int) -> Iterator[bytes]:
    """The answer as server-sent events. One that is cut breaks where its words should begin."""
    head = _head("chat.completion.chunk", model, number)

    def event(delta: dict[str, Any], reason: str | None = None) -> bytes:
        return _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield event({"role": "assistant", "content": ""})
    if line.cut:
        raise ConnectionAbortedError("the script cuts this answer")
    for word in _words(line.thinking):
        yield event({"reasoning_content": word})
    for word in _words(line.text):
        yield event({"content": word})
    if line.refusal:
        yield event({"refusal": line.refusal})
    for at, call in enumerate(_calls(line, number)):
        yield event({"tool_calls": [{"index": at, **call}]})
    yield event({}, _reason(line))
    yield _event({**head, "choices": [], "usage": _usage(line)})
    yield b"data: [DONE]\n\n"


def _head(kind: str, model: str, number: int) -> dict[str, Any]:
    return {"id": f"scripted-{number}", "object": kind, "created": _CREATED, "model": model}


def _calls(line: Line, number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{number}_{at}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.text},
        }
        for at, call in enumerate(line.calls)
    ]


def _reason(line: Line) -> str:
    return "tool_calls" if line.calls else "stop"


def _usage(line: Line) -> dict[str, int]:
    asked, said = line.tokens
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def _words(text: str) -> Iterator[str]:
    """Pieces as a model streams them: each word with the blanks after it."""
    start = 0
    for at in range(1, len(text)):
        if text[at - 1].isspace() and not text[at].isspace():
            yield text[start:at]
            start = at
    if text:
        yield text[start:]


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
