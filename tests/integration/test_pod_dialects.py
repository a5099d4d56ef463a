"""Pods of plans and workflows, over HTTP to a Pod API server."""

from tests import workflows
from tests.integration.pods import Cluster
from windlass.testing.processes import wait_until

ECHO = {"builtin_workerd": {"structured_output": {"n": 3}}}


def test_a_task_of_a_plan_whose_profile_is_a_pod_is_one(cluster: Cluster) -> None:
    tasks = [
        {"alias": "look", "goal": "look", "worker_profile": "builtin.echo", "inputs": ECHO},
        {"alias": "crunch", "goal": "crunch", "worker_profile": "pod", "depends_on": ["look"]},
    ]
    profiles = {"pod": {"kind": "pod", "pod": {"image": "registry.example/task:1", "sdk": True}}}
    body = {"dialect": "plan", "goal": "go", "plan": {"tasks": tasks}, "profiles": profiles}
    answer = cluster.http.post("/api/v1/runs", json=body)
    assert answer.status_code == 202, answer.text
    run = str(answer.json()["id"])
    attempt = cluster.program(cluster.pod(run))
    assert attempt.input["task"]["worker_profile"] == "pod"
    assert attempt.input["predecessors"][0]["structured_output"] == {"n": 3}
    attempt.succeed({"status": "completed", "summary": "done", "structured_output": {"rows": 7}})
    cluster.until(run, "succeeded")
    assert cluster.get(run)["output"] == {"crunch": {"rows": 7}}


def test_a_plan_with_pods_that_cannot_be_is_refused_with_all_that_is_wrong(
    cluster: Cluster,
) -> None:
    profiles = {"pod": {"kind": "pod", "pod": {"image": "No Image", "resources": {"cpu": "much"}}}}
    judged = {"mode": "llm", "verifier_profile": "pod"}
    tasks = [{"alias": "a", "goal": "g", "verification_policy": judged, "mood": 1}]
    body = {"dialect": "plan", "goal": "go", "plan": {"tasks": tasks}, "profiles": profiles}
    answer = cluster.http.post("/api/v1/runs", json=body)
    assert answer.status_code == 422
    for place in ("profiles.pod.pod.image", "profiles.pod.pod.resources.cpu", "tasks[0].mood"):
        assert place in answer.text


def test_a_workflows_node_whose_runtime_is_a_pod_is_one(cluster: Cluster) -> None:
    first = workflows.node("a", runtime="crunch", parameters={"day": 3})
    second = workflows.node("b", runtime="crunch")
    for made in (first, second):
        del made["package"]
    runtimes = {"crunch": {"pod": {"image": "registry.example/task:1", "sdk": True}}}
    edges = [workflows.edge("a", "b")]
    definition = workflows.workflow([first, second], edges, runtimes=runtimes)
    body = {"definition": definition, "dialect": "workflow"}
    answer = cluster.http.post("/api/v1/flows/test/versions", json=body)
    assert answer.status_code in (200, 201), answer.text
    answer = cluster.http.post("/api/v1/runs", json={"flow": "test"})
    run = str(answer.json()["id"])
    pod = cluster.pod(run)
    attempt = cluster.program(pod)
    assert attempt.input == {"day": 3}
    attempt.succeed({"y": 5})
    name = pod["metadata"]["name"]
    [other] = wait_until(
        lambda: [found for found in cluster.pods(run) if found["metadata"]["name"] != name]
    )
    assert cluster.program(other).input == {"x": 5}
    cluster.program(other).succeed({})
    cluster.until(run, "succeeded")
