"""What clients of pods may rely on: our Pod API server always, a real one where there is one.

`KUBE_APISERVER=/path/to/kube-apiserver` adds the real thing. There is no kubelet behind either.
"""

import json
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from windlass.testing.kube import KubeServer
from windlass.testing.kube.real import PROGRAM, TOKEN, real_apiserver

LABEL = "flowforge.io/workload"
MERGE = {"content-type": "application/merge-patch+json"}
SERVERS = ["ours", *(["real"] if os.environ.get(PROGRAM) else [])]


@dataclass
class Api:
    """A client in a namespace of its own."""

    http: httpx.Client
    namespace: str
    ours: KubeServer | None

    @property
    def pods(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods"

    def create(self, name: str, node: str = "", **labels: str) -> dict[str, Any]:
        spec: dict[str, Any] = {"containers": [{"name": "main", "image": "busybox"}]}
        if node:
            spec["nodeName"] = node
        metadata = {"name": name, "labels": {LABEL: "true", **labels}}
        answer = self.http.post(self.pods, json={"metadata": metadata, "spec": spec})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def status(self, name: str, **status: Any) -> httpx.Response:
        body = json.dumps({"status": status})
        return self.http.patch(f"{self.pods}/{name}/status", content=body, headers=MERGE)

    def delete(self, name: str, **options: Any) -> httpx.Response:
        return self.http.request("DELETE", f"{self.pods}/{name}", json=options)

    def names(self, **query: str) -> list[str]:
        listed = self.http.get(self.pods, params=query).json()
        return [item["metadata"]["name"] for item in listed["items"]]

    def version(self) -> str:
        return str(self.http.get(self.pods).json()["metadata"]["resourceVersion"])

    def watch(self, since: str, timeout_s: str = "1", **query: str) -> list[dict[str, Any]]:
        """What a watch says until the server ends it."""
        params = {"watch": "1", "resourceVersion": since, "timeoutSeconds": timeout_s, **query}
        with self.http.stream("GET", self.pods, params=params) as answer:
            assert answer.status_code in (200, 410), answer.read()
            return [json.loads(line) for line in answer.iter_lines()]

    def seen(self, since: str, **query: str) -> list[tuple[str, str]]:
        found = [e for e in self.watch(since, **query) if e["type"] != "BOOKMARK"]
        return [(event["type"], event["object"]["metadata"]["name"]) for event in found]


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, KubeServer | None]]:
    if request.param == "real":
        with real_apiserver() as url:
            yield url, None
    else:
        with KubeServer(token=TOKEN) as ours:
            yield ours.url, ours


@pytest.fixture
def api(server: tuple[str, KubeServer | None]) -> Iterator[Api]:
    url, ours = server
    namespace = f"t-{uuid.uuid4().hex[:8]}"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=url, headers=headers, verify=False, timeout=20) as http:
        body = {"metadata": {"name": namespace}}
        assert http.post("/api/v1/namespaces", json=body).status_code == 201
        yield Api(http, namespace, ours)


def test_a_new_pod_is_pending_and_has_a_uid_a_version_and_a_birthday(api: Api) -> None:
    made = api.create("one")
    assert made["status"]["phase"] == "Pending"
    assert {"uid", "resourceVersion", "creationTimestamp"} <= made["metadata"].keys()
    assert api.http.get(f"{api.pods}/one").json()["metadata"]["uid"] == made["metadata"]["uid"]


def test_a_name_is_taken_until_its_pod_is_gone_and_the_next_has_another_uid(api: Api) -> None:
    first = api.create("one")
    body = {"metadata": {"name": "one"}, "spec": first["spec"]}
    assert api.http.post(api.pods, json=body).json()["reason"] == "AlreadyExists"
    assert api.delete("one").status_code == 200
    assert api.create("one")["metadata"]["uid"] != first["metadata"]["uid"]


@pytest.mark.parametrize(
    ("metadata", "containers"),
    [
        ({"name": "Not_A_Name"}, [{"name": "main", "image": "busybox"}]),
        ({"name": "a", "labels": {"l": "x" * 64}}, [{"name": "main", "image": "busybox"}]),
        ({"name": "b"}, []),
        ({"name": "c"}, [{"image": "busybox"}]),
    ],
)
def test_a_bad_pod_is_refused(api: Api, metadata: dict[str, Any], containers: list[Any]) -> None:
    answer = api.http.post(
        api.pods, json={"metadata": metadata, "spec": {"containers": containers}}
    )
    assert (answer.status_code, answer.json()["reason"]) == (422, "Invalid")


def test_a_pod_of_a_namespace_nobody_made_is_refused(api: Api) -> None:
    spec = {"containers": [{"name": "main", "image": "busybox"}]}
    body = {"metadata": {"name": "one"}, "spec": spec}
    answer = api.http.post("/api/v1/namespaces/nobodys/pods", json=body)
    assert (answer.status_code, answer.json()["kind"]) == (404, "Status")


