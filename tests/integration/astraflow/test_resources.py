"""Files arrive whole or in parts; large parameters and logs find their way."""

import asyncio
import json
from hashlib import sha256
from typing import Any

import pytest

from tests.integration.astraflow.conftest import foreign, token, until
from tests.integration.link.conftest import LinkServer, connected
from tests.integration.link.workflows import chain, node, workflow

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
AT = "/api/v1/resources"
CONTENT = bytes(range(256)) * 40


async def begin(server: LinkServer, **more: Any) -> Json:
    body = {"filename": "big.bin", "sizeBytes": len(CONTENT), "chunkSize": 4096, **more}
    answer = await server.http.post(f"{AT}/uploads", json=body)
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    return found


def part(number: int) -> bytes:
    return CONTENT[number * 4096 : (number + 1) * 4096]


async def test_a_file_is_uploaded_read_in_pieces_and_deleted(server: LinkServer) -> None:
    form = await server.http.post(AT, files={"file": ("notes.txt", b"hello world", "text/plain")})
    assert form.status_code == 201, form.text
    made = form.json()
    assert (made["filename"], made["sizeBytes"]) == ("notes.txt", 11)
    assert made["sha256"] == sha256(b"hello world").hexdigest()
    raw = await server.http.post(AT, params={"filename": "raw.bin"}, content=b"raw")
    assert raw.json()["filename"] == "raw.bin"
    whole = await server.http.get(made["downloadUrl"])
    assert whole.content == b"hello world"
    assert "notes.txt" in whole.headers["content-disposition"]
    some = await server.http.get(made["downloadUrl"], headers={"Range": "bytes=6-"})
    assert (some.status_code, some.content) == (206, b"world")
    listed = (await server.http.get(AT, params={"q": "notes"})).json()
    assert [item["resourceId"] for item in listed["items"]] == [made["resourceId"]]
    page = (await server.http.get(AT, params={"limit": 1})).json()
    assert [item["filename"] for item in page["items"]] == ["raw.bin"]
    rest = (await server.http.get(AT, params={"cursor": page["nextCursor"]})).json()
    assert [item["filename"] for item in rest["items"]] == ["notes.txt"]
    one = f"{AT}/{made['resourceId']}"
    assert (await server.http.get(one)).json() == made
    assert (await server.http.delete(one)).status_code == 204
    for gone in (one, made["downloadUrl"]):
        assert (await server.http.get(gone)).status_code == 404


async def test_a_private_file_is_its_owners(server: LinkServer) -> None:
    operator, viewer = await token(server, "operator"), await token(server, "viewer")
    mine = (await operator.post(AT, content=b"mine")).json()
    shared = (await operator.post(AT, params={"visibility": "internal"}, content=b"ours")).json()
    seen = [item["resourceId"] for item in (await viewer.get(AT)).json()["items"]]
    assert seen == [shared["resourceId"]]
    assert (await viewer.get(mine["downloadUrl"])).status_code == 404
    assert (await viewer.get(shared["downloadUrl"])).content == b"ours"
    assert (await viewer.post(AT, content=b"x")).status_code == 403
    assert (await viewer.delete(f"{AT}/{shared['resourceId']}")).status_code == 403
    assert (await server.http.get(mine["downloadUrl"])).content == b"mine"  # an admin's eye
    for client in (operator, viewer):
        await client.aclose()


@pytest.mark.parametrize(
    ("query", "content", "status"),
    [
        ({}, b"", 400),
        ({"visibility": "secret"}, b"x", 400),
        ({"filename": "\x07"}, b"x", 400),
        ({"type": "parameters"}, b"x", 400),
        ({"sha256": "0" * 64}, b"x", 409),
    ],
)
async def test_a_file_that_makes_no_sense_is_refused(
    server: LinkServer, query: Json, content: bytes, status: int
) -> None:
    answer = await server.http.post(AT, params=query, content=content)
    assert answer.status_code == status, answer.text
    assert (await server.http.get(AT)).json()["items"] == []


async def test_parts_come_in_any_order_and_twice(server: LinkServer) -> None:
    upload = await begin(server, sha256=sha256(CONTENT).hexdigest(), metadata={"a": 1})
    at = f"{AT}/uploads/{upload['uploadId']}"
    assert (upload["totalParts"], upload["nextPart"], upload["status"]) == (3, 0, "pending")
    for number, next_ in ((2, 0), (0, 1), (2, 1)):
        put = await server.http.put(f"{at}/parts/{number}", content=part(number))
        assert put.status_code == 200, put.text
        assert put.json()["nextPart"] == next_
    stands = (await server.http.get(at)).json()
    assert stands["completedParts"] == [0, 2]
    early = await server.http.post(f"{at}/complete", json={})
    assert early.status_code == 409
    assert "part 1 of 3" in early.json()["detail"]
    files = {"file": ("part", part(1), "application/octet-stream")}
    assert (await server.http.put(f"{at}/parts/1", files=files)).status_code == 200
    both = await asyncio.gather(*(server.http.post(f"{at}/complete", json={}) for _ in range(3)))
    assert {answer.status_code for answer in both} == {200}
    made = both[0].json()
    assert (await server.http.get(made["downloadUrl"])).content == CONTENT
    assert made["metadata"] == {"a": 1}
    assert (await server.http.get(at)).json()["status"] == "completed"
    assert (await server.http.put(f"{at}/parts/1", content=part(1))).status_code == 409
    assert (await server.http.delete(at)).status_code == 409


