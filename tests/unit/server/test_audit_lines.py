"""Who did what is written down in the commit that does it, or not at all.

The paths come from the server's own table: one that changes something and is neither tried here nor
named as leaving no line, with the reason, fails the last test.
"""

import asyncio
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.packages import archive
from tests.unit.server.audit import (
    ASKS,
    CALLS,
    NO_LINE,
    RUN,
    WAITS,
    Json,
    Said,
    api,
    fail_next,
    tried,
)
from tests.workflows import node, workflow
from windlass.engine.attempts import Attempts
from windlass.engine.workers import register_link
from windlass.model.access import Audit
from windlass.model.envs import EnvSession
from windlass.model.rows import Binding, Failure, Resource, Run
from windlass.ports.env import OnLog
from windlass.server.app import NATIVE
from windlass.server.compat.memoh import routes as memoh
from windlass.server.compat.pocketflow import routes as pocketflow
from windlass.testing.memory import MemoryDatabase

pytestmark = pytest.mark.anyio


async def test_a_signal_a_cancel_and_their_lines_are_one_commit_each() -> None:
    async with api() as said:
        run = await said.local.start(WAITS)
        signal = await said.act(f"POST {RUN}/signal", {"key": "x", "value": 1}, id=run)
        assert signal == (1, ["run.signal"])
        assert await said.act(f"POST {RUN}/cancel", {}, id=run) == (1, ["run.cancel"])


async def test_an_answer_and_its_line_are_one_commit() -> None:
    async with api() as said:
        run = await said.local.start(ASKS)
        path = "POST /api/v1/checkpoints/{id}/resolve"
        done = await said.act(path, {"answer": "approved"}, id=run)
        assert done == (1, ["checkpoint.answer"])


async def test_a_retry_a_rerun_a_deletion_and_their_lines_are_one_commit_each() -> None:
    async with api() as said:
        run = await said.local.start(CALLS)
        await fail_next(said)
        assert await said.act(f"POST {RUN}/retry", {}, id=run) == (1, ["run.retry"])
        await fail_next(said)
        assert await said.act(f"POST {RUN}/rerun", id=run) == (1, ["run.rerun"])
        again = said.answer["id"]
        [line] = [r for r in said.local.database.table(Audit).values() if r.action == "run.rerun"]
        assert (line.target_id, line.detail) == (again, f'{{"of":"{run}"}}')
        assert await said.act(f"POST {RUN}/fork", {"task": "a"}, id=run) == (1, ["run.fork"])
        assert (await said.act(f"DELETE {RUN}", id=run))[1] == ["run.delete"]


async def test_a_rerun_under_a_known_key_leaves_no_second_line() -> None:
    async with api() as said:
        run = await said.local.start(WAITS)
        said.http.headers["Idempotency-Key"] = "k"
        assert await said.act(f"POST {RUN}/rerun", id=run) == (1, ["run.rerun"])
        assert await said.act(f"POST {RUN}/rerun", id=run) == (0, [])


async def test_another_priority_and_its_line_are_one_commit_and_the_same_is_none() -> None:
    async with api() as said:
        run = await said.local.start(WAITS)
        for expected in ((1, ["run.priority"]), (0, [])):
            assert await said.act(f"POST {RUN}/priority", {"priority": 5}, id=run) == expected


@pytest.mark.parametrize("action", ["cancel", "retry"])
async def test_each_run_of_a_bulk_action_has_its_line_in_its_own_commit(action: str) -> None:
    async with api() as said:
        runs = [await said.local.start(CALLS) for _ in range(3)]
        if action == "retry":
            for _ in runs:
                await fail_next(said)
        body = {"action": action, "q": "flow:*"}
        dry = await said.act("POST /api/v1/runs/bulk", {**body, "dryRun": True})
        assert dry == (0, []), "counting changes nothing"
        done = await said.act("POST /api/v1/runs/bulk", body)
        assert done == (3, [f"run.{action}"] * 3)
        lines = said.local.database.table(Audit).values()
        assert {line.target_id for line in lines} == set(runs)
        assert {line.detail for line in lines} == {'{"bulk":"flow:*"}'}
        again = await said.act("POST /api/v1/runs/bulk", body)
        assert again[1] == [], "what was refused left no line"


