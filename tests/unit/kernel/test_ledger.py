"""What attempts do outside: written under a lease, and allowed once where it cannot be undone."""

import pytest

from tests.plans import claim, do, of, planned, say, task
from windlass.kernel.events import (
    ActionBegan,
    ActionEnded,
    ApprovalGiven,
    ApprovalRevoked,
    AttemptFailed,
    CancelRequested,
    LeaseExpired,
)
from windlass.model.assignment import Assignment
from windlass.model.errors import BadRequest, Conflict, Denied, NotFound, StaleLease
from windlass.model.ledger import (
    Action,
    ActionCall,
    ActionOutcome,
    ActionState,
    Approval,
    EffectClass,
    effect_of,
    new_token,
    read_policy,
    shown_action,
    shown_approval,
    token_hash,
    without_tokens,
)
from windlass.model.rows import Attempt, Failure
from windlass.model.states import AttemptState
from windlass.testing.played import RUN_ID, Played

TOKEN = new_token("ok", "s3cret")


def begin(
    run: Played,
    by: Assignment,
    call_id: str = "c1",
    effect: EffectClass = EffectClass.EXTERNAL_WRITE,
    token: str = "",
    tool: str = "post",
) -> str:
    call = ActionCall(call_id, tool, effect, '{"to":"ann"}', "tell Ann", token)
    answer: str = run.send(ActionBegan(by.attempt_id, call))
    return answer


def end(run: Played, by: Assignment, state: ActionState = ActionState.COMPLETED) -> str:
    answer: str = run.send(ActionEnded(by.attempt_id, ActionOutcome("c1", state, '"sent"')))
    return answer


def approve(run: Played, alias: str = "a", token: str = TOKEN, ms: int = 60_000) -> Approval:
    event = ApprovalGiven(
        run_id=RUN_ID,
        task_id=of(run, alias).id,
        approval_id=token.split("_")[1],
        token_hash=token_hash(token),
        effect=EffectClass.IRREVERSIBLE,
        reason="it is right",
        by="ann",
        expires_in_ms=ms,
    )
    made: Approval = run.send(event)
    return made


def lose(run: Played, held: Assignment) -> None:
    run.now += 60_000
    run.send(LeaseExpired(held.attempt_id, run.now - 1))


def actions(run: Played) -> list[Action]:
    return [row for row in run.tables.get(Action, {}).values() if isinstance(row, Action)]


def irreversible(run: Played, by: Assignment, token: str = TOKEN, call_id: str = "c1") -> str:
    return begin(run, by, call_id, EffectClass.IRREVERSIBLE, token)


def test_an_action_is_written_before_and_after_and_once_however_often_it_is_said() -> None:
    run = planned(task("a"))
    held = claim(run, "a")
    assert begin(run, held) == "accepted"
    assert begin(run, held) == "duplicate"
    with pytest.raises(Conflict, match="another action"):
        begin(run, held, tool="delete")
    [action] = actions(run)
    assert (action.state, action.attempt_id, action.input) == (
        "running",
        held.attempt_id,
        '{"to":"ann"}',
    )
    assert (end(run, held), end(run, held)) == ("accepted", "duplicate")
    with pytest.raises(Conflict, match="already completed"):
        end(run, held, ActionState.FAILED)
    [action] = actions(run)
    assert (action.state, action.output, action.finished_at) == ("completed", '"sent"', run.now)


def test_whoever_has_lost_its_task_begins_nothing_but_may_say_what_it_did() -> None:
    run = planned(task("a"))
    held = claim(run, "a")
    begin(run, held)
    lose(run, held)
    with pytest.raises(StaleLease):
        begin(run, held, "c2")
    [action] = actions(run)
    attempt = run.tables[Attempt][held.attempt_id]
    assert isinstance(attempt, Attempt)
    assert shown_action(action, attempt.state) == "unknown"
    assert end(run, held) == "accepted", "what happened outside is a fact"
    assert shown_action(actions(run)[0], attempt.state) == "completed"


def test_an_attempt_that_was_asked_to_stop_begins_nothing_more() -> None:
    run = planned(task("a"))
    held = claim(run, "a")
    run.send(CancelRequested(RUN_ID))
    with pytest.raises(Conflict, match="asked to stop"):
        begin(run, held)


def test_what_cannot_be_undone_needs_an_approval_that_counts_once() -> None:
    run = planned(task("a"))
    held = claim(run, "a")
    with pytest.raises(Denied, match="needs an approval"):
        irreversible(run, held, "")
    given = approve(run)
    assert given.attempt_id == held.attempt_id
    assert irreversible(run, held) == "accepted"
    [action] = actions(run)
    used = run.tables[Approval]["ok"]
    assert isinstance(used, Approval)
    assert (action.approval_id, used.state, used.used_by) == ("ok", "consumed", action.id)
    with pytest.raises(Denied, match="counts once"):
        irreversible(run, held, call_id="c2")
    with pytest.raises(Conflict, match="was used"):
        run.send(ApprovalRevoked(RUN_ID, "ok"))


