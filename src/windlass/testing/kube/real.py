"""A real kube-apiserver with its etcd, where `KUBE_APISERVER` names the program.

`ETCD` names the other one, else it is looked up on PATH. There is no kubelet and no scheduler
here either, which is why one contract suite fits both servers.
"""

import contextlib
import shutil
from collections.abc import Generator
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from windlass.testing.loopback import free_port
from windlass.testing.servers import Server, ServerError

PROGRAM = "KUBE_APISERVER"
TOKEN = "contract"  # noqa: S105  known to nobody but this server on loopback


@contextlib.contextmanager
def real_apiserver() -> Generator[str]:
    """The URL of a running API server; its certificate is its own, its token is `TOKEN`."""
    etcd = environ.get("ETCD") or shutil.which("etcd")
    if not etcd:
        raise ServerError("a kube-apiserver needs etcd; install etcd-server, or set ETCD")
    with TemporaryDirectory(prefix="windlass-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        store, peers, port = free_port(), free_port(), free_port()
        store_url, peer_url = f"http://127.0.0.1:{store}", f"http://127.0.0.1:{peers}"
        keeps = ["--data-dir", str(folder / "etcd"), "--listen-peer-urls", peer_url]
        keeps += ["--listen-client-urls", store_url, "--advertise-client-urls", store_url]
        _start(stack, [etcd, *keeps], folder, store, f"{store_url}/health")
        command = [environ[PROGRAM], *_settings(folder, port, store_url)]
        url = f"https://127.0.0.1:{port}"
        _start(stack, command, folder, port, f"{url}/readyz")
        yield url


def _settings(folder: Path, port: int, store_url: str) -> list[str]:
    key, tokens = folder / "accounts.pem", folder / "tokens.csv"
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    key.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    tokens.write_text(f"{TOKEN},contract,contract,system:masters\n")
    settings = {
        "etcd-servers": store_url,
        "bind-address": "127.0.0.1",
        "secure-port": str(port),
        "cert-dir": str(folder),
        "token-auth-file": str(tokens),
        "service-account-issuer": "https://127.0.0.1",
        "service-account-key-file": str(key),
        "service-account-signing-key-file": str(key),
        "service-cluster-ip-range": "10.0.0.0/24",
        "disable-admission-plugins": "ServiceAccount",
    }
    return [f"--{name}={value}" for name, value in settings.items()]


def _start(
    stack: contextlib.ExitStack, command: list[str], folder: Path, port: int, page: str
) -> None:
    def answers() -> bool:
        try:
            head = {"Authorization": f"Bearer {TOKEN}"}
            return httpx.get(page, headers=head, verify=False, timeout=2).status_code == 200  # noqa: S501
        except httpx.HTTPError:
            return False

    server = Server(command, folder, port, answers)
    stack.callback(server.stop)
    server.start()