async def test_wrong_parts_are_refused_and_can_be_sent_again(server: LinkServer) -> None:
    upload = await begin(server, sha256=sha256(CONTENT).hexdigest())
    at = f"{AT}/uploads/{upload['uploadId']}"
    assert (await server.http.put(f"{at}/parts/0", content=b"short")).status_code == 400
    assert (await server.http.put(f"{at}/parts/0", content=part(0) + b"x")).status_code == 413
    for bad in ("3", "-1", "x"):
        assert (await server.http.put(f"{at}/parts/{bad}", content=b"x")).status_code == 400
    for number in range(3):
        wrong = bytes(len(part(number))) if number == 1 else part(number)
        await server.http.put(f"{at}/parts/{number}", content=wrong)
    refused = await server.http.post(f"{at}/complete", json={})
    assert refused.status_code == 409
    assert "sha256" in refused.json()["detail"]
    assert (await server.http.get(AT)).json()["items"] == []
    await server.http.put(f"{at}/parts/1", content=part(1))
    other = await server.http.post(f"{at}/complete", json={"sha256": "0" * 64})
    assert other.status_code == 409
    assert (await server.http.post(f"{at}/complete")).status_code == 200


async def test_an_upload_can_be_given_up_and_needs_sensible_numbers(server: LinkServer) -> None:
    upload = await begin(server)
    at = f"{AT}/uploads/{upload['uploadId']}"
    await server.http.put(f"{at}/parts/0", content=part(0))
    assert (await server.http.delete(at)).status_code == 204
    assert (await server.http.get(at)).status_code == 404
    for bad in (
        {"filename": "x", "sizeBytes": 0},
        {"filename": "", "sizeBytes": 1},
        {"filename": "x", "sizeBytes": 10**6, "chunkSize": 1},
        {"filename": "x", "sizeBytes": 1, "provider": "moon"},
        {"filename": "x", "sizeBytes": 1, "mimeType": "text/html\r\nX-Bad: 1"},
        {"filename": "x", "sizeBytes": 1, "sha256": "short"},
        {"sizeBytes": 1},
    ):
        assert (await server.http.post(f"{AT}/uploads", json=bad)).status_code == 400, bad
    viewer = await token(server, "viewer")
    denied = await viewer.post(f"{AT}/uploads", json={"filename": "x", "sizeBytes": 1})
    assert denied.status_code == 403
    await viewer.aclose()


async def test_parameters_too_large_for_a_frame_are_fetched(server: LinkServer) -> None:
    fetched: list[Any] = []

    async def fetching(dispatch: Json) -> Json:
        reference = dispatch["parameters"]["$ref"]
        answer = await server.http.get(reference["path"])
        assert answer.status_code == 200, answer.text
        assert sha256(answer.content).hexdigest() == reference["sha256"]
        assert len(answer.content) == reference["sizeBytes"]
        fetched.append((reference["path"], json.loads(answer.content)))
        return {"echo": "done"}

    worker = foreign(server, handler=fetching)
    plain = worker.capabilities
    worker.capabilities = lambda: {**plain(), "features": ["parameters.ref"]}  # type: ignore[method-assign]
    text = "x" * 3_000_000
    given = workflow("large", [node("large", "demo.a", parameters={"text": text})], [])
    async with connected(worker):
        run = await server.wait(await server.start(given))
    assert run["status"] == "succeeded"
    [(path, parameters)] = fetched
    assert parameters["text"] == text
    viewer = await token(server, "viewer")
    assert (await viewer.get(path)).status_code == 403
    await viewer.aclose()
    assert (await server.http.get(AT)).json()["items"] == []  # nobody's file
    missing = "/api/v1/attempt-parameters/none~x.0@1"
    assert (await server.http.get(missing)).status_code == 404


async def test_logs_are_shown_while_the_attempt_runs_and_after(server: LinkServer) -> None:
    gate = asyncio.Event()
    worker = foreign(server)

    async def chatty(dispatch: Json) -> Json:
        said = {
            "run_id": dispatch["run_id"],
            "task_id": dispatch["task_id"],
            "chunks": [
                {"channel": "stdout", "text": "hello "},
                {"channel": "llm", "text": "token"},
                {"channel": "stderr", "text": "world"},
            ],
        }
        seq, worker.next_seq = worker.next_seq, worker.next_seq + 1
        await worker.send(worker.envelope("biz.exec.feedback", said, session_seq=seq))
        await gate.wait()
        return {"echo": "done"}

    worker.handler = chatty
    async with connected(worker):
        run_id = await server.start(chain("chatty", "demo.a"))

        async def log() -> Any:
            found = (await server.http.get(f"/api/v1/runs/{run_id}/attempts")).json()["items"]
            return found and found[0]["log"]

        assert await until(log) == "hello world"
        gate.set()
        await server.wait(run_id)
        assert await log() == "hello world"
        at = f"/api/v1/runs/{run_id}/logs"
        attempts = (await server.http.get(f"/api/v1/runs/{run_id}/attempts")).json()["items"]
        query = {"attempt": attempts[0]["id"]}
        chunks = (await server.http.get(at, params=query)).json()["items"]
        assert [chunk["channel"] for chunk in chunks] == ["stdout", "stderr"]
        only = (await server.http.get(at, params={**query, "channel": "llm"})).json()["items"]
        assert [chunk["text"] for chunk in only] == ["token"]
        page = (await server.http.get(at, params={**query, "limit": 1})).json()
        rest = (await server.http.get(at, params={**query, "cursor": page["next"]})).json()
        assert len(rest["items"]) == 1
        assert (await server.http.get(at, params={"attempt": "other"})).status_code == 400
