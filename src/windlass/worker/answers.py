"""What handlers of plans answer beyond a value: questions, artifacts, plans and verdicts."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from windlass.model.values import is_list, is_object
from windlass.model.work_answers import is_answer

Brief = dict[str, Any]


class Asked(BaseException):
    """An attempt ends with a question. No mistake of its handler's, so no `except Exception` of it
    may keep the question back."""

    def __init__(self, question: dict[str, Any]) -> None:
        super().__init__(question["question"])
        self.question = question


def brief_in(given: Any) -> Brief | None:
    """The brief that an input is; None for a task that is of no plan."""
    if is_object(given) and given.get("role") and is_object(given.get("run")) and "task" in given:
        return given
    return None


def question_of(
    question: str,
    options: Sequence[str] | Mapping[str, str],
    default: str,
    timeout_s: float,
    *,
    blocks_run: bool,
) -> dict[str, Any]:
    """A question as the kernel reads it. Without options the answer is a text."""
    labels = options if isinstance(options, Mapping) else dict.fromkeys(options, "")
    asked: dict[str, Any] = {
        "question": question,
        "options": [{"id": name, "label": label or name} for name, label in labels.items()],
    }
    if not labels:
        asked["options"] = [{"id": "text", "kind": "freeform", "label": "Answer"}]
    if default:
        chosen = {"mode": "select_option", "option_id": default}
        written = {"mode": "freeform", "freeform_input": default}
        asked["default_action"] = chosen if default in labels else written
    if timeout_s:
        asked["timeout_seconds"] = timeout_s
    if blocks_run:
        asked["blocks_run"] = True
    return asked


def answer_in(brief: Brief, question: str) -> str | None:
    """What somebody answered to a question of an earlier attempt, the newest."""
    for told in reversed(brief.get("answers") or []):
        if told.get("question") == question:
            return str(told.get("option_id") or told.get("freeform_input") or "")
    return None


def waiting(asked: Asked, artifacts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The answer of an attempt that waits for a person; what it has made so far stays with it."""
    return {
        "status": "waiting",
        "summary": f"asks: {asked.question['question']}",
        "artifacts": list(artifacts),
        "checkpoint": asked.question,
    }


def with_artifacts(value: Any, artifacts: Sequence[dict[str, Any]]) -> Any:
    """A result, and what was made on the way."""
    if not artifacts:
        return value
    answer: dict[str, Any] = {"status": "completed", "structured_output": value}
    if is_answer(value):
        answer = value
    more: list[Any] = answer.get("artifacts") or []
    return {**answer, "artifacts": [*artifacts, *more]}


def plan_of(value: Any) -> Any:
    """A planner's answer: a plan, or only its tasks."""
    return {"tasks": value} if is_list(value) else value


def verdict_of(value: Any) -> Any:
    """A verifier's answer: a verdict, yes or no, or what is wrong."""
    if isinstance(value, bool):
        return {"verdict": "accepted" if value else "rejected"}
    if isinstance(value, str):
        return {"verdict": "rejected", "summary": value} if value else {"verdict": "accepted"}
    return value


def shaped(handler: Callable[..., Any], shape: Callable[[Any], Any]) -> Callable[..., Any]:
    """A handler whose results are brought into a shape; it takes what it took before."""
    if inspect.iscoroutinefunction(handler):

        @functools.wraps(handler)
        async def waited(*args: Any, **kwargs: Any) -> Any:
            return shape(await handler(*args, **kwargs))

        return waited

    @functools.wraps(handler)
    def called(*args: Any, **kwargs: Any) -> Any:
        return shape(handler(*args, **kwargs))

    return called
