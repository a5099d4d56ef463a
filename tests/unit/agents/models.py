"""A model for tests of agents: a function says what it answers, streamed as a real one does."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingCalls,
    DeltaThinkingPart,
    DeltaToolCall,
    DeltaToolCalls,
    FunctionModel,
)

from windlass.agents.agent import ProfileAgent
from windlass.agents.settings import AgentSettings
from windlass.agents.tools import ToolSource
from windlass.model.errors import Denied, NotFound
from windlass.protocol.blackboard import BoardRead, BoardView, BoardWrite
from windlass.protocol.envs import (
    EnvContent,
    EnvDoor,
    EnvExec,
    EnvExecuted,
    EnvMark,
    EnvRead,
    EnvSnapshotView,
    EnvWrite,
)
from windlass.protocol.exchange import ActionEnd, ActionStart
from windlass.worker.context import Context
from windlass.worker.envs import HearBytes

Say = tuple[str, dict[str, Any] | str]
"""A tool and what it is called with; `text` and `thinking` are words."""
Answer = Callable[[int, str], list[Say]]
"""What to say as the answer of this number to the last message."""

WORK = {"role": "work", "task": {"alias": "a", "goal": "do it"}}
PLAN = {"role": "plan", "task": {"alias": "plan", "goal": "all of it"}, "limits": {}}
VERIFY = {"role": "verify", "task": {"alias": "a"}, "result": {"summary": "done"}}


def model(answer: Answer) -> FunctionModel:
    async def stream(
        messages: list[ModelMessage], _info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls | DeltaThinkingCalls]:
        number = len(messages) // 2
        for at, (name, arguments) in enumerate(answer(number, last_text(messages))):
            if name in ("text", "thinking"):
                for word in str(arguments).split(" "):
                    piece = f"{word} "
                    yield piece if name == "text" else {at: DeltaThinkingPart(content=piece)}
            else:
                text = arguments if isinstance(arguments, str) else json.dumps(arguments)
                yield {at: DeltaToolCall(name, text, tool_call_id=f"c{number}-{at}")}

    return FunctionModel(stream_function=stream)


def last_text(messages: list[ModelMessage]) -> str:
    """What the model was told last."""
    last = messages[-1]
    assert isinstance(last, ModelRequest)
    said: list[str] = []
    for part in last.parts:
        if isinstance(part, ToolReturnPart):
            said.append(part.model_response_str())
        else:
            said.append(str(getattr(part, "content", "")))
    return "\n".join(said)


def board_view(key: str, value: Any) -> BoardView:
    return BoardView(
        key=key,
        revision=1,
        writer="worker",
        writer_id="w",
        attempt_id="",
        deleted=False,
        payload=msgspec.Raw(msgspec.json.encode(value)),
        at=0,
    )


class KeptDesk:
    """Keeps calls of tools in a list; lets one tool be called by nobody."""

    def __init__(self, denied: str = "") -> None:
        self.began: list[ActionStart] = []
        self.ended: list[ActionEnd] = []
        self.board: dict[str, Any] = {}
        self.files: dict[str, bytes] = {}
        self._denied = denied

    def begin(self, start: ActionStart) -> None:
        if start.tool == self._denied:
            raise Denied("it needs an approval")
        self.began.append(start)

    def end(self, end: ActionEnd) -> None:
        self.ended.append(end)

    def write(self, write: BoardWrite) -> int:
        self.board[write.key] = write.payload
        return len(self.board)

    def read(self, read: BoardRead) -> list[BoardView]:
        keys = [read.key] if read.key else [k for k in self.board if k.startswith(read.prefix)]
        if any(key not in self.board for key in keys):
            raise NotFound(f'nothing stands under "{read.key}"')
        return [board_view(key, self.board[key]) for key in keys]

    server = "http://127.0.0.1:1"

    def execute(self, call: EnvExec, hear: HearBytes | None = None) -> EnvExecuted:
        return EnvExecuted(code=0, out=" ".join(call.command).encode(), err=b"")

    def fetch(self, read: EnvRead) -> EnvContent:
        if read.path not in self.files:
            raise NotFound(f'there is no file "{read.path}"')
        return EnvContent(data=self.files[read.path])

    def put(self, write: EnvWrite) -> None:
        self.files[write.path] = write.data

    def photograph(self, mark: EnvMark) -> EnvSnapshotView:
        raise NotImplementedError

    def door(self, mark: EnvMark) -> EnvDoor:
        raise NotImplementedError


def context(
    role: str = "work", desk: KeptDesk | None = None, env: dict[str, Any] | None = None
) -> Context:
    return Context(role=role, desk=desk or KeptDesk(), env=env)


def agent(
    answer: Answer,
    settings: AgentSettings | None = None,
    sources: list[ToolSource] | None = None,
) -> ProfileAgent:
    given = settings or AgentSettings(models={"": "test:test"})
    return ProfileAgent("p", model(answer), given, sources or [])
