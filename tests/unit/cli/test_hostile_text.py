"""Whatever strangers name things, terminals show it and do not obey; programs get it whole."""

import io
import json
import logging
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.hostile_values import NAMES
from tests.unit.cli.conftest import Invoke, Server
from windlass import cli as package
from windlass.cli.failures import report
from windlass.cli.progress import Snapshot
from windlass.cli.watch import _screen
from windlass.client.shapes import FailureInfo, TaskInfo
from windlass.model.errors import DefinitionError, NotFound, Problem
from windlass.model.visible import visible, visible_json
from windlass.wiring.log_format import VisibleFormatter

ID = "01a1deba-e800-7681-b747-fb331afd5d7c"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What no terminal may be sent; line breaks and tabs are the commands' own."""
EVERY_WORD = "".join(word for word in NAMES.values() if len(word) < 100)
AT = {"createdAt": 1000, "startedAt": 1000, "seenAt": 1000}


def answers(word: str) -> dict[tuple[str, str], Any]:
    """A server on which everything that can be named is called `word`."""
    error = {"kind": word, "message": word, "node": word}
    run = {"id": ID, "flow": word, "version": 1, "state": "failed", "error": error, **AT}
    run |= {"shared": {word: word}, "params": {word: word}, "tags": {word: word}, "node": word}
    task = {"id": f"{ID}~a.1", "node": word, "kind": word, "state": "failed", "error": error}
    attempt = {"id": f"{ID}~a.1@1", "state": "failed", "workerId": word, "log": f"{word}\n{word}"}
    said = {"at": 1000, "level": word, "task": f"{ID}~a.1", "attempt": 1, "text": f"{word}\n{word}"}
    ask = {"id": f"{ID}~a.1!0", "runId": ID, "flow": word, "node": word, "prompt": word}
    worker = {"id": word, "transport": word, "state": word, "services": [word, word], **AT}
    flow = {"id": word, "name": word, "description": word, "latest": 1, "versions": 1, **AT}
    version = {"flow": word, "version": 1, "status": word, "definition": {word: word}}
    user = {"userId": word, "username": word, "displayName": word, "roles": [word]}
    here = "/api/v1/"

    def listed(*items: Any) -> dict[str, Any]:
        return {"items": list(items), "next": None}

    return {
        ("GET", f"{here}runs"): listed(run),
        ("GET", f"{here}runs/{ID}"): run,
        ("GET", f"{here}runs/{ID}/tasks"): listed(task),
        ("GET", f"{here}runs/{ID}/attempts"): listed({**attempt, "error": error}),
        ("GET", f"{here}runs/{ID}/logs"): listed(said),
        ("GET", f"{here}runs/{ID}/why"): {"line": word, "reasons": [{"text": word}]},
        ("GET", f"{here}checkpoints"): listed(ask),
        ("GET", f"{here}workers"): listed(worker),
        ("GET", f"{here}flows"): listed(flow),
        ("GET", f"{here}flows/f"): flow,
        ("GET", f"{here}flows/f/versions/1"): version,
        ("GET", f"{here}tokens"): listed({"id": "1", "name": word, "role": word, **AT}),
        ("GET", f"{here}users"): {"items": [{**user, "isActive": True}], "nextCursor": None},
    }


