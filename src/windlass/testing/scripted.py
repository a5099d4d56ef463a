"""Planners and verifiers that say what a test gave them to say, and remember what they were told.

planner = ScriptedPlanner([{"alias": "look", "goal": "Look"}], [{"alias": "again", …}])
judge = ScriptedVerifier("too short", True)
async with local_engine({"planner.default": planner, "judge": judge, "llm": work}) as engine:
    run_id = await engine.plan("Find out", planner="planner.default", worker="llm")
"""

from typing import Any

from windlass.worker.answers import plan_of, verdict_of


class _Scripted:
    """Answers in turn; the last answer is given again for ever."""

    def __init__(self, *answers: Any) -> None:
        if not answers:
            raise ValueError("a script needs at least one answer")
        self._answers = answers
        self.briefs: list[dict[str, Any]] = []
        """What it was told, each time."""

    def _next(self, brief: dict[str, Any]) -> Any:
        self.briefs.append(brief)
        return self._answers[min(len(self.briefs), len(self._answers)) - 1]


class ScriptedPlanner(_Scripted):
    """Gives one plan after the other: each a list of tasks, or a whole plan."""

    def __call__(self, brief: dict[str, Any], params: object = None) -> Any:
        return plan_of(self._next(brief))


class ScriptedVerifier(_Scripted):
    """Gives one verdict after the other: yes or no, what is wrong, or a whole verdict."""

    def __call__(self, brief: dict[str, Any], params: object = None) -> Any:
        return verdict_of(self._next(brief))
