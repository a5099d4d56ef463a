"""News from feedback, what a stream remembers, and what a filter of workers keeps."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.datastructures import QueryParams

from tests.unit.server.link_bench import link_bench
from windlass.engine.feed import EVERY_RUN
from windlass.model.errors import BadRequest
from windlass.model.rows import Run
from windlass.model.states import RunState
from windlass.protocol.link import messages as m
from windlass.server.announcements import (
    capabilities_in,
    is_heartbeat,
    is_registration,
    packages_in,
)
from windlass.server.api.fleet import wanted
from windlass.server.commands import Commands
from windlass.server.compat.astraflow.events import Events
from windlass.server.compat.astraflow.news import News, feedback_news
from windlass.server.compat.astraflow.streams import Stream
from windlass.server.worker_details import camel, camel_capabilities

pytestmark = pytest.mark.anyio


def run(seq: int = 1, state: RunState = RunState.RUNNING, id_: str = "r") -> Run:
    return Run(
        id=id_,
        version_id="v",
        flow_id="f",
        flow_name="f",
        state=state,
        seq=seq,
        created_at=1,
        updated_at=1,
    )


def request(**query: str) -> Any:
    return SimpleNamespace(query_params=QueryParams(query))


def test_feedback_is_state_first_then_pieces_in_order() -> None:
    feedback = m.Feedback(
        run_id="r",
        task_id="t",
        progress=0.0,
        chunks=[m.Chunk(channel="log", text="a"), m.Chunk(channel="llm", data_base64="Yg==")],
        metadata={"results": {"/a/b": 1, "c~/d": 2}},
    )
    found = feedback_news("r", "n", 7, feedback, 0, 5)
    assert [type_ for type_, _ in found] == ["node.state", *["node.result.delta"] * 4]
    assert found[0][1]["state"]["progress"] == 0.0
    deltas = [data for _, data in found[1:]]
    assert [data["sequence"] for data in deltas] == [6, 7, 8, 9]
    assert deltas[0]["payload"] == {"text": "a"}
    assert deltas[1]["payload"] == {"dataBase64": "Yg=="}
    assert [data["path"] for data in deltas[2:]] == ["/a/b", "/c~0~1d"]
    assert feedback_news("r", "n", 1, m.Feedback(run_id="r", task_id="t"), 0, 0) == []


async def test_streams_go_on_after_a_mistake_of_ours_and_it_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with link_bench() as bench:
        events = Events(bench.engine, bench.plane, Commands(bench.engine, bench.plane))
        looks: list[int] = []

        async def look() -> None:
            looks.append(1)
            if len(looks) == 1:
                raise KeyError("ours")
            events._streams.clear()

        monkeypatch.setattr(events, "_look_once", look)
        events._streams["client"] = set()
        bench.engine.feed.runs.wake([EVERY_RUN])
        await asyncio.wait_for(events._look(), 5)
        duty = bench.engine.duties.of("EventStreams")
        assert (len(looks), duty.failures, duty.failing_s) == (2, 1, 0)


RUN = "01a1f516-f970-715d-a443-191214a0c760"
MANY = "9" * 5_000


@pytest.mark.parametrize("last_id", [f"t:{MANY}", f"{RUN}:{MANY}:1", f"{RUN}:1:{MANY}"])
async def test_a_place_of_thousands_of_digits_is_none_and_leaves_no_reader(last_id: str) -> None:
    async with link_bench() as bench:
        events = Events(bench.engine, bench.plane, Commands(bench.engine, bench.plane))
        stopping = asyncio.Event()
        stream = events.read("client", last_id, stopping)
        assert await anext(stream) == b": welcome\n\n"
        stopping.set()
        assert [message async for message in stream] == []
        assert events._streams == {}


def test_results_are_removed_by_none_and_a_bare_summary_is_one_of_them() -> None:
    def deltas(metadata: dict[str, Any]) -> list[tuple[str, str, Any]]:
        feedback = m.Feedback(run_id="r", task_id="t", metadata=metadata)
        found = [data for _, data in feedback_news("r", "n", 1, feedback, 0, 0)]
        return [(d["operation"], d["path"], d.get("payload")) for d in found]

    told = {"results": {"a": 1, "b": None}, "summary": "good"}
    assert deltas(told) == [
        ("replace", "/a", {"value": 1}),
        ("remove", "/b", None),
        ("replace", "/summary", {"value": "good"}),
    ]
    assert deltas({"results": None}) == [("remove", "", None)]
    assert deltas({"results": {"summary": "own"}, "summary": "bare"})[0][2] == {"value": "own"}
    assert deltas({"other": 1}) == []


def test_metrics_of_a_node_are_told_one_by_one() -> None:
    feedback = m.Feedback(run_id="r", task_id="t", metrics={"rows": 7.0, "loss": 0.5})
    found = feedback_news("r", "n", 1, feedback, 0, 0)
    assert [type_ for type_, _ in found] == ["run.metrics", "run.metrics"]
    told = {"kind": "run.metrics", "runId": "r", "tags": {"nodeId": "n"}}
    assert found[0][1] == {**told, "metric": "rows", "value": 7.0}


def test_a_client_that_falls_behind_loses_its_stream_and_no_memory() -> None:
    stream = Stream("me", queue_max=3)
    news = News("1", "x", 0, {})
    for _ in range(5):
        stream.put(news)
    assert stream.overran
    taken = 0
    while stream.take() is not None:
        taken += 1
    assert taken == 3


def test_a_stream_forgets_the_oldest_runs_first() -> None:
    stream = Stream("me")
    for number in range(10_001):
        stream.told(run(id_=str(number)), 1)
    assert "0" not in stream.seen
    assert "0" not in stream.open
    assert len(stream.seen) == 10_000
    stream.told(run(5, RunState.SUCCEEDED, "7"), 5)
    assert stream.seen["7"] == 5
    assert "7" not in stream.open


def test_waiting_and_running_are_one_status() -> None:
    stream = Stream("me")
    status = News("1", "run.status", 0, {"status": "running"}, "r")
    assert stream.is_new(status)
    assert not stream.is_new(status)
    assert stream.is_new(status._replace(data={"status": "failed"}))
    assert stream.is_new(News("2", "node.status", 0, {}, "r"))


def test_names_are_written_as_json_does_and_node_types_are_left_alone() -> None:
    assert camel({"cpu_pct": 1, "held": 2}) == {"cpuPct": 1, "held": 2}
    given = {"concurrency": {"max_parallel": 1, "per_node_limits": {"a.b_c": 2}}}
    assert camel_capabilities(given)["concurrency"]["perNodeLimits"] == {"a.b_c": 2}


@pytest.mark.parametrize(
    "query", [{"healthy": "2"}, {"packageVersion": "1"}, {"maxHeartbeatAgeSeconds": "soon"}]
)
def test_a_filter_that_cannot_be_read_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(BadRequest):
        wanted(request(**query))


@pytest.mark.parametrize(
    ("fields", "ours"),
    [
        ({"id": "w", "url": "http://x", "services": ["s"]}, False),
        ({"id": "w", "type": "async", "services": ["s"]}, False),
        ({"id": "w"}, False),
        ({"workerid": "w"}, True),
        ({"id": "w", "capabilities": {}}, True),
        ({"type": "register", "workerid": "w"}, True),
    ],
)
def test_registrations_of_both_kinds_are_told_apart(fields: dict[str, Any], ours: bool) -> None:
    assert is_registration(fields) is ours


def test_heartbeats_of_both_kinds_are_told_apart() -> None:
    assert not is_heartbeat({"id": "w", "load": 3})
    assert is_heartbeat({"id": "w", "healthy": True})
    assert is_heartbeat({"type": "heartbeat", "id": "w"})


def test_what_a_worker_announces_is_read_in_every_spelling() -> None:
    assert packages_in({"packages": ["a@1.0.0"]})[0] == {
        "name": "a",
        "version": "1.0.0",
        "status": "installed",
    }
    assert capabilities_in({"capabilities": ["x"]})["features"] == ["x"]
    camel_case = {"capabilities": {"concurrency": {"maxParallel": 3}}}
    assert capabilities_in(camel_case)["concurrency"] == {"max_parallel": 3}
    with pytest.raises(BadRequest):
        packages_in({"packages": {"a": 1}})