def test_labels_and_fields_select(api: Api) -> None:
    api.create("a", node="n1", tier="x")
    api.create("b", node="n2", tier="y")
    api.create("c", tier="y")
    assert api.names(labelSelector=f"{LABEL}=true") == ["a", "b", "c"]
    assert api.names(labelSelector=f"{LABEL}=true,tier!=x") == ["b", "c"]
    assert api.names(labelSelector="tier in (x,z)") == ["a"]
    assert api.names(labelSelector="!tier") == []
    assert api.names(fieldSelector="spec.nodeName=n1") == ["a"]
    assert api.names(fieldSelector="spec.nodeName=") == ["c"]
    assert api.names(fieldSelector="spec.nodeName!=n1,metadata.name!=c") == ["b"]
    refused = api.http.get(api.pods, params={"fieldSelector": "spec.color=red"})
    assert refused.status_code == 400


def test_a_list_is_cut_into_pages_of_one_moment(api: Api) -> None:
    for number in range(5):
        api.create(f"p{number}")
    first = api.http.get(api.pods, params={"limit": "2"}).json()
    api.create("p9")
    seen, token = [item["metadata"]["name"] for item in first["items"]], first["metadata"]
    while token.get("continue"):
        query = {"limit": "2", "continue": token["continue"]}
        page = api.http.get(api.pods, params=query).json()
        seen += [item["metadata"]["name"] for item in page["items"]]
        token = page["metadata"]
        assert token["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert seen == ["p0", "p1", "p2", "p3", "p4"]


def test_a_watch_tells_what_happened_after_a_version_and_ends_by_its_timeout(api: Api) -> None:
    api.create("before")
    since = api.version()
    api.create("one")
    api.status("one", phase="Running")
    api.delete("one", gracePeriodSeconds=0)
    events = [("ADDED", "one"), ("MODIFIED", "one"), ("DELETED", "one")]
    assert api.seen(since) == events
    versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in api.watch(since)]
    assert versions == sorted(versions)
    assert api.seen(str(versions[0])) == events[1:]


def test_a_watch_sees_an_object_enter_and_leave_its_selection(api: Api) -> None:
    api.create("one")
    since = api.version()
    target = {"apiVersion": "v1", "kind": "Node", "name": "n7"}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "one"}, "target": target}
    assert api.http.post(f"{api.pods}/one/binding", json=body).status_code == 201
    assert api.seen(since, fieldSelector="spec.nodeName=n7") == [("ADDED", "one")]
    left = [e for e in api.watch(since, fieldSelector="spec.nodeName=") if e["type"] != "BOOKMARK"]
    assert [event["type"] for event in left] == ["DELETED"]
    # It is shown as it was: whoever reads this must ask whether the pod is really gone.
    assert "nodeName" not in left[0]["object"]["spec"]


def test_a_watch_without_a_version_begins_with_what_is_there(api: Api) -> None:
    api.create("one")
    api.create("two")
    assert api.seen("0") == [("ADDED", "one"), ("ADDED", "two")]


