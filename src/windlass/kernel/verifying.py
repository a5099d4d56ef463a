"""Verification: a result is a claim until somebody accepts it.

The output of a node with a verification stays on the attempt that claims it. The task waits in the
verifier's queue like any other, and whoever takes it makes an attempt with the role `verify`, under
a lease of its own. Only a verdict that accepts gives the output to the task, and so to what comes
after it. A verdict that is lost is asked for again: that says nothing about the work.
"""

from typing import Any

from msgspec.structs import replace

from windlass.kernel.asking import about_claim, close_question, read_choice
from windlass.kernel.blackboard import say_verdict
from windlass.kernel.briefs import claim_told, verify_brief
from windlass.kernel.envs import has_place
from windlass.kernel.events import Claim
from windlass.kernel.leases import NO_OUTCOME, end_of, lease, with_brief
from windlass.kernel.placement import place, queue_of
from windlass.kernel.push_back import is_push_back, stay_away
from windlass.kernel.requeue import requeue, unreachable_pause_ms
from windlass.kernel.results import result_action
from windlass.kernel.retry import pause_ms
from windlass.kernel.routing import close, fail, succeed
from windlass.kernel.turn import Replan, Turn
from windlass.kernel.values import encode
from windlass.kernel.view import Outgrown
from windlass.model.assignment import Assignment
from windlass.model.basic_verdict import basic_verdict
from windlass.model.env_drift import EnvDrift
from windlass.model.graph import Node, OnReject, Transport, Verification
from windlass.model.ids import attempt_id
from windlass.model.notes import read_notes, with_drift
from windlass.model.rows import Attempt, Checkpoint, Failure, Json, Task, read_failure
from windlass.model.states import TASK_ENDED, AttemptState, Role, TaskState
from windlass.model.verdicts import Judgement, Verdict, read_verdict
from windlass.model.verification import BASIC
from windlass.model.work_answers import WorkAnswer, kept_answer


def submit(turn: Turn, task: Task, verification: Verification, attempt: Attempt) -> None:
    """An attempt has made its claim: the task waits for a verdict. In a run that is being cancelled
    nobody gives one any more, and nothing unjudged counts."""
    if turn.cancelling:
        turn.move(task, TaskState.CANCELLED, claim=attempt.number)
        close(turn, task)
        return
    columns = {"claim": attempt.number, "moves": 0, "avoid": None}
    if has_place(turn, task, attempt):
        # Whoever judges it is to see what it has changed there; but not at any price.
        moved = turn.move(task, TaskState.VERIFYING, queue=None, **columns)
        judge_after(turn, moved, turn.limits.env_look_ms, {})
        return
    queue = queue_of(turn, verification.target)
    if is_judged_by_rules(turn, task, verification):
        judge_by_rules(turn, replace(task, queue=queue), verification, columns)
    else:
        turn.move(task, TaskState.VERIFYING, queue=queue, ready_at=turn.now, **columns)


def is_judged_by_rules(turn: Turn, task: Task, verification: Verification) -> bool:
    """Whether a verdict needs nobody: it follows from the claim, and no limit, budget or barrier
    has a say in who may give it when."""
    target = verification.target
    plain = not (task.limits or turn.column("barriers"))
    return plain and target.service == BASIC and target.transport is Transport.LOCAL


def judge_by_rules(
    turn: Turn, task: Task, verification: Verification, columns: dict[str, int | None]
) -> None:
    """Give the verdict in the turn that the claim is made in. It is an attempt like any other: only
    nobody had to be asked for it."""
    attempt = lease(turn, task, Claim(task.id, BASIC, "", BASIC, 0), Role.VERIFY)
    columns = {**columns, "attempts": attempt.number}
    task = turn.move(task, TaskState.VERIFYING, queue=None, ready_at=turn.now, **columns)
    answer = claim_told(claimed(turn, task), planned=turn.node(task).planned is not None)
    verdict = basic_verdict(verification.policy, answer.structured_output, answer.artifacts)
    judge(turn, task, attempt, encode(verdict), None)


def seen(turn: Turn, task: Task, attempt: Attempt, drift: EnvDrift) -> bool:
    """What a claim has changed in its place is known; false if nobody needs it any more."""
    wanted = task.claim == attempt.number and task.state not in TASK_ENDED
    if not wanted or read_notes(attempt.notes).env_drift is not None:
        return False
    turn.move_attempt(attempt, notes=with_drift(attempt.notes, drift))
    if is_looked_at(task):
        turn.drop_timer(task.id, "retry")
        wait_for_verdict(turn, task)
    return True


