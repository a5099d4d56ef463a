"""The part of a worker: a task's brief in, a result out, or a question to a person."""

from typing import Any

from pydantic_ai import ModelRetry

from windlass.agents import prompts
from windlass.agents.attempt import AgentAttempt
from windlass.agents.parts import QUESTION, FinalTool, Part, question, text
from windlass.model.work_answers import read_answer

_RESULT: dict[str, Any] = {
    "status": text("whether the goal was reached", "completed", "failed"),
    "summary": text("what you did and found, in one or two sentences"),
    "structured_output": {"description": "what others build on"},
    "request_replan": {"type": "boolean", "description": "the plan itself has to change"},
    "failure_class": text("of a failure: a word for its kind"),
}


def check_result(attempt: AgentAttempt, given: dict[str, Any]) -> dict[str, Any]:
    """The answer with the artifacts that were added on the way, if the kernel would take it."""
    answer = {"status": "completed", "structured_output": None, **given}
    answer["artifacts"] = [*attempt.artifacts, *(given.get("artifacts") or [])]
    problems = [] if str(given.get("summary") or "").strip() else ["summary: say what you did"]
    unknown = sorted(given.keys() - _RESULT.keys() - {"artifacts", "terminal_reason"})
    problems += [f"{name}: not known here" for name in unknown]
    if answer["status"] == "waiting":
        problems.append("status: call ask_human to wait for a person")
    else:
        read = read_answer(answer)
        problems += [read] if isinstance(read, str) else []
    if problems:
        told = "\n".join(f"- {problem}" for problem in problems)
        raise ModelRetry(f"the result has {len(problems)} problem(s); mend all of them:\n{told}")
    return answer


def check_question(attempt: AgentAttempt, given: dict[str, Any]) -> dict[str, Any]:
    """The attempt waits with a question; what it has made so far stays with it."""
    checkpoint = question(given)
    summary = f"asks: {checkpoint['question']}"
    return {
        "status": "waiting",
        "summary": summary,
        "artifacts": attempt.artifacts,
        "checkpoint": checkpoint,
    }


def check_value(attempt: AgentAttempt, given: dict[str, Any]) -> dict[str, Any]:
    """The same for a step of a flow, which has no people to ask and no plan to change."""
    return check_result(attempt, {**given, "summary": given.get("summary") or "done"})


_FINISH = FinalTool(
    name="finish",
    description="Hand your result in.",
    properties=_RESULT,
    required=("summary",),
    check=check_result,
)
_ASK = FinalTool(
    name="ask_human",
    description="Ask a person. Your work ends here; the answer is in your next brief.",
    properties=QUESTION,
    required=("question",),
    check=check_question,
)
_VALUE = FinalTool(
    name="finish",
    description="Hand the result in.",
    properties={
        name: _RESULT[name] for name in ("status", "summary", "structured_output", "failure_class")
    },
    required=("structured_output",),
    check=check_value,
)

WORKER = Part(prompts.WORKER, (_FINISH, _ASK))
CALLED = Part(prompts.CALLED, (_VALUE,))
"""For an agent that a node of a flow calls with any value."""