@pytest.mark.parametrize(
    "token", ["wla_ok_other", "wla_no_s3cret", "ok_s3cret", "wla_ok", "wla__", "x"]
)
def test_a_token_that_is_not_the_approvals_opens_nothing(token: str) -> None:
    run = planned(task("a"))
    held = claim(run, "a")
    approve(run)
    with pytest.raises(Denied, match="no approval for attempt"):
        irreversible(run, held, token)
    assert actions(run) == []


def test_an_approval_is_for_one_attempt_of_one_task_and_ends() -> None:
    run = planned(task("a", retry_policy={"max_attempts": 3}), task("b"))
    held, other = claim(run, "a"), claim(run, "b")
    approve(run)
    with pytest.raises(Denied, match="no approval for attempt"):
        irreversible(run, other)
    run.send(AttemptFailed(held.attempt_id, Failure("failed", "no")))
    again = claim(run, "a")
    with pytest.raises(Denied, match="no approval for attempt"):
        irreversible(run, again)
    approve(run, token=new_token("late", "x"), ms=10)
    run.now += 10
    with pytest.raises(Denied, match="expired"):
        irreversible(run, again, new_token("late", "x"))
    approve(run, token=new_token("back", "x"))
    run.send(ApprovalRevoked(RUN_ID, "back"))
    run.send(ApprovalRevoked(RUN_ID, "back"))
    with pytest.raises(Denied, match="revoked"):
        irreversible(run, again, new_token("back", "x"))


def test_a_task_nobody_has_is_allowed_its_next_attempt() -> None:
    run = planned(task("a"))
    assert approve(run).attempt_id.endswith("@1")
    assert irreversible(run, claim(run, "a")) == "accepted"


def test_whoever_judges_does_nothing_that_cannot_be_undone() -> None:
    run = planned(task("a", verification_policy={"verifier_profile": "judge"}))
    say(run, claim(run, "a"), {"n": 1})
    judge = claim(run, "a")
    assert begin(run, judge) == "accepted"
    with pytest.raises(Conflict, match="being verified"):
        approve(run)
    with pytest.raises(Denied, match="whoever judges"):
        irreversible(run, judge, call_id="c2")


def test_nothing_is_allowed_where_nobody_could_use_it() -> None:
    run = planned(task("a"), task("b", "a"))
    nobody = f"{RUN_ID}~x.0"
    event = ApprovalGiven(RUN_ID, nobody, "i", "h", EffectClass.IRREVERSIBLE, "r", "ann", 1)
    with pytest.raises(NotFound, match="no task"):
        run.send(event)
    do(run, "a")
    with pytest.raises(Conflict, match="succeeded"):
        approve(run, "a")
    with pytest.raises(NotFound, match="no approval"):
        run.send(ApprovalRevoked(RUN_ID, "ok"))


def test_a_tools_class_is_the_worse_of_what_policy_and_caller_say() -> None:
    policy = read_policy("deploy=external_irreversible, ping = external_read")
    assert effect_of("deploy", "external_read", policy) == "external_irreversible"
    assert effect_of("ping", "", policy) == "external_read"
    assert effect_of("ping", "external_write", policy) == "external_write"
    assert effect_of("send_email", "env_local_read", policy) == "external_irreversible"
    assert effect_of("mine", "external_write", policy) == "external_write"
    with pytest.raises(BadRequest, match="in no policy"):
        effect_of("mine", "", policy)
    with pytest.raises(BadRequest, match="no effect class"):
        effect_of("mine", "harmless", policy)
    for wrong in ("deploy", "=external_read", "deploy=nice"):
        with pytest.raises(BadRequest):
            read_policy(wrong)


def test_tokens_are_blotted_out_wherever_they_stand() -> None:
    hidden = without_tokens({"a": [TOKEN, {"approval_token": TOKEN}], "b": 1})
    assert hidden == {"a": ["[approval token]", {"approval_token": "[approval token]"}], "b": 1}


def test_an_approval_nobody_can_use_is_not_shown_as_active() -> None:
    run = planned(task("a"))
    held = claim(run, "a")
    made = approve(run, ms=100)
    assert shown_approval(made, run.now, attempt_over=False) == "active"
    assert shown_approval(made, run.now, attempt_over=True) == "revoked"
    assert shown_approval(made, run.now + 100, attempt_over=False) == "expired"
    begin(run, held)
    assert shown_action(actions(run)[0], AttemptState.CANCELLED) == "unknown"