async def test_a_version_and_its_line_are_one_commit_and_the_same_again_is_none() -> None:
    async with api() as said:

        async def push(definition: Json) -> tuple[int, list[str]]:
            path = "POST /api/v1/flows/{name}/versions"
            return await said.act(path, {"definition": definition}, name="f")

        assert (await push(WAITS))[1] == ["flow.publish"]
        assert await push(ASKS) == (1, ["flow.publish"])
        assert await push(ASKS) == (0, [])


async def test_a_workflow_that_is_kept_and_deleted_leaves_a_line_each(tmp_path: Path) -> None:
    async with api(tmp_path) as said:
        body = workflow([node("a")])
        assert (await said.act("POST /api/v1/workflows", body))[1] == ["workflow.keep"]
        one = said.answer["workflowId"]
        preview = await said.act(
            "PUT /api/v1/workflows/{id}/preview", {"previewImage": "eA=="}, id=one
        )
        assert preview == (1, ["workflow.preview"])
        done = await said.act("DELETE /api/v1/workflows/{id}", id=one)
        assert done == (1, ["workflow.delete"])


async def test_a_file_and_its_lines_are_one_commit_each(tmp_path: Path) -> None:
    async with api(tmp_path) as said:
        whole = await said.act("POST /api/v1/resources", content=b"abc", query="?filename=a.txt")
        assert whole == (1, ["resource.upload"])
        gone = await said.act("DELETE /api/v1/resources/{id}", id=said.answer["resourceId"])
        assert gone == (1, ["resource.delete"])
        at = "/api/v1/resources/uploads"
        for end in ("complete", "abort"):
            opened = await said.act(f"POST {at}", {"filename": "b.txt", "sizeBytes": 3})
            assert opened == (1, ["resource.begin"])
            upload = said.answer["uploadId"]
            part = await said.act(
                f"PUT {at}/{{upload_id}}/parts/{{number}}",
                content=b"abc",
                upload_id=upload,
                number="0",
            )
            assert part == (0, [])
            if end == "abort":
                path = f"DELETE {at}/{{upload_id}}"
                assert await said.act(path, upload_id=upload) == (1, ["resource.abort"])
                continue
            path = f"POST {at}/{{upload_id}}/complete"
            assert await said.act(path, {}, upload_id=upload) == (1, ["resource.upload"])
            assert await said.act(path, {}, upload_id=upload) == (0, []), "it is complete already"
        assert {row.state for row in said.local.database.table(Resource).values()} == {
            "complete",
            "aborted",
        }


async def test_what_is_done_to_a_package_and_its_line_are_one_commit(tmp_path: Path) -> None:
    async with api(tmp_path) as said:
        at = "/api/v1/published-packages"
        route = f"{at}/{{name}}"
        published = await said.act(f"POST {at}", content=archive())
        assert published == (1, ["package.publish"])
        changes = {
            f"PATCH {route}/versions/{{version}}": ({"status": "deprecated"}, "package.status"),
            f"PUT {route}/tags/{{tag}}": ({"version": "1.0.0"}, "package.tag"),
            f"DELETE {route}/tags/{{tag}}": (None, "package.tag"),
            f"PATCH {route}/visibility": ({"visibility": "private"}, "package.visibility"),
            f"POST {route}/transfer": ({"ownerId": "eve"}, "package.transfer"),
        }
        for path, (body, action) in changes.items():
            done = await said.act(path, body, name="tools", version="1.0.0", tag="beta")
            assert done == (1, [action]), path


