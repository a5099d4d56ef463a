"""Where the Kubernetes API is, and who we are to it: by URL, kubeconfig, or in the cluster."""

import base64
import contextlib
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from windlass.model.errors import BadRequest

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
HOST, PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"
NEXT_MOVE = "give --kube-url URL or --kubeconfig FILE, or run it in a pod of the cluster"


@dataclass(frozen=True, slots=True)
class KubeAccess:
    """An API server and our credentials for it."""

    url: str
    token: str = ""
    token_file: Path | None = None
    """Read again for every request: tokens in pods are replaced about every hour."""
    tls: ssl.SSLContext | None = field(default=None, compare=False)
    namespace: str = "default"
    """Where our own things are kept, unless somebody says otherwise."""

    def headers(self) -> dict[str, str]:
        token = self.token
        if self.token_file is not None:
            with contextlib.suppress(OSError):
                token = self.token_file.read_text().strip()
        return {"Authorization": f"Bearer {token}"} if token else {}


def find_access(
    url: str, kubeconfig: str, *, in_cluster: bool = False, env: Mapping[str, str] = os.environ
) -> KubeAccess:
    """What the settings say; without any, the cluster we run in."""
    if url and kubeconfig:
        raise BadRequest("--kube-url and --kubeconfig name two clusters; give one of them")
    if url:
        if not url.startswith(("http://", "https://")):
            raise BadRequest(f"--kube-url {url!r} is no http:// or https:// address; correct it")
        return KubeAccess(url.rstrip("/"), token=env.get("WINDLASS_KUBE_TOKEN", ""))
    if kubeconfig and not in_cluster:
        return from_kubeconfig(Path(kubeconfig))
    return from_pod(env)


def from_pod(env: Mapping[str, str], account: Path = ACCOUNT) -> KubeAccess:
    """The service account of the pod we run in."""
    if HOST not in env:
        raise BadRequest(f"this is no pod of a cluster ({HOST} is not set); {NEXT_MOVE}")
    if not (account / "token").is_file():
        hint = "set automountServiceAccountToken to true"
        raise BadRequest(f"this pod has no service account token; {hint}")
    host = env[HOST]
    host = f"[{host}]" if ":" in host else host
    named = account / "namespace"
    return KubeAccess(
        f"https://{host}:{env.get(PORT, '443')}",
        token_file=account / "token",
        tls=_tls(account, {"certificate-authority": "ca.crt"}, {}),
        namespace=named.read_text().strip() if named.is_file() else "default",
    )


def from_kubeconfig(path: Path) -> KubeAccess:
    """The current context of a kubeconfig: a token or a client certificate."""
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        context = _named(config["contexts"], config["current-context"])["context"]
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        user = _named(config["users"], context["user"])["user"]
        url = str(cluster["server"]).rstrip("/")
    except OSError as error:
        raise BadRequest(
            f"cannot read the kubeconfig {path}: {error.strerror}; {NEXT_MOVE}"
        ) from error
    except (yaml.YAMLError, KeyError, TypeError) as error:
        hint = "`kubectl config view --minify --flatten` writes one that can be read"
        raise BadRequest(f"the kubeconfig {path} lacks {error}; {hint}") from error
    if "exec" in user or "auth-provider" in user:
        hint = "use a service account's token or a client certificate"
        raise BadRequest(f"the kubeconfig {path} gets its credentials by a program; {hint}")
    token_file = user.get("tokenFile")
    return KubeAccess(
        url,
        token=str(user.get("token") or ""),
        token_file=path.parent / token_file if token_file else None,
        tls=_tls(path.parent, cluster, user) if url.startswith("https://") else None,
        namespace=str(context.get("namespace") or "default"),
    )


def _named(items: list[dict[str, Any]], name: str) -> dict[str, Any]:
    for item in items:
        if item["name"] == name:
            return item
    raise KeyError(name)


def _tls(folder: Path, cluster: dict[str, Any], user: dict[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    try:
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            authority = _file(folder, place, cluster, "certificate-authority")
            if authority is not None:
                context.load_verify_locations(cafile=authority)
            certificate = _file(folder, place, user, "client-certificate")
            if certificate is not None:
                context.load_cert_chain(certificate, _file(folder, place, user, "client-key"))
    except (OSError, ValueError) as error:
        hint = "write the cluster's certificates there again"
        raise BadRequest(f"a certificate in {folder} cannot be used: {error}; {hint}") from error
    return context


def _file(folder: Path, place: Path, given: dict[str, Any], name: str) -> Path | None:
    """A file named by the config, or one made of the data in it: OpenSSL reads only files."""
    if data := given.get(f"{name}-data"):
        made = place / name
        made.touch(mode=0o600)
        made.write_bytes(base64.b64decode(data))
        return made
    return folder / given[name] if given.get(name) else None
