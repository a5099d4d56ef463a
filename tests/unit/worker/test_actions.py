"""`ctx.action`: told before it is done and after, from handlers of both kinds."""

from typing import Any

import pytest

from windlass.engine import ledger
from windlass.model.errors import BadRequest
from windlass.model.ledger import Action as Kept
from windlass.testing.local import LocalEngine, local_engine
from windlass.worker import Context, Worker
from windlass.worker.errors import ActionRefused

pytestmark = pytest.mark.anyio

worker = Worker()


@worker.service("thinks")
async def thinks(ctx: Context) -> str:
    async with ctx.action("web_fetch", input={"url": "u"}, summary="look it up") as action:
        action.output = {"pages": 1}
        action.summary = "one page"
    return action.call_id


@worker.service("writes")
def writes(ctx: Context) -> str:
    with ctx.action("note", "external_write", call_id="mine"):
        pass
    return "done"


@worker.service("breaks")
async def breaks(ctx: Context) -> None:
    async with ctx.action("note", "external_write"):
        raise LookupError("gone")


@worker.service("mails")
async def mails(ctx: Context) -> str:
    done = False
    try:
        async with ctx.action("send_email", approval="wla_x_y"):
            done = True
    except ActionRefused as error:
        return f"{done} {error}"
    return "sent"


def flow(service: str) -> dict[str, Any]:
    node = {"exec_type": "queue", "service": service, "post": {"output_key": "said"}}
    return {"start": "a", "nodes": {"a": node}}


def kept(local: LocalEngine, run_id: str) -> Kept:
    [row] = local.database.of_run(Kept, run_id)
    return row


async def test_handlers_of_both_kinds_tell_before_and_after() -> None:
    async with local_engine(worker) as local:
        ended = await local.run(flow("thinks"))
        row = kept(local, ended.run.id)
        assert (row.tool, row.effect, row.state) == ("web_fetch", "external_read", "completed")
        assert (row.input, row.output, row.summary) == ('{"url":"u"}', '{"pages":1}', "one page")
        assert ended.shared["said"] == row.call_id
        ended = await local.run(flow("writes"))
        row = kept(local, ended.run.id)
        assert (row.call_id, row.state, row.output) == ("mine", "completed", "null")


async def test_what_goes_wrong_inside_is_the_actions_outcome_and_goes_on_up() -> None:
    async with local_engine(worker) as local:
        ended = await local.run({**flow("breaks"), "on_failure": "fail"})
        row = kept(local, ended.run.id)
        assert (row.state, row.error) == ("failed", "LookupError: gone")
        assert ended.run.state == "failed"


async def test_what_is_refused_is_not_done() -> None:
    async with local_engine(worker) as local:
        ended = await local.run(flow("mails"))
        assert ended.shared["said"].startswith("False the token is no approval")
        assert not local.database.of_run(Kept, ended.run.id)


async def test_an_attempt_without_a_ledger_does_nothing_in_silence() -> None:
    with pytest.raises(ActionRefused, match="no ledger"):
        Context().action("read")


async def test_long_payloads_are_cut_and_wrong_names_refused() -> None:
    assert len(ledger.kept("x" * 200_000)) < 66_000
    assert ledger.kept({"a": 1}) == '{"a":1}'
    for name in ("", "x" * 201, "a\nb"):
        with pytest.raises(BadRequest):
            ledger.check_name("a tool's name", name, 200)


@worker.service("notes")
def notes(ctx: Context) -> Any:
    board = ctx.blackboard
    first = board.put("progress.n", 1)
    board.put("progress.n", 2, expected=first)
    before = board.get("progress.n", first)
    assert before is not None
    assert board.get("progress.other") is None
    found = [entry.value for entry in board.list("progress.")]
    board.delete("progress.n")
    return [before.value, found, board.list()]


async def test_a_handler_reads_and_writes_the_blackboard() -> None:
    async with local_engine(worker) as local:
        ended = await local.run(flow("notes"))
        assert ended.shared["said"] == [1, [2], []]
