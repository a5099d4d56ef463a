"""Every call of a tool goes through one place, which knows what it does or refuses it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.agents.models import VERIFY, WORK, KeptDesk, Say, agent, context
from windlass.agents import tool
from windlass.agents.attempt import AgentAttempt
from windlass.agents.board import BoardTools
from windlass.agents.effects import AgentTool, load_tools
from windlass.agents.envs import EnvTools
from windlass.agents.settings import AgentSettings
from windlass.agents.tools import GuardedTools
from windlass.model.errors import BadRequest
from windlass.model.ledger import EffectClass
from windlass.worker.errors import TemporaryError

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def calls(name: str, arguments: dict[str, Any], heard: list[str]) -> Any:
    """A model that calls one tool and then finishes."""

    def answer(number: int, last: str) -> list[Say]:
        if number:
            heard.append(last)
            return [("finish", {"summary": "done"})]
        return [(name, arguments)]

    return answer


def settings(*tools: AgentTool) -> AgentSettings:
    return AgentSettings(models={"": "x:y"}, tools=tools)


def double(n: int) -> int:
    """Twice as much."""
    if n < 0:
        raise ValueError("n must not be negative")
    if n > 1_000:
        raise RuntimeError("overheated")
    return 2 * n


DOUBLE = AgentTool("double", double, EffectClass.LOCAL_READ)


async def test_a_call_is_an_action_of_the_ledger() -> None:
    heard: list[str] = []
    desk = KeptDesk()
    doubles = agent(calls("double", {"n": 21}, heard), settings(DOUBLE))
    await doubles.serve(context(desk=desk), WORK)
    assert heard == ["42"]
    [began], [ended] = desk.began, desk.ended
    assert (began.tool, began.effect, began.input) == ("double", "env_local_read", {"n": 21})
    assert (ended.state, ended.output, ended.call_id) == ("completed", 42, began.call_id)


@pytest.mark.parametrize(
    ("n", "told"), [(-1, "must not be negative"), (2_000, "RuntimeError: overheated")]
)
async def test_what_a_tool_says_is_wrong_is_told_to_the_model(n: int, told: str) -> None:
    heard: list[str] = []
    desk = KeptDesk()
    doubles = agent(calls("double", {"n": n}, heard), settings(DOUBLE))
    result = await doubles.serve(context(desk=desk), WORK)
    assert result["status"] == "completed"
    assert told in heard[0]
    assert [(end.state, told in end.error) for end in desk.ended] == [("failed", True)]


async def test_a_tool_that_nobody_knows_is_refused_and_never_reaches_the_ledger() -> None:
    heard: list[str] = []
    desk = KeptDesk()
    deletes = agent(calls("rm_rf", {}, heard), settings(DOUBLE))
    await deletes.serve(context(desk=desk), WORK)
    assert "Unknown tool" in heard[0]
    assert desk.began == []


async def test_a_tool_without_an_effect_class_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: list[str] = []
    made = GuardedTools.__init__

    def without_classes(self: GuardedTools, wrapped: Any, _effects: Any) -> None:
        made(self, wrapped, {})

    monkeypatch.setattr(GuardedTools, "__init__", without_classes)
    await agent(calls("double", {"n": 1}, heard), settings(DOUBLE)).serve(context(), WORK)
    assert "refused by policy" in heard[0]


async def test_what_the_ledger_refuses_does_not_happen() -> None:
    done: list[str] = []

    def pay(whom: str) -> None:
        """Pay somebody."""
        done.append(whom)

    heard: list[str] = []
    pays = agent(
        calls("pay", {"whom": "x"}, heard),
        settings(AgentTool("pay", pay, EffectClass.IRREVERSIBLE)),
    )
    await pays.serve(context(desk=KeptDesk(denied="pay")), WORK)
    assert "refused by policy: it needs an approval" in heard[0]
    assert done == []


async def test_an_approval_in_the_brief_is_used_once() -> None:
    token = "approval:01900000-0000-7000-8000-000000000001"
    answers = [{"question": "May I?", "freeform_input": f"yes: {token}.", "mode": "freeform"}]
    brief = {**WORK, "answers": answers}
    heard: list[str] = []

    def answer(number: int, last: str) -> list[Say]:
        heard.append(last)
        if number < 2:
            return [("pay", {"n": 1}), ("double", {"n": 2})]
        return [("finish", {"summary": "paid"})]

    pay = AgentTool("pay", double, EffectClass.IRREVERSIBLE)
    desk = KeptDesk()
    await agent(answer, settings(pay, DOUBLE)).serve(context(desk=desk), brief)
    used = [start.approval_token for start in desk.began if start.tool == "pay"]
    assert sorted(used) == ["", token]
    assert not any(start.approval_token for start in desk.began if start.tool == "double")


async def test_a_tool_may_say_that_the_attempt_should_come_back_later() -> None:
    def busy() -> None:
        """Be busy."""
        raise TemporaryError("the archive is closed", retry_after_s=5)

    closed = AgentTool("busy", busy, EffectClass.LOCAL_READ)
    with pytest.raises(TemporaryError, match="closed"):
        await agent(calls("busy", {}, []), settings(closed)).serve(context(), WORK)


async def test_further_tools_come_from_sources_that_know_the_attempt() -> None:
    class Blackboard:
        def tools(self, attempt: AgentAttempt) -> Iterable[AgentTool]:
            goal = attempt.brief["task"]["goal"]
            return [AgentTool("my_goal", lambda: goal, EffectClass.LOCAL_READ)]

    heard: list[str] = []
    await agent(calls("my_goal", {}, heard), sources=[Blackboard()]).serve(context(), WORK)
    assert heard == ["do it"]


async def test_an_agent_reads_and_writes_the_blackboard_and_a_verifier_only_reads() -> None:
    heard: list[str] = []
    desk = KeptDesk()

    def answer(number: int, last: str) -> list[Say]:
        heard.append(last)
        match number:
            case 0:
                return [("write_board", {"key": "progress", "value": {"pages": 3}})]
            case 1:
                return [("read_board", {"key": "progress"}), ("read_board", {"key": "nothing"})]
            case 2:
                return [("list_board", {})]
            case _:
                return [("finish", {"summary": "done"})]

    await agent(answer, sources=[BoardTools()]).serve(context(desk=desk), WORK)
    assert [start.tool for start in desk.began] == [
        *("write_board", "read_board", "read_board", "list_board")
    ]
    assert '{"pages":3}' in heard[2]
    [key] = desk.board
    assert key in heard[3]
    judging = AgentAttempt(context("verify"), VERIFY)
    assert [each.name for each in BoardTools().tools(judging)] == ["read_board", "list_board"]
    assert list(BoardTools().tools(AgentAttempt(context(), "any value"))) == []


async def test_tools_are_the_marked_functions_of_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "from windlass.agents import tool\n"
        "@tool(effect='external_read')\ndef look(): 'Look.'\n"
        "@tool(effect='external_write', name='tell')\ndef tell_them(): 'Tell.'\n"
        "def helper(): pass\n"
    )
    (tmp_path / "brought_tools.py").write_text(text)
    (tmp_path / "taken_name.py").write_text(text.replace("def look", "def finish"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = load_tools(["brought_tools"])
    assert [(each.name, str(each.effect)) for each in found] == [
        ("look", "external_read"),
        ("tell", "external_write"),
    ]
    for modules, flaw in ((["json"], "no tools"), (["taken_name"], '"finish" is a name twice')):
        with pytest.raises(BadRequest, match=flaw):
            load_tools(modules)
    with pytest.raises(BadRequest, match="quiet"):
        tool(effect="quiet")


async def test_an_agent_works_in_its_own_container() -> None:
    told: list[str] = []
    desk = KeptDesk()
    box = {"session_id": "s", "kind": "container", "resource_name": "py", "lease_epoch": 1}
    for call, given in (
        ("env_write", {"path": "a.py", "text": "print(1)"}),
        ("env_run", {"command": "python a.py"}),
        ("env_read", {"path": "a.py"}),
        ("env_read", {"path": "b.py"}),
    ):
        works = agent(calls(call, given, told), sources=[EnvTools()])
        await works.serve(context(desk=desk, env=box), WORK)
    assert "8 characters" in told[0]
    assert "sh -c python a.py" in told[1]
    assert "print(1)" in told[2]
    assert "there is no file" in told[3]
    effects = [began.effect for began in desk.began]
    assert effects == ["env_local_mutation"] * 2 + ["env_local_read"] * 2


async def test_who_has_no_environment_has_no_tools_for_one() -> None:
    told: list[str] = []
    works = agent(calls("env_run", {"command": "true"}, told), sources=[EnvTools()])
    await works.serve(context(), WORK)
    assert "Unknown tool" in told[0]