async def test_what_is_done_to_people_tokens_tenants_and_limits_is_one_commit_with_its_line() -> (
    None
):
    async with api(admin="admin's token") as said:
        user = {"username": "eve", "password": "a long password", "roles": ["run.viewer"]}
        assert await said.act("POST /api/v1/users", user) == (1, ["user.create"])
        one = said.answer["userId"]
        changes: dict[str, tuple[Json | None, str]] = {
            "POST /api/v1/users/{id}/password": ({"password": "another long one"}, "user.password"),
            "POST /api/v1/users/{id}/roles": ({"role": "workflow.viewer"}, "user.role.add"),
            "DELETE /api/v1/users/{id}/roles/{role}": (None, "user.role.drop"),
            "PATCH /api/v1/users/{id}/status": ({"isActive": True}, "user.status"),
            "PUT /api/v1/limit-rules": ({"pattern": "db", "max": 3}, "limit.set"),
            "POST /api/v1/tenants": ({"name": "red"}, "tenant.create"),
            "PATCH /api/v1/tenants/{name}": ({"weight": 2}, "tenant.weight"),
            "POST /api/v1/tokens": ({"name": "ci", "role": "viewer"}, "token.create"),
        }
        for path, (body, action) in changes.items():
            done = await said.act(path, body, id=one, role="workflow.viewer", name="red")
            assert done == (1, [action]), path
        token = said.answer["id"]
        for expected in ((1, ["token.revoke"]), (0, [])):
            assert await said.act("DELETE /api/v1/tokens/{id}", id=token) == expected
        rule = await said.act("DELETE /api/v1/limit-rules", query="?pattern=db")
        assert rule == (1, ["limit.remove"])
        login = {"username": "eve", "password": "another long one"}
        assert await said.act("POST /api/v1/auth/login", login) == (1, ["auth.login"])
        said.http.headers["Authorization"] = f"Bearer {said.answer['accessToken']}"
        profile = await said.act("PATCH /api/v1/users/me", {"displayName": "Eve"})
        assert profile == (1, ["user.profile"])


async def test_a_command_and_its_line_are_one_commit_and_each_run_it_moves_has_its_own() -> None:
    async with api() as said:
        engine = said.local.engine
        for name in ("old", "new"):
            made = await register_link(engine, name, packages=[], capacity=1, meta="{}")
            await engine.write(changed=(replace(made, state="online"),))
        path = "POST /api/v1/workers/{id}/commands"
        done = await said.act(path, {"type": "drain"}, id="new")
        assert done == (1, ["worker.drain"])
        run_id = await said.local.start(WAITS)
        run = said.local.database.table(Run)[run_id]
        bound = Binding(run_id=run.id, package="kit", worker_id="old", bound_at=run.created_at)
        await engine.write(bound)
        commits, actions = await said.act(path, {"type": "rebind"}, id="old")
        assert actions == ["run.rebind", "worker.rebind"]
        assert commits == 3, "the run moved; the worker to be told; the command kept"
        await engine.write(bound)
        moved = await said.act("POST /api/v1/scheduler/runs/{id}/rebind", {}, id=run.id)
        assert moved[1] == ["run.rebind"]


async def test_pocketflows_acts_and_their_lines_are_one_commit_each() -> None:
    async with api() as said:
        assert await said.act("POST /flows", {"Name": "f"}) == (1, ["flow.create"])
        version = {"FlowID": said.answer["id"], "DefinitionJSON": WAITS, "Status": "published"}
        assert await said.act("POST /flows/version", version) == (1, ["flow.publish"])
        assert await said.act("POST /tasks", {"FlowID": version["FlowID"]}) == (1, [])
        task = said.answer["id"]
        signal = {"task_id": task, "key": "x", "value": 1}
        assert await said.act("POST /tasks/signal", signal) == (1, ["run.signal"])
        cancel = await said.act("POST /tasks/cancel", query=f"?id={task}")
        assert cancel == (1, ["run.cancel"])
        assert await said.act("POST /tasks/signal", signal) == (0, []), "nothing comes of it"


async def plan_of_three(said: Said) -> str:
    """A run of a plan whose tasks wait for a worker."""
    tasks = [{"alias": alias, "goal": "g"} for alias in ("a", "b", "c")]
    body = {"dialect": "plan", "goal": "g", "plan": {"tasks": tasks}}
    made = await said.http.post("/api/v1/runs", json=body)
    assert made.status_code == 202, made.text
    return str(made.json()["id"])


QUESTION: Json = {"question": "Sure?", "options": [{"id": "y", "kind": "choice", "label": "Yes"}]}
HINT: Json = {"kind": "constraint_update", "summary": "s", "details": {"a": 1}}


