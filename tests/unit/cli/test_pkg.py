"""`windlass pkg`: authors make, sign, check and try packages without a server."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.packages import EXAMPLES, manifest
from windlass.cli.pkg import pkg


def run(*words: str) -> Result:
    return CliRunner().invoke(pkg, list(words))


@pytest.fixture
def made(tmp_path: Path) -> Path:
    folder = tmp_path / "my-tools"
    assert run("new", "my-tools", str(folder)).exit_code == 0
    return folder


def test_a_new_package_works_as_it_is(made: Path) -> None:
    done = run("try", str(made), "my-tools.greet", "--params", '{"name": "Ada"}')
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"greeting": "Hello, Ada!"})
    assert "greeting Ada" in done.stderr
    done = run("try", str(made), "my-tools.add", "--params", '{"by": 4}', "--json")
    assert json.loads(done.stdout)["result"] == {"total": 4}


def test_a_new_package_overwrites_nothing_and_needs_a_proper_name(made: Path) -> None:
    assert "is there already" in run("new", "my-tools", str(made)).stderr
    assert "no name for a package" in run("new", "My Tools", str(made / "x")).stderr


def test_a_package_is_built_signed_and_verified(made: Path, tmp_path: Path) -> None:
    target, key = str(tmp_path / "a.cwx"), str(tmp_path / "key")
    done = run("build", str(made), "-o", target, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["name"] == "my-tools"
    again = run("build", str(made), "-o", str(tmp_path / "b.cwx"), "--json")
    assert json.loads(again.stdout)["sha256"] == json.loads(done.stdout)["sha256"]
    assert run("verify", target).stdout.startswith("unsigned")
    public = run("keygen", "-o", key).stdout.strip()
    assert Path(key).stat().st_mode & 0o777 == 0o600
    assert run("keygen", "-o", key).exit_code == 2
    assert run("sign", target, "--key", key, "--by", "Ada").exit_code == 0
    assert run("verify", target, "--trust", public).stdout.startswith("ok")
    other = run("keygen", "-o", str(tmp_path / "other")).stdout.strip()
    refused = run("verify", target, "--trust", other)
    assert (refused.exit_code, refused.stdout.split(":")[0]) == (4, "untrusted")
    assert run("try", target, "my-tools.greet").exit_code == 0


def test_all_problems_of_a_package_are_listed_at_once(tmp_path: Path) -> None:
    value = manifest(
        name="Bad Name",
        hooks={"install": ["scripts/none.sh"]},
        resources=[{"path": "resources/none", "type": "file"}],
    )
    (tmp_path / "manifest.json").write_text(json.dumps(value))
    (tmp_path / "link").symlink_to("/etc/passwd")
    done = run("build", str(tmp_path))
    assert done.exit_code == 2
    text = done.stderr
    for words in (
        "5 problem(s)",
        'name: "Bad Name" is not allowed',
        "link: this is a link",
        "hooks.install[0]",
        "resources[0].path",
        "no such module",
    ):
        assert words in text


def test_a_handler_that_fails_fails_the_command_with_its_trace() -> None:
    folder = str(EXAMPLES / "text_tools")
    done = run("try", folder, "text.fail", "--params", '{"how": "raise", "reason": "oh"}')
    assert done.exit_code == 1
    assert "RuntimeError: oh" in done.stderr
    assert "text_functions.py" in done.stderr


def test_what_is_wrong_with_a_try_is_said(made: Path, tmp_path: Path) -> None:
    for words, said in (
        (("nope",), 'no node "nope"'),
        (("my-tools.greet", "--params", "{"), "is not JSON"),
        (("my-tools.greet", "--params", "[]"), "is no object"),
    ):
        done = run("try", str(made), *words)
        assert said in str(done.exception)
    (tmp_path / "p.json").write_text('{"name": "file"}')
    done = run("try", str(made), "my-tools.greet", "--params", f"@{tmp_path / 'p.json'}")
    assert json.loads(done.stdout) == {"greeting": "Hello, file!"}
