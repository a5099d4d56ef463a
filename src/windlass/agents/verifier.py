"""The part of a verifier: a claim in, a verdict out."""

from typing import Any

import msgspec
from pydantic_ai import ModelRetry

from windlass.agents import prompts
from windlass.agents.attempt import AgentAttempt
from windlass.agents.parts import QUESTION, FinalTool, Part, question, text
from windlass.model.verdicts import Judgement, Verdict, read_verdict

_VERDICT: dict[str, Any] = {
    "verdict": text("your judgement", "accepted", "rejected"),
    "summary": text("why; of a rejected one: what has to change"),
    "failure_class": text("of a rejected one: a word for what is wrong"),
    "request_replan": {"type": "boolean", "description": "no other try could help"},
}


def check_verdict(_attempt: AgentAttempt, given: dict[str, Any]) -> dict[str, Any]:
    """The verdict, if the kernel would take it; one that rejects must say why."""
    problems = [f"{name}: not known here" for name in sorted(given.keys() - _VERDICT.keys())]
    read = read_verdict(msgspec.json.encode(given).decode())
    if not isinstance(read, Verdict):
        problems.append(read)
    elif read.verdict is Judgement.ASK:
        problems.append("verdict: call ask_human to leave it to a person")
    if given.get("verdict") == "rejected" and not str(given.get("summary") or "").strip():
        problems.append("summary: say what has to change, for whoever tries again")
    if problems:
        told = "\n".join(f"- {problem}" for problem in problems)
        raise ModelRetry(f"the verdict has {len(problems)} problem(s); mend all of them:\n{told}")
    return given


def check_question(_attempt: AgentAttempt, given: dict[str, Any]) -> dict[str, Any]:
    checkpoint = question(given)
    summary = f"asks: {checkpoint['question']}"
    return {"verdict": "ask", "summary": summary, "checkpoint": checkpoint}


VERIFIER = Part(
    prompts.VERIFIER,
    (
        FinalTool(
            name="finish",
            description="Give your verdict.",
            properties=_VERDICT,
            required=("verdict", "summary"),
            check=check_verdict,
        ),
        FinalTool(
            name="ask_human",
            description="Leave the verdict to a person.",
            properties=QUESTION,
            required=("question",),
            check=check_question,
        ),
    ),
)