async def test_steering_a_plan_and_its_lines_are_one_commit_each() -> None:
    async with api() as said:
        run = await plan_of_three(said)
        assert await said.act(f"POST {RUN}/hints", HINT, id=run) == (1, ["run.hint"])
        task = f"POST {RUN}/tasks/{{task}}"
        asked = await said.act(f"{task}/checkpoints", QUESTION, id=run, task="a")
        assert asked == (1, ["checkpoint.ask"])
        cancelled = await said.act(f"{task}/cancel", {}, id=run, task="b")
        assert cancelled == (1, ["task.cancel"])


async def test_an_approval_and_its_lines_are_one_commit_each() -> None:
    async with api() as said:
        run = await plan_of_three(said)
        path = f"POST {RUN}/tasks/{{task}}/approvals"
        given = await said.act(path, {"reason": "right"}, id=run, task="a")
        assert given == (1, ["approval.give"])
        gone = await said.act(
            f"DELETE {RUN}/approvals/{{approval}}", id=run, approval=said.answer["id"]
        )
        assert gone == (1, ["approval.revoke"])
        at = "/orchestration/runs/{run_id}/tasks/{task_id}/approvals"
        named: Json = {"run_id": run, "task_id": f"{run}~plan.0~a.0"}
        body = {"reason": "right", "effect_class": "external_irreversible", "idempotency_key": "k"}
        assert await said.act(f"POST {at}", body, **named) == (1, ["approval.give"])
        made = said.answer["id"]
        assert await said.act(f"POST {at}", body, **named) == (0, []), "the same again is the same"
        assert (said.answer["id"], said.answer["token"]) == (made, None)
        gone = await said.act(f"DELETE {at}/{{approval_id}}", approval_id=made, **named)
        assert gone == (1, ["approval.revoke"])


async def test_what_is_done_on_the_orchestration_surface_and_its_lines_are_one_commit_each() -> (
    None
):
    async with api() as said:
        run = await plan_of_three(said)
        at = "POST /orchestration/runs/{run_id}"
        given: Json = {"run_id": run, "task_id": f"{run}~plan.0~a.0"}
        for number, (path, body, action) in enumerate(
            (
                (f"{at}/hints", {"hint": HINT}, "run.hint"),
                (f"{at}/tasks/{{task_id}}/checkpoints", QUESTION, "checkpoint.ask"),
            )
        ):
            keyed = {**body, "idempotency_key": f"k{number}"}
            assert await said.act(path, keyed, **given) == (1, [action]), path
            assert await said.act(path, keyed, **given) == (0, []), "the same again is the same"
        answer = {"idempotency_key": "k7", "mode": "select_option", "option_id": "y"}
        resolved = await said.act(
            "POST /orchestration/checkpoints/{checkpoint_id}/resolve",
            answer,
            checkpoint_id=said.answer["checkpoint"]["id"],
        )
        assert resolved == (1, ["checkpoint.answer"])
        work = Attempts(said.local.engine)
        [held] = await work.claim("w", ["pull:llm.default"], 1, 5)
        await work.failed(held.attempt_id, Failure("fatal", "no"))
        given = {"run_id": run, "task_id": held.task_id}
        task = f"{at}/tasks/{{task_id}}"
        retried = await said.act(f"{task}/retry", {"idempotency_key": "k8"}, **given)
        assert retried == (1, ["run.retry"])
        cancelled = await said.act(f"{task}/cancel", {"idempotency_key": "k9"}, **given)
        assert cancelled == (1, ["task.cancel"])
        again = await said.act(f"{at}/blackboard/rebuild", {}, run_id=run)
        assert again == (1, ["blackboard.rebuild"])
        whole = await said.act(f"{at}/cancel", {"idempotency_key": "k10"}, run_id=run)
        assert whole == (1, ["run.cancel"])


async def test_what_is_done_with_dead_letters_and_its_lines_are_one_commit_each() -> None:
    async with api() as said:
        run = await said.local.start(CALLS)
        for act in ("replay", "drop"):
            await fail_next(said)
            done = await said.act(f"POST /api/v1/dead-letters/{act}", {"run": run})
            assert done == (1, [f"dead.{act}"])


