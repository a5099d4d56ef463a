"""What a worker of a plan's task answers: what it did, or why not, or what it has to ask."""

from typing import Any, TypeGuard

import msgspec

from windlass.model.rows import Json
from windlass.model.values import is_list, is_object

_MARKS = frozenset({"status", "summary", "structured_output"})
_STATUSES = ("completed", "failed", "waiting")
_ARTIFACT = ("kind", "uri", "version", "digest")


class WorkAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """An answer in its full form; it is kept like this as the task's output."""

    status: str = "completed"
    summary: str = ""
    structured_output: Any = None
    artifacts: list[dict[str, Any]] = []
    request_replan: bool = False
    failure_class: str = ""
    terminal_reason: str = ""
    checkpoint: dict[str, Any] | None = None
    child_tasks: list[Any] | None = None
    """The plan to go on with, where the worker knows it: no planner is asked."""

    def json(self) -> Json:
        return msgspec.json.encode(self).decode()


def is_answer(given: Any) -> TypeGuard[dict[str, Any]]:
    """Whether something has the marks of an answer; anything else is itself what came out."""
    return is_object(given) and bool(_MARKS & given.keys())


def read_answer(given: Any) -> WorkAnswer | str:
    """The answer, or what is wrong with it."""
    if not is_answer(given):
        return WorkAnswer(structured_output=given)
    fields = dict(given)
    if "artifact_intents" in fields:
        fields.setdefault("artifacts", fields.pop("artifact_intents"))
    structured: Any = fields.get("structured_output")
    if is_object(structured) and "child_tasks" in structured:
        fields["structured_output"] = {k: v for k, v in structured.items() if k != "child_tasks"}
        fields.setdefault("child_tasks", structured["child_tasks"])
    try:
        answer = msgspec.convert(
            {key: value for key, value in fields.items() if value is not None}, WorkAnswer
        )
    except msgspec.ValidationError as error:
        return f"not an answer: {error}"
    if answer.status not in _STATUSES:
        return f'status "{answer.status:.40}" is none of {", ".join(_STATUSES)}'
    if answer.status == "waiting" and answer.checkpoint is None:
        return "an attempt that waits must say what it asks: checkpoint"
    return _artifact_flaw(answer.artifacts) or answer


def _artifact_flaw(artifacts: Any) -> str:
    for at, artifact in enumerate(artifacts if is_list(artifacts) else ()):
        lacking = [name for name in _ARTIFACT if not isinstance(artifact.get(name), str)]
        if lacking:
            return f"artifacts[{at}] lacks {', '.join(lacking)}"
    return ""


def kept_answer(output: Json | None) -> WorkAnswer:
    """An answer that was taken before."""
    return WorkAnswer() if output is None else msgspec.json.decode(output, type=WorkAnswer)
