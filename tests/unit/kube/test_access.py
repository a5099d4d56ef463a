"""Where the Kubernetes API is: by URL, by kubeconfig, in a pod; and what is said if nowhere."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from windlass.kube.access import HOST, find_access, from_kubeconfig, from_pod
from windlass.model.errors import BadRequest

CERTIFICATE = "certificate-authority-data"


def written(folder: Path, user: dict[str, Any], **cluster: Any) -> Path:
    config = {
        "current-context": "here",
        "contexts": [
            {"name": "there", "context": {"cluster": "x", "user": "x"}},
            {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "jobs"}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443/", **cluster}}],
        "users": [{"name": "u", "user": user}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(config))
    return path


def test_a_url_is_taken_as_it_is() -> None:
    found = find_access("http://127.0.0.1:8001/", "", env={"WINDLASS_KUBE_TOKEN": "s"})
    assert found.url == "http://127.0.0.1:8001"
    assert found.headers() == {"Authorization": "Bearer s"}


def test_a_kubeconfig_gives_its_current_context(tmp_path: Path) -> None:
    found = from_kubeconfig(written(tmp_path, {"token": "secret"}))
    assert (found.url, found.namespace) == ("https://10.0.0.1:6443", "jobs")
    assert found.headers() == {"Authorization": "Bearer secret"}
    assert found.tls is not None


def test_a_token_in_a_file_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one\n")
    found = from_kubeconfig(written(tmp_path, {"tokenFile": "token"}))
    assert found.headers() == {"Authorization": "Bearer one"}
    (tmp_path / "token").write_text("two\n")
    assert found.headers() == {"Authorization": "Bearer two"}


def test_a_pods_account_is_found_in_its_files(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    (tmp_path / "namespace").write_text("system\n")
    with pytest.raises(BadRequest, match="write the cluster's certificates there"):
        from_pod({HOST: "10.0.0.1"}, tmp_path)  # no authority: it would have to trust anybody


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("ftp://x", ""), "is no http:// or https:// address"),
        (("http://x", "config"), "name two clusters; give one of them"),
        (("", "/nowhere/config"), "cannot read the kubeconfig /nowhere/config"),
        (("", ""), "give --kube-url URL or --kubeconfig FILE, or run it in a pod"),
    ],
)
def test_bad_settings_name_the_next_move(given: tuple[str, str], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        find_access(*given, env={})


def test_a_kubeconfig_that_lacks_something_or_runs_a_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="gets its credentials by a program"):
        from_kubeconfig(written(tmp_path, {"exec": {"command": "aws"}}))
    path = tmp_path / "half"
    path.write_text("clusters: []\n")
    with pytest.raises(BadRequest, match="kubectl config view --minify --flatten"):
        from_kubeconfig(path)
    bad = {CERTIFICATE: base64.b64encode(b"no certificate").decode()}
    with pytest.raises(BadRequest, match="certificate"):
        from_kubeconfig(written(tmp_path, {"token": "t"}, **bad))
