"""What is deployed: well-formed, within the fields we know, and allowed no more than it needs."""

import re
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml
from click.testing import CliRunner

from tools import manifests
from windlass.cli.collector import collector
from windlass.cli.server import server

DEPLOY = manifests.ROOT / "deploy"
VERSION = "1.33"
CASES: dict[str, dict[str, dict[str, Any]]] = {
    "default": {},
    "one namespace, no nodes": {
        "collector": {"perNode": False, "namespace": "jobs", "serviceMonitor": True},
        "server": {"serviceMonitor": True, "bus": "nats://nats:4222"},
    },
    "no redis, no pods": {
        "collector": {"redis": "", "server": "https://windlass", "tokenSecret": "collector"},
        "server": {"podNamespace": ""},
    },
}
MONITOR = "PodMonitor"
"""Not one of Kubernetes's own kinds: nothing here knows its shape."""


def objects(part: str, case: str = "default") -> list[dict[str, Any]]:
    settings = manifests.values()
    for name, changed in CASES[case].items():
        settings[name] |= changed
    text = manifests.render(manifests.template(part), settings)
    return [found for found in yaml.safe_load_all(text) if found]


def named(kind: str, case: str = "default", part: str = "collector") -> dict[str, Any]:
    return next(found for found in objects(part, case) if found["kind"] == kind)


def container(kind: str, case: str = "default") -> dict[str, Any]:
    return dict(named(kind, case)["spec"]["template"]["spec"]["containers"][0])


def servers(case: str = "default") -> list[dict[str, Any]]:
    """What the pods of the two deployments of the server are like."""
    found = [each for each in objects("server", case) if each["kind"] == "Deployment"]
    return [each["spec"]["template"]["spec"] for each in found]


@pytest.mark.parametrize("part", manifests.PARTS)
@pytest.mark.parametrize("case", CASES)
def test_every_object_is_one_kubernetes_takes(part: str, case: str) -> None:
    for found in objects(part, case):
        if found["kind"] != MONITOR:
            kubernetes_validate.validate(found, VERSION, strict=True)


@pytest.mark.parametrize("part", manifests.PARTS)
def test_the_plain_manifests_are_the_charts(part: str) -> None:
    kept = manifests.page(part).read_text()
    assert kept == manifests.manifests(part), "run tools/manifests.py"


def test_the_launcher_makes_and_deletes_pods_in_one_namespace_and_no_more() -> None:
    pods = {"apiGroups": [""], "resources": ["pods"]}
    role = named("Role", part="server")
    assert role["metadata"]["namespace"] == "flowforge-workloads"
    assert role["rules"] == [
        {**pods, "verbs": ["create", "get", "list", "delete"]},
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "patch", "delete"]},
    ]
    kinds = {found["kind"] for found in objects("server", "no redis, no pods")}
    assert not kinds & {"Role", "NetworkPolicy"}, "nothing without pods"
    assert "ClusterRole" not in {found["kind"] for found in objects("server")}