def test_a_status_is_patched_by_its_own_door_and_nothing_else_with_it(api: Api) -> None:
    api.create("one", node="n1")
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    answer = api.status("one", phase="Failed", reason="Evicted", conditions=[ready])
    assert answer.status_code == 200
    pod = api.http.get(f"{api.pods}/one").json()
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", "Evicted")
    assert pod["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    body = json.dumps({"status": {"phase": "Running"}})
    api.http.patch(f"{api.pods}/one", content=body, headers=MERGE)
    assert api.http.get(f"{api.pods}/one").json()["status"]["phase"] == "Failed"


def test_a_running_pod_is_given_grace_and_goes_when_the_kubelet_says_so(api: Api) -> None:
    api.create("one", node="n1")
    api.status("one", phase="Running")
    since = api.version()
    answer = api.delete("one", gracePeriodSeconds=7)
    metadata = answer.json()["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 7
    assert "deletionTimestamp" in api.http.get(f"{api.pods}/one").json()["metadata"]
    api.delete("one", gracePeriodSeconds=0)
    assert api.http.get(f"{api.pods}/one").status_code == 404
    assert api.seen(since)[-1] == ("DELETED", "one")


def test_a_pod_without_a_node_or_that_has_ended_goes_at_once(api: Api) -> None:
    api.create("waiting")
    api.create("ended", node="n1")
    api.status("ended", phase="Succeeded")
    for name in ("waiting", "ended"):
        assert api.delete(name).status_code == 200
        assert api.http.get(f"{api.pods}/{name}").status_code == 404


def test_a_deletion_of_another_pod_of_that_name_is_refused(api: Api) -> None:
    api.create("one")
    answer = api.delete("one", preconditions={"uid": "somebody-else"})
    assert (answer.status_code, answer.json()["reason"]) == (409, "Conflict")
    assert api.delete("nobody").status_code == 404


def test_a_secret_is_made_once_given_an_owner_and_deleted(api: Api) -> None:
    path = f"/api/v1/namespaces/{api.namespace}/secrets"
    body = {"metadata": {"name": "one"}, "stringData": {"token": "t"}}
    made = api.http.post(path, json=body)
    assert made.status_code == 201
    assert made.json()["data"] == {"token": "dA=="}
    assert api.http.post(path, json=body).status_code == 409
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "one"}
    owner["uid"] = api.create("one")["metadata"]["uid"]
    patch = json.dumps({"metadata": {"ownerReferences": [owner]}})
    patched = api.http.patch(f"{path}/one", content=patch, headers=MERGE)
    assert patched.status_code == 200
    assert patched.json()["metadata"]["ownerReferences"] == [owner]
    assert api.http.delete(f"{path}/one").status_code == 200
    assert api.http.delete(f"{path}/one").status_code == 404


def test_events_are_listed_by_what_they_are_about(api: Api) -> None:
    """`core/v1`: field selectors of events, whatever part of Kubernetes made them."""
    path = f"/api/v1/namespaces/{api.namespace}/events"
    pods = {name: api.create(name)["metadata"] for name in ("one", "two")}

    def tell(pod: str, name: str, **more: object) -> httpx.Response:
        about = {"kind": "Pod", "namespace": api.namespace, "name": pod, "uid": pods[pod]["uid"]}
        event = {"metadata": {"name": name}, "involvedObject": about, "type": "Warning"}
        return api.http.post(path, json={**event, "message": f"of {pod}", **more})

    times = {"firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:05:00Z"}
    kubelet = {"source": {"component": "kubelet"}, "count": 3, **times}
    assert tell("one", "one.1", reason="BackOff", **kubelet).status_code == 201
    scheduler = {
        "reason": "FailedScheduling",
        "action": "Scheduling",
        "eventTime": "2026-01-01T00:00:00.000001Z",
        "reportingComponent": "default-scheduler",
        "reportingInstance": "default-scheduler-0",
    }
    assert tell("one", "one.2", **scheduler).status_code == 201
    assert tell("two", "two.1", reason="Pulled", **kubelet).status_code == 201
    elsewhere = {"kind": "Pod", "namespace": "elsewhere", "name": "one"}
    assert tell("one", "one.3", involvedObject=elsewhere).status_code == 422

    def listed(selector: str, **more: str) -> Any:
        return api.http.get(path, params={"fieldSelector": selector, **more}).json()

    uid = f"involvedObject.uid={pods['one']['uid']}"
    found = {one["metadata"]["name"]: one for one in listed(uid)["items"]}
    assert set(found) == {"one.1", "one.2"}
    assert (found["one.1"]["count"], found["one.1"]["lastTimestamp"]) == (3, times["lastTimestamp"])
    assert found["one.2"]["lastTimestamp"] is None
    assert found["one.2"]["eventTime"] == scheduler["eventTime"]
    only = listed(f"{uid},reason=BackOff")["items"]
    assert [one["metadata"]["name"] for one in only] == ["one.1"]
    first = listed(uid, limit="1")
    rest = listed(uid, limit="1", **{"continue": first["metadata"]["continue"]})
    assert len(first["items"]) == len(rest["items"]) == 1
    refused = api.http.get(path, params={"fieldSelector": "message=x"})
    assert refused.status_code == 400


def test_a_lease_is_written_by_whoever_read_it_last(api: Api) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases"
    spec = {"holderIdentity": "a", "leaseDurationSeconds": 15}
    spec["renewTime"] = "2026-01-01T00:00:00.000000Z"
    made = api.http.post(path, json={"metadata": {"name": "x"}, "spec": spec})
    assert made.status_code == 201
    lease = api.http.get(f"{path}/x").json()
    taken = {**lease, "spec": {**spec, "holderIdentity": "b"}}
    assert api.http.put(f"{path}/x", json=taken).status_code == 200
    late = {**lease, "spec": {**spec, "holderIdentity": "c"}}
    assert api.http.put(f"{path}/x", json=late).status_code == 409
    assert api.http.get(f"{path}/x").json()["spec"]["holderIdentity"] == "b"


def test_a_watch_from_before_a_compaction_is_told_410(api: Api) -> None:
    """On the real server nothing can be compacted from here."""
    if api.ours is None:
        pytest.skip("only our server forgets on order")
    since = api.version()
    api.create("one")
    api.ours.objects.compact()
    event = api.watch(since)[0]
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert api.names() == ["one"]
    assert api.seen(api.version()) == []


def test_our_server_sends_bookmarks_logs_faults_and_cuts_on_order(api: Api) -> None:
    if api.ours is None:
        pytest.skip("these are orders to our server")
    api.create("one")
    api.ours.bookmark_s = 0.2
    kinds = {event["type"] for event in api.watch(api.version(), allowWatchBookmarks="true")}
    assert kinds == {"BOOKMARK"}
    api.ours.bookmark_s = 60
    api.ours.pods.logs[api.namespace, "one"] = "a\nb\nc\n"
    assert api.http.get(f"{api.pods}/one/log", params={"tailLines": "2"}).text == "b\nc\n"
    api.ours.faults.refuse(429, verb="list", retry_after_s=3)
    refused = api.http.get(api.pods)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "3")
    assert api.names() == ["one"]
    api.ours.faults.cut_watches_after_s = 0.1
    with pytest.raises(httpx.RemoteProtocolError):
        api.watch(api.version(), timeout_s="5")
    api.ours.faults.cut_watches_after_s = None