COMMANDS = (
    ("run", "ls"),
    ("run", "show", ID),
    ("run", "tasks", ID),
    ("run", "logs", ID),
    ("why", ID),
    ("inbox", "ls"),
    ("worker", "ls"),
    ("flow", "ls"),
    ("flow", "show", "f"),
    ("token", "ls"),
    ("user", "ls"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("where", ["pipe", "terminal"])
def test_no_name_reaches_a_terminal_unescaped_or_escaped_twice(
    server: Server,
    invoke: Invoke,
    command: tuple[str, ...],
    where: str,
    request: pytest.FixtureRequest,
) -> None:
    if where == "terminal":
        request.getfixturevalue("on_terminal")
    for word in (*NAMES.values(), EVERY_WORD):
        server.answers = answers(word)
        shown = invoke(*command)
        assert shown.exit_code == 0, shown.output
        assert not OBEYED.search(shown.output), shown.output
        if where == "pipe" and "ls" in command:
            # A field is one line of one word: what is escaped is so once.
            field = visible(word.replace("\t", " ").replace("\n", " "))
            assert field in shown.output


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("where", ["pipe", "terminal"])
def test_programs_read_back_what_was_there(
    server: Server,
    invoke: Invoke,
    command: tuple[str, ...],
    where: str,
    request: pytest.FixtureRequest,
) -> None:
    if where == "terminal":
        request.getfixturevalue("on_terminal")
    server.answers = answers(EVERY_WORD)
    shown = invoke(*command, "--json")
    assert shown.exit_code == 0, shown.output
    assert not OBEYED.search(shown.stdout)
    assert EVERY_WORD in texts_in(json.loads(shown.stdout))


def texts_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {text for pair in value.items() for part in pair for text in texts_in(part)}
    if isinstance(value, list):
        return {text for part in value for text in texts_in(part)}
    return {value} if isinstance(value, str) else set()


@pytest.mark.parametrize("word", NAMES.values(), ids=NAMES.keys())
def test_errors_forge_no_line(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    report(NotFound(f'no run "{word}"\nerror: all is well'))
    report(DefinitionError([Problem(word, f"{word}\nerror: x", word)]))
    try:
        raise RuntimeError(word)
    except RuntimeError as error:
        report(error)
    shown = capsys.readouterr().err
    assert not OBEYED.search(shown), shown
    assert "\nerror: all is well" not in shown
    assert "\nerror: x" not in shown


def test_a_problem_the_server_tells_is_shown_as_text(
    server: Server, invoke: Invoke, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = {"detail": EVERY_WORD, "problems": [{"path": EVERY_WORD, "reason": EVERY_WORD}]}
    for status in (400, 403, 404, 409, 422, 500):
        server.answers["GET", "/api/v1/runs"] = httpx.Response(status, json=problem)
        answer = invoke("run", "ls")
        assert isinstance(answer.exception, Exception)
        report(answer.exception)
        assert not OBEYED.search(answer.output + capsys.readouterr().err)


def test_the_live_screen_shows_names_as_text() -> None:
    from rich.console import Console

    failed = FailureInfo(message=EVERY_WORD)
    tasks = [TaskInfo(id=f"{ID}~a.1", node=EVERY_WORD, state="failed", error=failed)]
    drawn = io.StringIO()
    Console(width=200, file=drawn).print(_screen(Snapshot(tasks, {}, {}, [], why=EVERY_WORD)))
    assert not OBEYED.search(drawn.getvalue())


def test_a_record_of_the_log_is_one_line() -> None:
    record = logging.makeLogRecord({"msg": "worker %s", "args": (EVERY_WORD,), "levelno": 20})
    line = VisibleFormatter("%(levelname)s %(message)s").format(record)
    assert not OBEYED.search(line)
    assert "\n" not in line


def test_what_is_shown_is_escaped_once() -> None:
    assert visible("\x1b[31m\u202e\n\t\\x") == "\\x1b[31m\\u202e\\n\\t\\x"
    assert visible(visible(EVERY_WORD)) == visible(EVERY_WORD)
    text = json.dumps({"a": EVERY_WORD}, ensure_ascii=False)
    assert json.loads(visible_json(text)) == {"a": EVERY_WORD}


def test_there_is_one_way_out() -> None:
    """Whatever a command prints goes through `printing`, or is drawn by the tables."""
    other = re.compile(r"click\.s?echo\(|(?<!\.)\bprint\(|std(out|err)\.write\(")
    for file in Path(package.__path__[0]).glob("*.py"):
        assert file.name == "printing.py" or not other.search(file.read_text()), file