def is_looked_at(task: Task) -> bool:
    """Whether a claim waits for the last look at its place: nobody was asked for a verdict yet."""
    waits = task.state is TaskState.VERIFYING and task.queue is None and task.due_at is not None
    return waits and task.attempts == task.claim


def claim(turn: Turn, task: Task, by: Claim) -> Assignment:
    """Lease what is to be judged. The task keeps its state, and leaves its queue."""
    node = turn.node(task)
    rule = rule_of(node)
    attempt = lease(turn, task, by, Role.VERIFY)
    turn.move(task, task.state, attempts=attempt.number, queue=None)
    if rule.timeout_ms:
        turn.set_timer(task.id, "timeout", turn.now + rule.timeout_ms)
    brief = verify_brief(turn, task, node, claimed(turn, task))
    return with_brief(turn, task, attempt, rule.target, brief, rule.timeout_ms)


def rule_of(node: Node) -> Verification:
    if node.verification is None:
        raise Outgrown(f"{node.path} is not verified in the graph at hand")
    return node.verification


def claimed(turn: Turn, task: Task) -> Attempt:
    """The attempt whose result is being judged."""
    attempt = turn.get(Attempt, attempt_id(task.id, task.claim))
    assert attempt is not None, f"task {task.id} has no claim"
    return attempt


def judge(turn: Turn, task: Task, attempt: Attempt, output: Json, log: str | None) -> bool:
    """Take a verdict; false if the answer is none, which is the verifier's failure."""
    verdict = read_verdict(output)
    if isinstance(verdict, str):
        refused = Failure("failed", verdict, code="invalid_verdict")
        no_verdict(turn, task, attempt, refused, log, output)
        return False
    node = turn.node(task)
    if verdict.request_replan and node.planned is None:
        refused = Failure("failed", "nothing here was planned, to be planned anew")
        no_verdict(turn, task, attempt, refused, log, output)
        return False
    turn.move_attempt(attempt, state=AttemptState.SUCCEEDED, output=output, log=log)
    turn.note(judged=task.id, verdict=str(verdict.verdict), summary=verdict.summary[:500])
    drop_timeout(turn, task)
    if turn.cancelling:
        turn.move(task, TaskState.CANCELLED, queue=home_queue(turn, node))
        close(turn, task)
    elif verdict.verdict is Judgement.ACCEPTED:
        accept(turn, task)
    elif verdict.verdict is Judgement.ASK:
        ask(turn, task, verdict)
    else:
        reject(turn, task, node, verdict, attempt)
    if verdict.verdict is not Judgement.ACCEPTED and node.planned is not None:
        say_verdict(turn, task, verdict, attempt)
    return True


def accept(turn: Turn, task: Task) -> None:
    """The claim is the task's result from now on."""
    node = turn.node(task)
    output = claimed(turn, task).output or "null"
    task = replace(task, queue=home_queue(turn, node))
    if node.planned is not None:
        want_replan(turn, task, kept_answer(output))
    succeed(turn, task, output, result_action(node, output))


def want_replan(turn: Turn, task: Task, answer: WorkAnswer) -> None:
    """Have the plan around a task made anew, if its answer asks for that. A run that is being
    cancelled plans no more."""
    if answer.request_replan and not turn.cancelling:
        brought = {"tasks": answer.child_tasks} if answer.child_tasks else None
        turn.replans.append(Replan(task.scope, "replan", task.id, answer.summary, brought))


def reject(turn: Turn, task: Task, node: Node, verdict: Verdict, attempt: Attempt) -> None:
    """What becomes of a task whose claim was rejected, by its policy."""
    rule = rule_of(node)
    text = f"rejected by {attempt.worker_id}: {verdict.summary or 'no reason given'}"
    failure = Failure("rejected", text, code=verdict.failure_class or "rejected")
    if rule.on_reject is OnReject.REPLAN or verdict.request_replan:
        turn.replans.append(Replan(task.scope, "rejected", task.id, verdict.summary))
        fail_task(turn, task, failure)
    elif rule.on_reject is OnReject.ASK:
        ask(turn, task, verdict)
    elif rule.on_reject is OnReject.RETRY and task.failures < node.retry.retries_max:
        work_again(turn, task, failure)
    else:
        fail_task(turn, task, failure)