@pytest.mark.parametrize("case", CASES)
def test_a_server_is_probed_nobody_and_has_its_secrets_by_name(case: str) -> None:
    for spec in servers(case):
        [main] = spec["containers"]
        assert main["livenessProbe"]["httpGet"]["path"] == "/healthz"
        assert main["readinessProbe"]["httpGet"]["path"] == "/readyz"
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert main["securityContext"]["readOnlyRootFilesystem"] is True
        assert main["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        env = {each["name"]: each for each in main["env"]}
        assert env["WINDLASS_DB"]["valueFrom"]["secretKeyRef"]["name"] == "windlass-database"
        assert env["WINDLASS_ADMIN_TOKEN"]["valueFrom"]["secretKeyRef"]["key"] == "token"
        mounted = {mount["name"] for mount in main["volumeMounts"]}
        assert mounted == {volume["name"] for volume in spec["volumes"]}


@pytest.mark.parametrize("case", CASES)
def test_the_command_line_is_one_the_server_takes(case: str) -> None:
    known = {name for param in server.params for name in param.opts}
    variables = {name for param in server.params for name in param.envvar or ()}
    for spec in servers(case):
        [main] = spec["containers"]
        assert main["args"][0] == "server"
        assert {arg.partition("=")[0] for arg in main["args"][1:]} <= known
        assert {each["name"] for each in main["env"]} <= variables


def test_the_service_is_what_answers_requests() -> None:
    service = named("Service", part="server")["spec"]
    api, control = (
        found["spec"]["template"]["metadata"]["labels"]
        for found in objects("server")
        if found["kind"] == "Deployment"
    )
    assert service["selector"] == api != control
    assert [port["port"] for port in service["ports"]] == [8070]


def test_the_collector_may_read_pods_and_hold_its_lease_and_no_more() -> None:
    assert named("ClusterRole")["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
    ]
    lease = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    assert named("Role")["rules"] == [
        {**lease, "verbs": ["create"]},
        {**lease, "resourceNames": ["windlass-collector"], "verbs": ["get", "update"]},
    ]


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet"])
def test_a_collector_is_small_probed_and_nobody(kind: str) -> None:
    spec = named(kind)["spec"]["template"]["spec"]
    main = container(kind)
    assert main["resources"]["requests"] == {"cpu": "100m", "memory": "128Mi"}
    assert main["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert main["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert main["securityContext"]["readOnlyRootFilesystem"] is True
    assert main["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    mounted = {mount["name"] for mount in main["volumeMounts"]}
    assert mounted == {volume["name"] for volume in spec["volumes"]}
    assert {env["name"] for env in main["env"]} >= {"FLOWFORGE_REDIS_ADDRESSES"}
    has_node = "NODE_NAME" in {env["name"] for env in main["env"]}
    assert has_node is (kind == "DaemonSet")


def test_selectors_choose_their_own_pods_only() -> None:
    chosen = [
        (found["kind"], found["spec"]["selector"]["matchLabels"])
        for found in objects("collector")
        if found["kind"] in ("Deployment", "DaemonSet")
    ]
    assert chosen[0][1] != chosen[1][1]
    for kind, labels in chosen:
        assert named(kind)["spec"]["template"]["metadata"]["labels"] == labels


@pytest.mark.parametrize("case", CASES)
def test_the_command_line_is_one_the_collector_takes(case: str) -> None:
    main = container("Deployment", case)
    assert main["args"][0] == "collector"
    env = {each["name"]: each["value"] for each in main["env"] if "value" in each}
    done = CliRunner().invoke(collector, main["args"][1:], env=env)
    # Every option is understood; what is missing here is only the cluster.
    assert "this is no pod of a cluster" in str(done.exception)


def test_the_image_is_built_in_stages_and_runs_as_nobody() -> None:
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    steps = [line.split(None, 1) for line in text.splitlines() if line and line[0] not in "# "]
    stages = [rest for word, rest in steps if word == "FROM"]
    assert len(stages) == 3
    assert all(re.search(r":[\w.-]+", stage) for stage in stages), "bases are pinned by tag"
    last = steps[max(at for at, (word, _) in enumerate(steps) if word == "FROM") :]
    assert ["USER", "10001:10001"] in last
    assert ["ENTRYPOINT", '["windlass"]'] in last
    names = set(re.findall(r"AS (\w+)", text))
    assert set(re.findall(r"--from=(\w+)", text)) == names
    ignored = (manifests.ROOT / ".dockerignore").read_text().splitlines()
    for word, rest in steps:
        if word == "COPY" and not rest.startswith("--from"):
            for source in rest.split()[:-1]:
                assert (manifests.ROOT / source).exists(), source
                assert f"!{Path(source).parts[0]}" in ignored, source


def test_the_compose_file_names_commands_and_volumes_that_are_there() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    used: set[str] = set()
    for service in compose["services"].values():
        assert service.keys() <= {
            *("image", "build", "command", "environment", "ports", "volumes", "restart"),
            *("profiles", "depends_on"),
        }
        used |= {mount.partition(":")[0] for mount in service.get("volumes", ())}
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    assert set(compose["volumes"]) <= used
    assert compose["services"]["collector"]["command"][0] == "collector"
    assert compose["services"]["server"]["command"][0] == "server"
