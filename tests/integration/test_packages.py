"""Packages on a worker: put in place whole or not at all, and removed without a trace."""

import asyncio
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.hostile import HOSTILE
from tests.integration.workbench import workbench
from tests.packages import ROOT, archive
from windlass.protocol.packages.archive import Limits
from windlass.protocol.packages.digest import sha256
from windlass.protocol.packages.errors import PackageError
from windlass.protocol.packages.signature import Trust, new_key, public_key, sign
from windlass.testing.processes import wait_until

pytestmark = pytest.mark.anyio

SAYS = "async def run(ctx):\n    return {{'says': {0!r}}}\n"


async def test_versions_coexist_and_one_can_go_without_the_other(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        for version in ("1.0.0", "1.10.0", "1.9.0"):
            code = SAYS.format(version)
            await bench.install(archive(code, version=version), version=version)
        manager = bench.manager
        assert manager.versions("tools") == ["1.0.0", "1.9.0", "1.10.0"]
        for version in manager.versions("tools"):
            assert await bench.result(version=version) == {"says": version}
        assert manager.rollback("tools") == "1.9.0"
        assert await manager.uninstall("tools", "1.9.0") == ["1.9.0"]
        assert manager.rollback("tools") == "1.0.0"
        assert manager.rollback("tools", "1.0.0") is None
        gone = await bench.call(version="1.9.0")
        assert gone.error is not None
        assert gone.error.code == "E.CMD.UNKNOWN"
        assert await bench.result(version="1.10.0") == {"says": "1.10.0"}
        assert await manager.uninstall("tools") == ["1.0.0", "1.10.0"]
        assert bench.traces() == []


async def test_the_inventory_is_found_again_by_the_next_worker(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(archive())
        with pytest.raises(PackageError):
            await bench.install(
                archive("import nothing_like_this\n", version="2.0.0"), version="2.0.0"
            )
        lines = [(line.name, line.version, line.status) for line in bench.manager.inventory()]
        assert lines == [("tools", "1.0.0", "installed"), ("tools", "2.0.0", "failed")]
    (tmp_path / "packages" / "tools" / "3.0.0").mkdir()  # a ruin
    (tmp_path / "packages" / ".tmp" / "left").mkdir(parents=True, exist_ok=True)
    async with workbench(tmp_path) as bench:
        [line] = bench.manager.inventory()
        assert (line.version, line.status, line.manifest["name"]) == ("1.0.0", "installed", "tools")
        assert not (bench.root / ".tmp").exists()
        assert await bench.result(params={"a": 1}) == {"got": {"a": 1}}
        await bench.install(archive(version="3.0.0"), version="3.0.0")  # over the ruin
        assert await bench.result(version="3.0.0") == {"got": {}}


@pytest.mark.parametrize("kind", HOSTILE)
async def test_a_hostile_archive_leaves_no_file(tmp_path: Path, kind: str) -> None:
    make, words = HOSTILE[kind]
    async with workbench(tmp_path) as bench:
        with pytest.raises(PackageError, match=words) as caught:
            await bench.install(make())
        assert caught.value.code == "E.PKG.INVALID"
        assert bench.traces() == []
        assert not list((bench.root / ".tmp").iterdir())
        assert not (tmp_path / "evil.txt").exists()


FAILURES: dict[str, tuple[bytes, dict[str, Any], str, str]] = {
    "import": (archive("import nothing_like_this\n"), {}, "E.PKG.INVALID", "nothing_like_this"),
    "handler": (archive("x = 1\n"), {}, "E.PKG.INVALID", "has no run"),
    "syntax": (archive("def run(:\n"), {}, "E.PKG.INVALID", "SyntaxError"),
    "exit": (archive("import sys; sys.exit(3)\n"), {}, "E.PKG.INVALID", "SystemExit"),
    "hangs": (
        archive("import time; time.sleep(60)\n"),
        {"load_s": 0.5},
        "E.PKG.FAILED",
        "took more than 0.5 s",
    ),
    "python": (archive(python={"requires": ">=3.99"}), {}, "E.PKG.INVALID", "needs Python"),
    "dependency": (
        archive(python={"requires": ">=3.11", "dependencies": ["x @ file:///no/such.whl"]}),
        {},
        "E.PKG.FAILED",
        "dependencies failed",
    ),
    "resource": (
        archive(resources=[{"path": "resources/a", "type": "file"}]),
        {},
        "E.PKG.INVALID",
        "declared and not there",
    ),
    "resource digest": (
        archive(
            files={"resources/a": "x"},
            resources=[{"path": "resources/a", "type": "file", "sha256": "0" * 64}],
        ),
        {},
        "E.PKG.INVALID",
        "has the SHA-256",
    ),
    "hook refused": (
        archive(files={"scripts/a.sh": "exit 0"}, hooks={"install": ["scripts/a.sh"]}),
        {"hooks": ("scripts/b.sh",)},
        "E.PKG.PERMISSION",
        "wants to run scripts/a.sh",
    ),
    "hook failed": (
        archive(files={"scripts/a.sh": "echo no >&2; exit 3"}, hooks={"install": ["scripts/a.sh"]}),
        {"hooks": ("scripts/a.sh",)},
        "E.PKG.FAILED",
        "failed with code 3:\nno",
    ),
    "hook hangs": (
        archive(files={"scripts/a.sh": "sleep 60"}, hooks={"install": ["scripts/a.sh"]}),
        {"hooks": ("*",), "hook_s": 0.3},
        "E.PKG.FAILED",
        "took more than 0.3 s",
    ),
    "hook missing": (
        archive(hooks={"install": ["scripts/a.sh"]}),
        {"hooks": ("*",)},
        "E.PKG.INVALID",
        "is not in the package",
    ),
    "unsigned": (archive(), {"trust": Trust(required=True)}, "E.PKG.PERMISSION", "not signed"),
}


@pytest.mark.parametrize("kind", FAILURES)
async def test_an_installation_that_fails_leaves_everything_as_it_was(
    tmp_path: Path, kind: str
) -> None:
    data, settings, code, words = FAILURES[kind]
    async with workbench(tmp_path) as bench:
        await bench.install(archive(version="0.9.0"), version="0.9.0")
    async with workbench(tmp_path, **settings) as bench:
        before = bench.traces()
        with pytest.raises(PackageError, match=words) as caught:
            await bench.install(data)
        assert caught.value.code == code
        assert bench.traces() == before
        assert not list((bench.root / ".tmp").iterdir())
        assert await bench.result(version="0.9.0") == {"got": {}}


async def test_a_wrong_digest_is_refused_and_a_prefix_is_fine(tmp_path: Path) -> None:
    data = archive()
    async with workbench(tmp_path) as bench:
        with pytest.raises(PackageError, match="has the SHA-256"):
            await bench.install(data, sha256="0" * 64)
        assert bench.traces() == []
        await bench.install(data, sha256=f"sha256:{sha256(data)}")


async def test_a_trusted_signature_is_noted_with_the_version(tmp_path: Path) -> None:
    key = new_key()
    data = sign(archive(), key, signed_at="2026-01-01T00:00:00Z", signed_by="Ada")
    async with workbench(tmp_path, trust=Trust(required=True, keys=(public_key(key),))) as bench:
        done = await bench.install(data)
        assert (done.receipt.signature, done.receipt.signed_by) == ("ok", "Ada")


async def test_the_same_content_again_is_no_work_and_other_content_is_refused(
    tmp_path: Path,
) -> None:
    async with workbench(tmp_path) as bench:
        first = await bench.install(archive())
        assert await bench.result() == {"got": {}}
        pid = bench.hosts.pid("tools", "1.0.0")
        assert await bench.install(archive()) is first
        missing = str(tmp_path / "not there.cwx")
        digest = first.receipt.sha256
        assert await bench.manager.install("tools", "1.0.0", missing, digest) is first
        with pytest.raises(PackageError, match="other content") as caught:
            await bench.install(archive(SAYS.format("other")))
        assert caught.value.code == "E.PKG.CONFLICT"
        await bench.result()
        assert bench.hosts.pid("tools", "1.0.0") == pid


async def test_installations_of_one_version_wait_for_each_other(tmp_path: Path) -> None:
    counted = tmp_path / "count"
    hook = f"echo x >> {counted}; sleep 0.2"
    data = archive(files={"scripts/a.sh": hook}, hooks={"install": ["scripts/a.sh"]})
    async with workbench(tmp_path, hooks=("*",)) as bench:
        await asyncio.gather(*(bench.install(data) for _ in range(4)))
        assert counted.read_text() == "x\n"


async def test_an_installation_can_be_called_off(tmp_path: Path) -> None:
    started = tmp_path / "started"
    hook = f"touch {started}; sleep 60"
    data = archive(files={"scripts/a.sh": hook}, hooks={"install": ["scripts/a.sh"]})
    async with workbench(tmp_path, hooks=("*",)) as bench:
        task = asyncio.create_task(bench.install(data))
        await asyncio.to_thread(wait_until, started.exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert bench.traces() == []


async def test_hooks_run_in_the_package_without_our_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDLASS_TOKEN", "secret")
    scripts = {
        "scripts/in.sh": "env > seen.txt; pwd >> seen.txt",
        "scripts/out.py": f"open({str(tmp_path / 'bye')!r}, 'w').close()",
    }
    hooks = {"install": ["scripts/in.sh"], "uninstall": ["scripts/out.py"]}
    async with workbench(tmp_path, hooks=tuple(scripts)) as bench:
        done = await bench.install(archive(files=scripts, hooks=hooks))
        seen = (done.folder / "seen.txt").read_text()
        assert "WINDLASS_PACKAGE=tools" in seen
        assert "secret" not in seen
        await bench.manager.uninstall("tools", "1.0.0")
        assert (tmp_path / "bye").exists()
        assert bench.traces() == []


async def test_a_failing_goodbye_does_not_keep_a_package(tmp_path: Path) -> None:
    data = archive(files={"bye.sh": "exit 1"}, hooks={"uninstall": ["bye.sh"]})
    async with workbench(tmp_path, hooks=("*",)) as bench:
        await bench.install(data)
        await bench.manager.uninstall("tools", "1.0.0")
        assert bench.traces() == []
        with pytest.raises(PackageError, match="is not installed"):
            await bench.manager.uninstall("tools", "1.0.0")


def wheel(folder: Path, name: str, version: str) -> Path:
    """A wheel with one module that knows its version, written by hand."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(f"{name}.py", f"VERSION = {version!r}\n")
        packed.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        packed.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        packed.writestr(f"{info}/RECORD", "")
    return path


@pytest.mark.parametrize("with_uv", [True, False])
async def test_each_version_has_the_dependencies_it_names(tmp_path: Path, with_uv: bool) -> None:
    code = "import leaf\nasync def run(ctx):\n    return {'leaf': leaf.VERSION}\n"
    settings: dict[str, Any] = {} if with_uv else {"uv": ""}
    async with workbench(tmp_path, **settings) as bench:
        for version in ("1.0.0", "2.0.0"):
            python = {
                "requires": ">=3.11",
                "dependencies": [f"leaf @ file://{wheel(tmp_path, 'leaf', version)}"],
            }
            await bench.install(archive(code, version=version, python=python), version=version)
        for version in ("1.0.0", "2.0.0"):
            assert await bench.result(version=version) == {"leaf": version}


async def test_requirements_may_name_wheels_in_the_package(tmp_path: Path) -> None:
    path = wheel(tmp_path, "leaf", "3.0.0")
    code = "import leaf\nasync def run(ctx):\n    return {'leaf': leaf.VERSION}\n"
    data = archive(code, files={"requirements.txt": f"# ours\n./vendor/{path.name}\n"})
    packed = tmp_path / "with.cwx"
    packed.write_bytes(data)
    with zipfile.ZipFile(packed, "a") as more:
        more.write(path, f"vendor/{path.name}")
    async with workbench(tmp_path) as bench:
        await bench.manager.install("tools", "1.0.0", f"file://{packed}")
        assert await bench.result() == {"leaf": "3.0.0"}


class Site(BaseHTTPRequestHandler):
    """Serves an archive, elsewhere by a redirect, and remembers who sent a token."""

    data = b""
    other = ""
    tokens: ClassVar[dict[str, str]] = {}

    def do_GET(self) -> None:
        type(self).tokens[self.path] = self.headers.get("Authorization", "")
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", f"{self.other}/elsewhere.cwx")
            self.end_headers()
            return
        self.send_response(200 if self.path.endswith(".cwx") else 404)
        self.end_headers()
        if self.path.endswith(".cwx"):
            self.wfile.write(self.data)

    def log_message(self, *args: Any) -> None:
        """Be quiet."""


@pytest.fixture
def site() -> Iterator[tuple[str, type[Site]]]:
    handler = type("OneSite", (Site,), {"data": archive(), "tokens": {}})
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), handler) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    urls = [f"http://127.0.0.1:{server.server_port}" for server in servers]
    handler.other = urls[1]  # type: ignore[attr-defined]
    yield urls[0], handler
    for server in servers:
        server.shutdown()
        server.server_close()


async def test_the_token_goes_to_our_server_and_to_nobody_else(
    tmp_path: Path, site: tuple[str, type[Site]]
) -> None:
    url, handler = site
    async with workbench(tmp_path, server=url, token="secret") as bench:
        await bench.manager.install("tools", "1.0.0", f"{url}/a.cwx")
        await bench.manager.uninstall("tools")
        await bench.manager.install("tools", "1.0.0", f"{url}/moved.cwx")
        await bench.manager.uninstall("tools")
        await bench.manager.install("tools", "1.0.0", f"{handler.other}/b.cwx")
    assert handler.tokens == {
        "/a.cwx": "Bearer secret",
        "/moved.cwx": "Bearer secret",
        "/elsewhere.cwx": "",
        "/b.cwx": "",
    }


async def test_a_download_that_does_not_work_says_why(
    tmp_path: Path, site: tuple[str, type[Site]]
) -> None:
    url, handler = site
    async with workbench(tmp_path, limits=Limits(archive_bytes=10_000)) as bench:
        for source, words in (
            (f"{url}/nothing", "answers 404"),
            ("http://127.0.0.1:1/a.cwx", "cannot be fetched"),
            ("ftp://x/a.cwx", "cannot be fetched"),
            (str(tmp_path / "none.cwx"), "cannot read"),
        ):
            with pytest.raises(PackageError, match=words):
                await bench.manager.install("tools", "1.0.0", source)
        handler.data = b"x" * 20_000
        with pytest.raises(PackageError, match="sends more than"):
            await bench.manager.install("tools", "1.0.0", f"{url}/huge.cwx")
        assert bench.traces() == []


async def test_secrets_in_a_url_are_not_repeated(
    tmp_path: Path, site: tuple[str, type[Site]]
) -> None:
    url = site[0].replace("://", "://user:password@")
    async with workbench(tmp_path) as bench:
        with pytest.raises(PackageError, match="answers 404") as caught:
            await bench.manager.install("tools", "1.0.0", f"{url}/nothing?signature=abc")
        assert "password" not in str(caught.value)
        assert "abc" not in str(caught.value)


async def test_a_resource_is_downloaded_and_checked(
    tmp_path: Path, site: tuple[str, type[Site]]
) -> None:
    url, handler = site
    handler.data = b"a model"
    code = "async def run(ctx):\n    return {'text': (ctx.package_dir / 'm/a').read_text()}\n"

    def data(digest: str) -> bytes:
        wanted = {"path": "m/a", "type": "download", "url": f"{url}/m.cwx", "sha256": digest}
        return archive(code, resources=[wanted])

    async with workbench(tmp_path) as bench:
        with pytest.raises(PackageError, match="has the SHA-256"):
            await bench.install(data("0" * 64))
        assert bench.traces() == []
        await bench.install(data(sha256(b"a model")))
        assert await bench.result() == {"text": "a model"}


async def test_two_workers_take_turns_with_one_root(tmp_path: Path) -> None:
    holds = (
        "import fcntl, sys, time\n"
        "file = open(sys.argv[1], 'w')\n"
        "fcntl.flock(file, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "time.sleep(60)\n"
    )
    async with workbench(tmp_path, lock_s=0.3) as bench:
        lock = str(bench.root / ".lock")
        command = (sys.executable, "-c", holds, lock)
        other = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert other.stdout is not None
        await other.stdout.readline()
        with pytest.raises(PackageError, match="another worker") as caught:
            await bench.install(archive())
        assert caught.value.code == "E.PKG.UNAVAILABLE"
        other.kill()
        await other.wait()
        await bench.install(archive())


async def test_a_worker_killed_while_it_installs_leaves_nothing_for_the_next(
    tmp_path: Path,
) -> None:
    started = tmp_path / "started"
    hook = f"touch {started}; sleep 5"
    data = archive(files={"scripts/a.sh": hook}, hooks={"install": ["scripts/a.sh"]})
    (tmp_path / "a.cwx").write_bytes(data)
    script = f"""
import asyncio
from pathlib import Path
from tests.integration.workbench import workbench
async def main():
    async with workbench(Path({str(tmp_path)!r}), hooks=("*",)) as bench:
        await bench.manager.install("tools", "1.0.0", {str(tmp_path / "a.cwx")!r})
asyncio.run(main())
"""
    worker = await asyncio.create_subprocess_exec(sys.executable, "-c", script, cwd=ROOT)
    await asyncio.to_thread(wait_until, started.exists)
    worker.kill()
    await worker.wait()
    async with workbench(tmp_path) as bench:
        assert bench.traces() == []
        assert not (bench.root / ".tmp").exists()
        assert bench.manager.inventory() == []
        await bench.install(archive())
