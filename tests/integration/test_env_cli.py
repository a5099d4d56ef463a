"""`windlass env` and `windlass image`: made, listed, looked into and given back from a terminal."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from tests.integration.conftest import TOKEN, Served
from tests.integration.test_envs import Hand, flow, session_of
from windlass.cli.failures import code_for
from windlass.cli.main import cli
from windlass.testing.processes import wait_until


class Terminal:
    def __init__(self, served: Served) -> None:
        self._env = {"WINDLASS_URL": served.server.url, "WINDLASS_TOKEN": TOKEN}

    def run(self, *words: str, code: int = 0, **more: Any) -> Result:
        done = CliRunner().invoke(cli, list(words), env=self._env, **more)
        assert done.exit_code == code, (done.output, done.exception)
        return done

    def refused(self, *words: str) -> str:
        """What is said against a command that is refused as what is not there."""
        error = CliRunner().invoke(cli, list(words), env=self._env).exception
        assert isinstance(error, Exception)
        assert code_for(error) == 3, error
        return str(error)

    def found(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json").stdout)


def test_resources_and_sessions_from_a_terminal(served: Served) -> None:
    terminal = Terminal(served)
    files = '{"files": {"hello.txt": "hi"}}'
    terminal.run("env", "create", "desk", "--kind", "noop", "--config", files)
    assert terminal.found("env", "set", "desk", "--capacity", "2")["capacity"] == 2
    refused = terminal.refused("env", "create", "box", "--kind", "container")
    assert "podman" in refused, "and what to do about it"
    assert "desk" in terminal.run("env", "ls").output
    served.push("env-desk", flow("env.desk", {"resource": "desk", "keep_failed_s": 600}))
    worker = Hand(served.http, "env.desk")
    run_id = served.start("env-desk")
    taken = worker.take()
    session = taken["env"]["session_id"]
    assert terminal.run("env", "exec", session, "--", "cat", "hello.txt").stdout.strip() == "hi"
    assert "attempt" in terminal.refused("env", "release", session)
    worker.write(taken, "hello.txt", "changed")
    worker.fail(taken, "no")
    served.wait(run_id)
    listed = terminal.found("env", "ls", "--sessions", "--resource", "desk")
    assert [(one["id"], one["state"]) for one in listed] == [(session, "kept")]
    typed = terminal.run("env", "shell", "desk", input="cat hello.txt\n")
    assert "changed" in typed.stdout, "by the name of a resource that has only one"
    terminal.run("env", "release", session, "--reason", "seen")
    wait_until(lambda: session_of(served, taken)["state"] == "released")
    shown = terminal.found("env", "show", session)
    assert (shown["reason"], shown["drift"]) == ("seen", "changed")
    terminal.run("env", "rm", "desk")
    assert "desk" in terminal.refused("env", "show", "desk")


def test_images_from_a_terminal(served: Served, tmp_path: Path) -> None:
    terminal = Terminal(served)
    for name, step, code in (("term-good", "true", 0), ("term-bad", "false", 1)):
        dockerfile = tmp_path / name
        dockerfile.write_text(f"FROM a\nRUN {step}")
        terminal.run("image", "build", name, str(dockerfile), code=code)
    assert terminal.found("image", "show", "term-good")["status"] == "ready"
    assert "step 2: RUN true" in terminal.run("image", "show", "term-good", "--log").stdout
    names = {one["name"]: one["status"] for one in terminal.found("image", "ls")}
    assert (names["term-good"], names["term-bad"]) == ("ready", "failed")