def ask(turn: Turn, task: Task, verdict: Verdict) -> None:
    queue = home_queue(turn, turn.node(task))
    about_claim(turn, task, verdict, claimed(turn, task).output, queue)


def answered(turn: Turn, task: Task, asked: Checkpoint, answer: Any, by: str, note: str) -> None:
    """A person gives the verdict: yes or no, or one of the options by its name."""
    choice = read_choice(asked, answer)
    task = close_question(turn, task, asked, encode(choice), by, note)
    if choice == "accept":
        accept(turn, task)
    elif choice == "retry":
        work_again(turn, task, Failure("rejected", note or f"{by or 'a person'} wants it again"))
    else:
        text = f"rejected by {by or 'a person'}" + (f": {note}" if note else "")
        fail_task(turn, task, Failure("rejected", text, code="rejected"))


def work_again(turn: Turn, task: Task, failure: Failure) -> None:
    """Have the work done once more, with what was said about it."""
    node = turn.node(task)
    failures = task.failures + 1
    columns = {
        "failures": failures,
        "error": failure.json(),
        "moves": 0,
        "queue": place(turn, task, node),
    }
    requeue(turn, task, pause_ms(node.retry, failures, attempt_id(task.id, task.claim)), columns)


def fail_task(turn: Turn, task: Task, failure: Failure) -> None:
    task = turn.move(task, task.state, queue=home_queue(turn, turn.node(task)))
    fail(turn, task, failure)


def home_queue(turn: Turn, node: Node) -> str:
    """Where a task's own work waits: it is there again whenever it is not being judged."""
    assert node.target is not None
    return queue_of(turn, node.target)


def no_verdict(
    turn: Turn,
    task: Task,
    attempt: Attempt,
    failure: Failure,
    log: str | None = None,
    output: Json | None = None,
) -> None:
    """A verifier ended without a verdict: ask for it again."""
    turn.move_attempt(attempt, state=end_of(failure), error=failure.json(), log=log, output=output)
    drop_timeout(turn, task)
    if turn.cancelling:
        queue = home_queue(turn, turn.node(task))
        turn.move(task, TaskState.CANCELLED, error=failure.json(), queue=queue)
        close(turn, task)
    elif is_push_back(turn, task, failure):
        judge_after(turn, task, stay_away(turn, attempt, failure), {})
    elif failure.kind not in NO_OUTCOME and is_hopeless(turn, task):
        text = f"no verdict after {rule_of(turn.node(task)).tries_max} tries: {failure.message}"
        fail_task(turn, task, Failure("failed", text, code="no_verdict"))
    else:
        judge_again(turn, task, attempt, failure)


def judge_again(turn: Turn, task: Task, attempt: Attempt, failure: Failure) -> None:
    moves = task.moves + (failure.kind != "returned")
    pause = failure.retry_after_ms or unreachable_pause_ms(moves)
    judge_after(turn, task, pause, {"moves": moves, "avoid": attempt.worker_id})


def judge_after(turn: Turn, task: Task, pause: int, columns: dict[str, Any]) -> None:
    if pause:
        due_at = turn.now + pause
        turn.move(task, task.state, due_at=due_at, **columns)
        turn.set_timer(task.id, "retry", due_at)
    else:
        wait_for_verdict(turn, turn.move(task, task.state, **columns))


def wait_for_verdict(turn: Turn, task: Task) -> None:
    """Put a task that is being verified back into its verifier's queue."""
    queue = queue_of(turn, rule_of(turn.node(task)).target)
    turn.move(task, TaskState.VERIFYING, queue=queue, ready_at=turn.now, due_at=None)


def is_hopeless(turn: Turn, task: Task) -> bool:
    """Whether as many verifiers as may fail have failed, one after the other."""
    tries = rule_of(turn.node(task)).tries_max
    first = task.attempts - tries + 1
    if first <= task.claim:
        return False
    ids = [attempt_id(task.id, number) for number in range(first, task.attempts + 1)]
    return all(
        row is not None
        and row.state in (AttemptState.FAILED, AttemptState.TIMED_OUT)
        and not is_push_back(turn, task, read_failure(row.error))
        for row in turn.rows(Attempt, ids).values()
    )


def drop_timeout(turn: Turn, task: Task) -> None:
    if rule_of(turn.node(task)).timeout_ms:
        turn.drop_timer(task.id, "timeout")
