"""What commands say to people: on a terminal, on a dry run, when something is refused."""

import builtins
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import httpx
import pytest

from tests.unit.cli.conftest import Invoke, Server
from windlass.cli import failures
from windlass.cli.main import cli
from windlass.cli.starter import FILES
from windlass.client import Client
from windlass.client.errors import Unreachable
from windlass.dialects.flow import read_definition
from windlass.model import errors

ID = "01a1deba-e800-7681-b747-fb331afd5d7c"
RUN = {"id": ID, "flow": "f", "version": 2, "state": "failed", "createdAt": 1000, "seq": 1}
BASE = f"/api/v1/runs/{ID}"


@pytest.mark.usefixtures("on_terminal")
def test_a_terminal_gets_short_ids_and_a_pipe_whole_ones(server: Server, invoke: Invoke) -> None:
    server.answers["GET", "/api/v1/runs"] = {"items": [RUN], "next": None}
    shown = invoke("run", "ls").stdout
    assert "01a1deba-e800 " in shown
    assert ID not in shown
    assert "f@2" in shown
    assert "✗ failed" in shown
    assert ID in invoke("run", "ls", "--wide").stdout


def test_lists_go_over_as_many_pages_as_the_limit_needs(server: Server, invoke: Invoke) -> None:
    def page(request: httpx.Request) -> Any:
        cursor = int(request.url.params.get("cursor", "0"))
        items = [{**RUN, "id": f"r-{cursor + i}"} for i in range(2)]
        return {"items": items, "next": str(cursor + 2)}

    server.answers["GET", "/api/v1/runs"] = page
    listed = invoke("run", "ls", "--limit", "4")
    assert [line.split("\t")[0] for line in listed.stdout.splitlines()] == [
        "r-0",
        "r-1",
        "r-2",
        "r-3",
    ]
    assert "there are more" in listed.stderr
    assert invoke("run", "ls", "--limit", "0").exit_code == 2


@pytest.mark.usefixtures("on_terminal")
def test_long_fan_outs_are_skipped_rather_than_read(server: Server, invoke: Invoke) -> None:
    fan = f"{ID}~many.1"

    def tasks(request: httpx.Request) -> Any:
        if request.url.params.get("cursor") == f"{fan}~~":
            return {"items": [{"id": f"{ID}~review.2", "node": "review"}], "next": None}
        items = [{"id": fan, "node": "many", "total": 9999, "done": 9999}]
        items += [{"id": f"{fan}~{i}", "node": "many/*", "index": i} for i in range(3)]
        return {"items": items, "next": f"{fan}~2"}

    server.answers["GET", BASE] = RUN
    server.answers["GET", f"{BASE}/tasks"] = tasks
    listed = invoke("run", "tasks", ID, "--limit", "4")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == [
        "TASK",
        "many.1",
        "review.2",
    ]
    assert "✓9999" in listed.stdout
    assert "left out" in listed.stderr


def test_a_dry_run_lists_the_task_first_and_says_that_nothing_changed(
    server: Server, invoke: Invoke
) -> None:
    server.answers["GET", BASE] = RUN
    server.answers["POST", f"{BASE}/retry"] = {"task": "a", "redone": ["b", "c"]}
    done = invoke("run", "retry", ID, "--from", "a", "--dry-run")
    assert done.stdout == "a\nb\nc\n"
    assert "nothing was changed" in done.stderr
    assert "follow it" not in done.stderr
    as_json = invoke("run", "retry", ID, "--from", "a", "--dry-run", "--json")
    assert json.loads(as_json.stdout)["redone"] == ["a", "b", "c"]
    assert invoke("run", "retry", ID, "--from", "a", "--task", "b").exit_code == 2


def test_a_task_may_be_named_by_its_place(server: Server, invoke: Invoke) -> None:
    whole = f"{ID}~double.2~1"

    def retry(request: httpx.Request) -> Any:
        task = json.loads(request.content)["task"]
        return {"task": task, "redone": [task]} if task == whole else None

    server.answers["GET", BASE] = RUN
    server.answers["POST", f"{BASE}/retry"] = retry
    for given in ("double.2~1", f"{ID[:13]}~double.2~1", whole):
        assert invoke("run", "retry", ID, "--task", given).stdout == f"{whole}\n"
    with pytest.raises(errors.NotFound, match='no task "nope"; list them with'):
        invoke("run", "retry", ID, "--task", "nope", catch_exceptions=False)


def test_a_new_token_is_told_with_all_that_was_asked_for(server: Server, invoke: Invoke) -> None:
    server.answers["POST", "/api/v1/tokens"] = {"id": "1", "token": "wl_x"}
    server.answers["GET", "/api/v1/tokens"] = {"items": []}
    made = json.loads(invoke("token", "create", "ci", "--role", "worker", "--json").stdout)
    assert (made["name"], made["role"], made["token"]) == ("ci", "worker", "wl_x")
    row = {"id": "1", "name": "ci", "role": "worker", "expiresAt": 99}
    server.answers["GET", "/api/v1/tokens"] = {"items": [row]}
    made = json.loads(invoke("token", "create", "ci", "--role", "worker", "--json").stdout)
    assert (made["expiresAt"], made["token"]) == (99, "wl_x")


