"""The command line without a server: arguments in, requests and exit codes out."""

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.unit.cli.conftest import Invoke, Server
from windlass.cli import failures, texts
from windlass.cli.params import flow_version, read_params, read_value
from windlass.client import RunFailed, WaitTimeout
from windlass.client.shapes import RunInfo
from windlass.model import errors

RUN = {"id": "0190-aa", "flow": "f", "version": 2, "state": "failed", "createdAt": 1000}


def test_lists_are_tsv_in_a_pipe_and_json_on_request(server: Server, invoke: Invoke) -> None:
    server.answers["GET", "/api/v1/runs"] = {"items": [RUN], "next": None}
    piped = invoke("run", "ls", "-q", "status:failed")
    assert piped.stdout.split("\t")[:5] == [
        "0190-aa",
        "f",
        "2",
        "failed",
        "1970-01-01T00:00:01.000+00:00",
    ]
    assert server.requests[0].url.params["q"] == "status:failed"
    as_json = invoke("run", "ls", "--json")
    assert json.loads(as_json.stdout)[0]["id"] == "0190-aa"


def test_starting_a_run_reads_parameters(server: Server, invoke: Invoke, tmp_path: Path) -> None:
    server.answers["POST", "/api/v1/runs"] = {"id": "r-1", "state": "queued"}
    (tmp_path / "in.json").write_text('{"a": 1, "b": 1}')
    base = f"@{tmp_path / 'in.json'}"
    done = invoke("run", "start", "f@3", "-i", base, "-p", "b=two", "-p", "c.d:=[1]", "--key", "k")
    assert done.exit_code == 0, done.output
    assert done.stdout == "r-1\n"
    body = server.body()
    assert body["params"] == {"a": 1, "b": "two", "c": {"d": [1]}}
    assert body["version"] == 3
    assert server.requests[-1].headers["Idempotency-Key"] == "k"


def test_at_last_is_the_newest_run(server: Server, invoke: Invoke) -> None:
    server.answers["GET", "/api/v1/runs"] = {"items": [RUN]}
    server.answers["GET", "/api/v1/runs/0190-aa"] = RUN
    server.answers["GET", "/api/v1/runs/0190-aa/why"] = {"line": "failed at a: boom"}
    assert invoke("why", "@last").stdout == "failed at a: boom\n"


def test_watching_a_run_prints_its_events_and_exits_by_its_outcome(
    server: Server, invoke: Invoke
) -> None:
    stream = b'id: 1\nevent: run.started\ndata: {"at": 1000}\n\n'
    server.answers["GET", "/api/v1/runs/0190-aa/events"] = httpx.Response(200, content=stream)
    server.answers["GET", "/api/v1/runs/0190-aa"] = {**RUN, "seq": 1}
    watched = invoke("run", "watch", "0190-aa")
    assert watched.stdout == "1\t1970-01-01T00:00:01.000+00:00\trun.started\t\n"
    assert watched.exit_code == 1


