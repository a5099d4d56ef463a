"""A worker proves who it is by its certificate, over TLS."""

import asyncio
import ssl
import subprocess
import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.integration.link.conftest import TOKEN
from tests.unit.protocol.test_link import dispatch
from windlass import AsyncClient, Client
from windlass.model.errors import BadRequest, Unavailable
from windlass.testing.loopback import free_port
from windlass.testing.processes import Process, started, wait_until
from windlass.worker.link.packages import package_settings_of
from windlass.worker.link.parameters import parameters_reader
from windlass.worker.link.settings import LinkSettings
from windlass.worker.packages.download import fetch

pytestmark = pytest.mark.anyio

CONTENT = b'{"a":1}'


def openssl(*args: str, cwd: Path) -> None:
    subprocess.run(["openssl", *args], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    """A folder with an authority, and certificates of a server and two workers signed by it."""
    ca = ("-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", *ca, "-subj", "/CN=authority", "-days", "2", cwd=tmp_path)
    (tmp_path / "names").write_text("subjectAltName=IP:127.0.0.1")
    for name in ("server", "known", "stranger"):
        request = ("-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        openssl("req", *request, "-subj", f"/CN={name}", cwd=tmp_path)
        signed = ("-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
        more = ("-out", f"{name}.pem", "-days", "2", "-extfile", "names")
        openssl("x509", "-req", *signed, *more, cwd=tmp_path)
    return tmp_path


def fingerprint(folder: Path, name: str) -> str:
    der = folder / f"{name}.der"
    openssl("x509", "-in", f"{name}.pem", "-outform", "der", "-out", str(der), cwd=folder)
    return sha256(der.read_bytes()).hexdigest()


@pytest.mark.timeout(90)
async def test_a_known_certificate_is_let_in_and_a_strangers_is_not(authority: Path) -> None:
    port = free_port()
    url = f"https://127.0.0.1:{port}"
    server = Process(
        *("server", "--db", f"sqlite:///{authority / 'w.db'}", "--port", str(port)),
        *("--admin-token", TOKEN, "--tls-cert", str(authority / "server.pem")),
        *("--tls-key", str(authority / "server.key")),
        *("--tls-client-ca", str(authority / "ca.pem")),
        log=authority / "server.log",
    )
    headers = {"Authorization": f"Bearer {TOKEN}"}
    context = ssl.create_default_context(cafile=str(authority / "ca.pem"))
    with server:
        async with httpx.AsyncClient(base_url=url, headers=headers, verify=context) as http:
            await answers(http)
            body = {"name": "w", "role": "worker", "fingerprint": fingerprint(authority, "known")}
            assert (await http.post("/api/v1/tokens", json=body)).status_code == 201
            with worker(authority, url, "known"), worker(authority, url, "stranger"):
                assert await seen(http, "known")
                log = authority / "stranger.log"
                async with asyncio.timeout(15):
                    while "unknown or revoked" not in log.read_text():  # noqa: ASYNC110
                        await asyncio.sleep(0.1)
                assert not await seen(http, "stranger", tries=1)
            # What is public about a certificate is no token.
            stolen = {"Authorization": f"Bearer certificate:{body['fingerprint']}"}
            assert (await http.get("/api/v1/runs", headers=stolen)).status_code == 401


IN_A_PLACE = """
from windlass import Worker

worker = Worker()


@worker.service("place.use")
def use(ctx):
    ctx.env.write("made.txt", "with a certificate")
    heard = []
    done = ctx.env.exec("cat made.txt", on_output=lambda _, text: heard.append(text))
    return {"said": done.out, "heard": heard, "kept": ctx.env.read("made.txt").decode()}
"""


@pytest.mark.timeout(90)
async def test_a_worker_with_a_certificate_alone_works_in_its_place(authority: Path) -> None:
    port = free_port()
    url = f"https://127.0.0.1:{port}"
    server = Process(
        *("server", "--db", f"sqlite:///{authority / 'w.db'}", "--port", str(port)),
        *("--admin-token", TOKEN, "--tls-cert", str(authority / "server.pem"), "--env-noop"),
        *("--tls-key", str(authority / "server.key")),
        *("--tls-client-ca", str(authority / "ca.pem")),
        log=authority / "server.log",
    )
    (authority / "place_services.py").write_text(IN_A_PLACE)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    context = ssl.create_default_context(cafile=str(authority / "ca.pem"))
    known = worker(authority, url, "known", "place_services:worker")
    with server:
        async with httpx.AsyncClient(
            base_url=url, headers=headers, verify=context, timeout=40
        ) as http:
            await answers(http)
            body = {"name": "w", "role": "worker", "fingerprint": fingerprint(authority, "known")}
            assert (await http.post("/api/v1/tokens", json=body)).status_code == 201
            box = {"name": "box", "kind": "noop"}
            assert (await http.post("/api/v1/envs/resources", json=box)).status_code == 201
            node = {"exec_type": "queue", "service": "place.use", "env": "box"}
            flow = {"start": "a", "nodes": {"a": node}, "edges": []}
            answer = await http.post("/api/v1/flows/placed/versions", json={"definition": flow})
            assert answer.status_code == 201, answer.text
            with known:
                assert await seen(http, "known")
                run_id = (await http.post("/api/v1/runs", json={"flow": "placed"})).json()["id"]
                run = (await http.get(f"/api/v1/runs/{run_id}", params={"waitMs": 30_000})).json()
                assert run["state"] == "succeeded", (run, (authority / "known.log").read_text())
            [task] = (await http.get(f"/api/v1/runs/{run_id}/tasks")).json()["items"]
            said = "with a certificate"
            assert task["output"] == {"said": said, "heard": [said], "kept": said}
        await only_what_is_a_workers(authority, url)


async def only_what_is_a_workers(authority: Path, url: str) -> None:
    """A certificate opens what workers are for, a stranger's nothing."""
    for name, status in (("known", 400), ("stranger", 401)):
        context = ssl.create_default_context(cafile=str(authority / "ca.pem"))
        context.load_cert_chain(authority / f"{name}.pem", authority / f"{name}.key")
        async with httpx.AsyncClient(base_url=url, verify=context) as http:
            asked = await http.post("/api/v1/workers/known/env/exec", json={})
            assert asked.status_code == status, (name, asked.text)
            assert (await http.get("/api/v1/runs")).status_code == 401
            assert (await http.post("/api/v1/tokens", json={})).status_code == 401
            wrong = {"Authorization": "Bearer nonsense"}
            asked = await http.post("/api/v1/workers/known/env/exec", json={}, headers=wrong)
            assert asked.status_code == 401, "what is said counts before what is shown"


@pytest.mark.timeout(90)
async def test_a_private_authority_serves_every_client_and_every_transport(
    authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, ca = free_port(), str(authority / "ca.pem")
    url = f"https://127.0.0.1:{port}"
    server = Process(
        *("server", "--db", f"sqlite:///{authority / 'w.db'}", "--port", str(port), "--no-auth"),
        *("--tls-cert", str(authority / "server.pem"), "--tls-key", str(authority / "server.key")),
        log=authority / "server.log",
    )
    trusting = {"SSL_CERT_FILE": ca}
    log = authority / "workers.log"
    ways: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
        "pull": (("--tls-ca", ca), {}),
        "push": (("--listen", "127.0.0.1:0"), trusting),
        "link": (("--tls-ca", ca), {}),
    }
    common = ("worker", "builtin", "--server", url)
    workers = [
        Process(*common, "--id", mode, "--transport", mode, *args, env=env, log=log)
        for mode, (args, env) in ways.items()
    ]
    context = ssl.create_default_context(cafile=ca)
    with server:
        async with httpx.AsyncClient(base_url=url, verify=context) as http:
            await answers(http)
            with started(*workers):
                with Client(url, tls_ca=ca) as client:
                    assert client.info().version
                with Client(url) as client, pytest.raises(Unavailable, match="certificate"):
                    client.info()
                listing = Process("run", "ls", "--server", url, "--tls-ca", ca, log=log)
                listing.start()
                assert listing.wait(20) == 0
                monkeypatch.setenv("SSL_CERT_FILE", ca)
                async with AsyncClient(url) as client:
                    assert (await client.info()).version
                for mode in ways:
                    assert await seen(http, mode), log.read_text()


@pytest.mark.timeout(90)
async def test_who_trusts_another_authority_is_told_what_to_name(
    authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, ca = free_port(), str(authority / "ca.pem")
    url, another = f"https://127.0.0.1:{port}", str(authority / "another.pem")
    made = ("-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "another.key", "-out", another)
    openssl("req", *made, "-subj", "/CN=another", "-days", "2", cwd=authority)
    server = Process(
        *("server", "--db", f"sqlite:///{authority / 'w.db'}", "--port", str(port), "--no-auth"),
        *("--tls-cert", str(authority / "server.pem"), "--tls-key", str(authority / "server.key")),
        log=authority / "server.log",
    )
    common = ("worker", "builtin", "--server", url, "--tls-ca", another, "--transport")
    logs = {mode: authority / f"{mode}.log" for mode in ("pull", "push", "link")}
    listen = {"push": ("--listen", "127.0.0.1:0")}
    workers = [Process(*common, mode, *listen.get(mode, ()), log=log) for mode, log in logs.items()]
    context = ssl.create_default_context(cafile=ca)
    with server:
        async with httpx.AsyncClient(base_url=url, verify=context) as http:
            await answers(http)
        with started(*workers):
            wait_until(lambda: all("--tls-ca FILE" in log.read_text() for log in logs.values()))
        with Client(url, tls_ca=another) as client, pytest.raises(Unavailable, match="--tls-ca"):
            client.info()
        listing = Process("run", "ls", "--server", url, "--tls-ca", another, log=logs["pull"])
        listing.start()
        assert listing.wait(20) == 5
    monkeypatch.setenv("SSL_CERT_FILE", str(authority / "nothing.pem"))
    with pytest.raises(BadRequest, match=r"nothing.pem \(SSL_CERT_FILE\)"):
        Client(url)
    for extra in ((), ("--tls-ca", str(authority / "none.pem"))):
        log = authority / f"none{len(extra)}.log"
        lost = Process("worker", "builtin", "--server", url, "--transport", "link", *extra, log=log)
        lost.start()
        assert lost.wait(20) == 2
        assert f"cannot use {authority}/no" in log.read_text()
    host = ("env-host", "--server", url, "--state", str(authority / "state"), "--kinds", "browser")
    lost = Process(*host, "--tls-ca", str(authority / "none.pem"), log=authority / "host.log")
    lost.start()
    assert lost.wait(20) == 2
    assert "none.pem as a certificate authority" in (authority / "host.log").read_text()


def test_a_server_names_the_certificate_it_cannot_use(authority: Path) -> None:
    log, cert = authority / "server.log", str(authority / "none.pem")
    db = ("--db", f"sqlite:///{authority / 'w.db'}")
    server = Process(*("server", *db, "--port", "0", "--no-auth", "--tls-cert", cert), log=log)
    server.start()
    assert server.wait(20) == 2
    assert log.read_text().startswith(f"error: cannot serve TLS with {cert}"), "and no more"


def worker(folder: Path, url: str, name: str, target: str = "packages") -> Process:
    return Process(
        *("worker", target, "--transport", "link", "--id", name, "--server", url),
        *("--tls-ca", str(folder / "ca.pem"), "--tls-cert", str(folder / f"{name}.pem")),
        *("--tls-key", str(folder / f"{name}.key")),
        *("--packages-dir", str(folder / f"{name}-p"), "--data-dir", str(folder / f"{name}-d")),
        env={"PYTHONPATH": str(folder)},
        log=folder / f"{name}.log",
    )


async def answers(http: httpx.AsyncClient) -> None:
    for _ in range(200):
        try:
            if (await http.get("/readyz")).status_code == 200:
                return
        except httpx.HTTPError:
            await asyncio.sleep(0.1)
    raise AssertionError("the server did not become ready")


async def seen(http: httpx.AsyncClient, name: str, tries: int = 100) -> bool:
    for _ in range(tries):
        found = (await http.get("/api/v1/workers")).json()["items"]
        if any(w["id"] == name and w["state"] == "online" for w in found):
            return True
        await asyncio.sleep(0.1)
    return False


class Kept(BaseHTTPRequestHandler):
    """Has the same for everybody it lets in."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT)

    def log_message(self, *_: object) -> None:
        """Nothing worth keeping."""


@pytest.fixture
def closed_server(authority: Path) -> Iterator[str]:
    """The address of a server that talks to nobody without a certificate."""
    served = ThreadingHTTPServer(("127.0.0.1", 0), Kept)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority / "ca.pem"))
    context.load_cert_chain(authority / "server.pem", authority / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    served.socket = context.wrap_socket(served.socket, server_side=True)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{served.server_port}"
    served.shutdown()
    served.server_close()


async def test_downloads_and_parameters_come_under_the_links_certificates(
    authority: Path, closed_server: str
) -> None:
    settings = LinkSettings(
        url=f"wss://{closed_server}/ws/worker",
        worker_id="w",
        tls_ca=str(authority / "ca.pem"),
        tls_cert=str(authority / "known.pem"),
        tls_key=str(authority / "known.key"),
        packages_dir=authority / "packages",
    )
    asked = dispatch()
    reference = {
        "path": "/api/v1/attempt-parameters/t@1",
        "sha256": sha256(CONTENT).hexdigest(),
    }
    asked.parameters = msgspec.Raw(msgspec.json.encode({"$ref": reference}))
    assert bytes(await parameters_reader(settings)(asked)) == CONTENT
    found = await asyncio.to_thread(
        fetch,
        f"https://{closed_server}/archive",
        authority / "archive",
        package_settings_of(settings),
        stop=threading.Event(),
    )
    assert found == sha256(CONTENT).hexdigest()