def test_a_checkpoint_is_found_by_what_the_list_shows(server: Server, invoke: Invoke) -> None:
    items = [{"id": f"{ID}~review.{n}!0"} for n in (2, 20)]
    server.answers["GET", "/api/v1/checkpoints"] = {"items": items}
    for path in ("review.2!0", "review.20!0"):
        server.answers["POST", f"/api/v1/checkpoints/{ID}~{path}/resolve"] = {}
    for given, path in (("review.2", "review.2!0"), ("review.20", "review.20!0")):
        assert invoke("inbox", "approve", f"{ID[:13]}~{given}").exit_code == 0
        assert server.requests[-1].url.path.endswith(f"~{path}/resolve")
    with pytest.raises(errors.Conflict, match="2 open checkpoints"):
        invoke("inbox", "approve", ID[:13], catch_exceptions=False)


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (errors.Conflict('key "k" already started run r; use a new key'), ""),
        (errors.Conflict("run r has no failed task; name the task to retry from"), ""),
        (errors.NotFound('no run "x"'), "windlass run ls"),
        (errors.NotFound('no token "x"'), "windlass token ls"),
        (errors.NotFound('no flow "x"; push one with `windlass flow push FILE`'), ""),
        (errors.Unauthorized("send a token: …"), "WINDLASS_TOKEN"),
        (errors.Unavailable("no control plane is running"), ""),
        (Unreachable("no answer from http://x"), "windlass dev"),
        (Unreachable("no answer from https://x: [SSL: CERTIFICATE_VERIFY_FAILED] …; name …"), ""),
    ],
)
def test_hints_are_given_only_where_they_add_something(error: Exception, hint: str) -> None:
    assert (hint in failures.hint_for(error)) if hint else failures.hint_for(error) == ""


def every_option(
    command: click.Command, path: str = "windlass"
) -> Iterator[tuple[str, click.Option]]:
    context = click.Context(command)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from every_option(found, f"{path} {name}")
    for option in command.params:
        if isinstance(option, click.Option):
            yield f"{path} {option.opts[0]}", option


def test_every_flag_has_a_help_text() -> None:
    assert [path for path, option in every_option(cli) if not option.help] == []


def test_every_setting_of_a_server_has_its_variable() -> None:
    processes = ("windlass dev ", "windlass server ")
    found = [path for path, o in every_option(cli) if path.startswith(processes) and not o.envvar]
    assert found == []


def test_a_push_token_reaches_the_server(monkeypatch: pytest.MonkeyPatch, invoke: Invoke) -> None:
    from windlass.wiring import commands
    from windlass.wiring.options import ServerOptions

    given: list[ServerOptions] = []

    def note(options: ServerOptions) -> int:
        given.append(options)
        return 0

    monkeypatch.setattr(commands, "server", note)
    monkeypatch.setattr(commands, "dev", note)
    invoke("server", "--no-auth", "--push-token", "s")
    invoke("dev", env={"WINDLASS_PUSH_TOKEN": "e", "WINDLASS_NO_EXAMPLE": "1"})
    assert [options.push_token for options in given] == ["s", "e"]
    assert given[1].example is False


def test_bench_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch, invoke: Invoke) -> None:
    whole = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "windlass.testing.bench":
            raise ModuleNotFoundError("No module named 'psutil'", name="psutil")
        return whole(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    refused = invoke("bench")
    assert refused.exit_code == 1
    assert 'bench needs "psutil"' in refused.stderr
    assert "run it in a checkout, after `make setup`" in refused.stderr


def test_a_module_that_does_not_import_is_its_authors_to_mend(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_done.py").write_text("1 / 0\n")
    (tmp_path / "needs_more.py").write_text("import not_there_at_all\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for args in (("worker", "half_done"), ("flow", "push", "half_done:flow")):
        with pytest.raises(errors.BadRequest, match="ZeroDivisionError"):
            invoke(*args, catch_exceptions=False)
    with pytest.raises(errors.BadRequest, match="not_there_at_all"):
        invoke("worker", "needs_more", catch_exceptions=False)
    with pytest.raises(errors.BadRequest, match="write services:worker"):
        invoke("worker", "services.py", catch_exceptions=False)


def test_init_writes_a_beginning_and_overwrites_nothing(invoke: Invoke, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "project"
    done = invoke("init", str(folder))
    assert done.exit_code == 0
    assert sorted(file.name for file in folder.iterdir()) == sorted(FILES)
    read_definition((folder / "greet.yaml").read_text(), yaml=True)
    (folder / "worker.py").write_text("mine")
    again = invoke("init", str(folder))
    assert again.exit_code == 2
    assert "worker.py" in again.stderr
    assert (folder / "worker.py").read_text() == "mine"


def test_a_slip_in_wait_starts_nothing(server: Server, invoke: Invoke) -> None:
    for words in (("f", "--wait", "5x"), ("--wait", "f")):
        refused = invoke("run", "start", *words)
        assert refused.exit_code == 2
        assert "is not a span of time" in refused.stderr
    with pytest.raises(errors.BadRequest, match="NAME@VERSION"):
        invoke("run", "start", "f@new", catch_exceptions=False)
    assert server.requests == []


@pytest.mark.parametrize("variable", ["WINDLASS_URL", "WINDLASS_SERVER"])
def test_clients_and_workers_read_the_same_variables(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from windlass.worker.settings import server_url

    for name in ("WINDLASS_URL", "WINDLASS_SERVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "http://there:1")
    with Client() as client:
        assert client.url == "http://there:1"
    assert server_url("") == "http://there:1"


def test_a_question_is_answered_in_plain_words_or_in_json(server: Server, invoke: Invoke) -> None:
    server.answers["GET", "/api/v1/checkpoints"] = {"items": []}
    server.answers["POST", "/api/v1/checkpoints/r~a!1/resolve"] = {}
    assert invoke("inbox", "answer", "r~a!1", "to the mayor").exit_code == 0
    assert server.body()["answer"] == "to the mayor"
    assert invoke("inbox", "answer", "r~a!1", "-i", '{"n": 1}').exit_code == 0
    assert server.body()["answer"] == {"n": 1}
    assert invoke("inbox", "answer", "r~a!1").exit_code == 2