async def test_what_is_done_with_saved_views_and_its_lines_are_one_commit_each() -> None:
    at = "/api/v1/views"
    async with api() as said:
        assert await said.act(f"POST {at}", {"name": "mine"}) == (1, ["view.create"])
        view = said.answer["id"]
        changed = await said.act(f"PATCH {at}/{{id}}", {"query": "status:failed"}, id=view)
        assert changed == (1, ["view.change"])
        assert await said.act(f"DELETE {at}/{{id}}", id=view) == (1, ["view.delete"])


async def test_a_bulk_job_and_its_line_are_one_commit_and_so_is_stopping_it() -> None:
    async with api() as said:
        run = await said.local.start(CALLS)
        began = await said.act("POST /api/v1/bulk", {"act": "cancel", "ids": [run]})
        assert began == (1, ["bulk.start"])
        job = said.answer["id"]
        assert await said.act("POST /api/v1/bulk/{id}/stop", id=job) == (1, ["bulk.stop"])


class NoImages:
    """Says that it can make images; nobody asks it to."""

    async def capabilities(self) -> Json:
        return {"dockerfile_build": True, "reason": ""}

    async def pull(self, ref: str) -> str:
        raise NotImplementedError

    async def build(self, dockerfile: str, tag: str, on_log: OnLog) -> str:
        raise NotImplementedError


async def until_released(database: MemoryDatabase) -> None:
    for _ in range(500):
        if all(row.state == "released" for row in database.table(EnvSession).values()):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("a session is not given back")


async def test_what_is_done_with_environments_and_its_lines_are_one_commit_each() -> None:
    at, one = "/api/v1/envs/resources", {"name": "py", "kind": "noop"}
    async with api() as said:
        assert await said.act(f"POST {at}", one) == (1, ["env.resource.make"])
        changed = await said.act(f"PATCH {at}/{{id}}", {"capacity": 2}, id="py")
        assert changed == (1, ["env.resource.change"])
        kept = {"resource": "py", "keep_failed_s": 600}
        await said.local.start({**CALLS, "nodes": {"a": {**CALLS["nodes"]["a"], "env": kept}}})
        work = Attempts(said.local.engine)
        [held] = await work.claim("w", ["pull:s"], 1, 5)
        session = msgspec.json.decode(held.env)["session_id"]
        sessions = "POST /api/v1/envs/sessions/{id}"
        looked = await said.act(f"{sessions}/exec", {"command": ["true"]}, id=session)
        assert looked == (1, ["env.session.exec"])
        taken = await said.act(f"{sessions}/snapshots", id=session)
        assert taken == (1, ["env.session.snapshot"])
        await work.failed(held.attempt_id, Failure("fatal", "no"))
        commits, actions = await said.act(f"{sessions}/release", {}, id=session)
        assert commits >= 1, "and one more once the place is gone"
        assert actions == ["env.session.release"]
        await until_released(said.local.database)
        deleted = await said.act(f"DELETE {at}/{{id}}", id="py")
        assert deleted == (1, ["env.resource.delete"])
        at = "/orchestration/env-resources"
        assert await said.act(f"POST {at}", one) == (1, ["env.resource.make"])
        changed = await said.act(f"PATCH {at}/{{id}}", {"status": "disabled"}, id="py")
        assert changed == (1, ["env.resource.change"])
        deleted = await said.act(f"DELETE {at}/{{id}}", id="py")
        assert deleted == (1, ["env.resource.delete"])
        said.local.places.hosts.add("builder", {}, NoImages())
        built = {"name": "a", "sourceType": "dockerfile", "dockerfile": "FROM scratch"}
        assert await said.act("POST /api/v1/envs/images", built) == (1, ["env.image.make"])
        pulled = {"name": "b", "source_type": "registry", "image_ref": "debian:12"}
        made = await said.act("POST /orchestration/container-images", pulled)
        assert made == (1, ["env.image.make"])


async def test_nothing_that_changes_something_is_left_out_here() -> None:
    """The last of this file: by now the others have tried theirs."""
    changing = {
        f"{route.method} {route.path}"
        for route in (*NATIVE, *memoh.ROUTES, *pocketflow.ROUTES)
        if route.method != "GET" and (route not in pocketflow.ROUTES or "/api" not in route.path)
    }
    if not tried:
        pytest.skip("needs the other tests of this file to have run before")
    assert changing - tried == set(NO_LINE) - tried
    assert not set(NO_LINE) - changing