def test_a_flow_is_pushed_from_a_file_or_a_module(
    server: Server, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers["POST", "/api/v1/flows/greet/versions"] = {"flow": "greet", "version": 1}
    (tmp_path / "greet.flow.yaml").write_text("start: a\n")
    assert invoke("flow", "push", str(tmp_path / "greet.flow.yaml")).stdout == "greet\t1\n"
    assert server.body() == {"definition": {"start": "a"}, "status": "published"}
    (tmp_path / "my_flow.py").write_text(
        "from windlass import Flow\nf = Flow('greet')\nf.step('a', 's')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert invoke("flow", "push", "my_flow:f").exit_code == 0
    assert server.body()["definition"]["start"] == "a"


def test_a_checkpoint_is_answered_by_the_beginning_of_its_id(
    server: Server, invoke: Invoke
) -> None:
    server.answers["GET", "/api/v1/checkpoints"] = {"items": [{"id": "3d9f"}, {"id": "77aa"}]}
    server.answers["POST", "/api/v1/checkpoints/3d9f/resolve"] = {}
    assert invoke("inbox", "approve", "3d", "-m", "fine").exit_code == 0
    assert server.body() == {"answer": "approved", "note": "fine"}
    server.answers["POST", "/api/v1/checkpoints/77aa/resolve"] = {}
    assert invoke("inbox", "reject", "77").exit_code == 0
    assert server.body()["answer"] == "rejected"


def test_retry_signal_cancel_and_tokens(server: Server, invoke: Invoke) -> None:
    base = "/api/v1/runs/0190-aa"
    server.answers["GET", base] = RUN
    server.answers["POST", f"{base}/retry"] = {"task": "t", "redone": ["t", "u"]}
    assert invoke("run", "retry", "0190-aa", "--from", "t").stdout == "t\nu\n"
    assert server.body() == {"task": "t", "from": True, "dryRun": False}
    server.answers["POST", f"{base}/signal"] = {}
    assert invoke("run", "signal", "0190-aa", "paid", '{"eur": 3}').exit_code == 0
    assert server.body() == {"key": "paid", "value": {"eur": 3}}
    server.answers["POST", f"{base}/cancel"] = {}
    assert invoke("run", "cancel", "0190-aa", "--reason", "no").exit_code == 0
    server.answers["POST", f"{base}/rerun"] = {"id": "r-2"}
    assert invoke("run", "rerun", "0190-aa").stdout == "r-2\n"
    server.answers["POST", "/api/v1/tokens"] = {"id": "1", "token": "wl_x"}
    assert invoke("token", "create", "ci", "--role", "worker", "--expires", "1d").stdout == "wl_x\n"
    assert server.body() == {"name": "ci", "role": "worker", "expiresInS": 86400}


def test_workers_are_listed_by_the_group_that_also_starts_them(
    server: Server, invoke: Invoke
) -> None:
    server.answers["GET", "/api/v1/workers"] = {"items": [{"id": "w-1", "services": ["a", "b"]}]}
    listed = invoke("worker", "ls")
    assert listed.stdout.startswith("w-1\t")
    assert listed.stdout.endswith("\ta,b\n")
    assert invoke("worker", "--concurrency", "0", "builtin").exit_code == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RunFailed(RunInfo(id="r")), 1),
        (errors.DefinitionError([errors.Problem("a", "b")]), 2),
        (errors.BadRequest("x"), 2),
        (errors.NotFound("x"), 3),
        (errors.Unauthorized("x"), 4),
        (errors.Denied("x"), 4),
        (errors.Unavailable("x"), 5),
        (WaitTimeout("r", "running"), 124),
    ],
)
def test_exit_codes_say_what_went_wrong(
    error: Exception, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failures.report(error) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")


def test_a_server_reads_its_settings_from_flags_and_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from windlass.cli.server import read_roles, server

    context = server.make_context("server", ["--no-auth"])
    assert context.params["port"] == 8070
    monkeypatch.setenv("SCHEDULER_DB", "old.db")
    monkeypatch.setenv("WINDLASS_PORT", "9000")
    monkeypatch.setenv("WINDLASS_ADMIN_TOKEN", "t")
    monkeypatch.setenv("WINDLASS_ROLE", "api")
    context = server.make_context("server", [])
    given = context.params
    assert (given["db"], given["port"], given["admin_token"]) == ("old.db", 9000, "t")
    assert read_roles(given["roles"]) == {"api"}


def test_a_server_without_tokens_stays_on_loopback(invoke: Invoke) -> None:
    refused = invoke("server", "--no-auth", "--host", "0.0.0.0")
    assert refused.exit_code == 2
    assert "loopback" in refused.stderr
    assert invoke("dev", "--host", "0.0.0.0").exit_code == 2


def test_parameters_that_make_no_sense_are_refused_with_a_hint() -> None:
    assert read_params("", ["a=1=2"]) == {"a": "1=2"}
    for wrong in ("a", "=b", "a:=x"):
        with pytest.raises(errors.BadRequest):
            read_params("", [wrong])
    for wrong in ("@1", "greet@x", "greet@" + "9" * 5_000):
        with pytest.raises(errors.BadRequest, match="NAME@VERSION"):
            flow_version(wrong)
    with pytest.raises(errors.BadRequest, match="must be a JSON object"):
        read_params("[1]", [])


@pytest.mark.parametrize(
    "text", ["1e999", "NaN", "[-Infinity]", "9" * 5_000, "[" * 3_000 + "]" * 3_000, '"\\ud800"']
)
def test_values_that_no_server_reads_are_refused_where_they_are_typed(text: str) -> None:
    with pytest.raises(errors.BadRequest):
        read_value(text)
    with pytest.raises(errors.BadRequest):
        read_params("", [f"a:={text}"])


def test_files_and_paths_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(errors.BadRequest, match="not UTF-8"):
        read_value(f"@{tmp_path / 'latin.json'}")
    with pytest.raises(errors.BadRequest, match="levels deep"):
        read_params("", [".".join("a" * 3_000) + "=b"])


def test_spans_are_short() -> None:
    spans = [texts.span_text(s) for s in (0.5, 42, 75, 700, 4000, 200_000)]
    assert spans == ["0.5s", "42s", "1m15s", "12m", "1h6m", "2d7h"]


def test_help_loads_nothing_that_is_not_needed() -> None:
    code = (
        "import sys\nfrom windlass.cli.main import cli\n"
        "cli.main(['--help'], standalone_mode=False)\n"
        "loaded = {'httpx', 'rich', 'windlass.client', 'windlass.worker', 'msgspec'}\n"
        "print(sorted(loaded & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert "Durable orchestration" in done.stdout
