"""Saved views: whose they are, who sees them, and who may change them."""

from pathlib import Path
from typing import Any

import httpx

from tests.integration.conftest import TOKEN, Served
from windlass.testing.processes import ServerProcess

VIEW = {"query": "status:failed", "columns": ["flow", "created"], "sort": "-created"}


def test_a_view_is_kept_renamed_and_deleted(served: Served) -> None:
    http = served.http
    made = http.post("/api/v1/views", json={"name": " Broken ", **VIEW})
    assert made.status_code == 201, made.text
    view: dict[str, Any] = made.json()
    assert (view["name"], view["query"], view["mine"]) == ("Broken", "status:failed", True)
    assert http.post("/api/v1/views", json={"name": "Broken"}).status_code == 409
    path = f"/api/v1/views/{view['id']}"
    renamed = http.patch(path, json={"name": "Failures"}).json()
    assert (renamed["name"], renamed["columns"]) == ("Failures", ["flow", "created"])
    listed = http.get("/api/v1/views").json()["items"]
    assert [one["name"] for one in listed] == ["Failures"]
    assert http.delete(path).status_code == 200
    assert http.delete(path).status_code == 404
    assert http.get("/api/v1/views").json()["items"] == []


def test_what_cannot_be_a_view_is_refused(served: Served) -> None:
    for body in ({"name": ""}, {"name": "x" * 81}, {"name": "x", "page": "nowhere"}):
        assert served.http.post("/api/v1/views", json=body).status_code == 400, body


def test_others_see_a_view_only_when_it_is_shared_and_change_it_never(tmp_path: Path) -> None:
    server = ServerProcess(f"sqlite:///{tmp_path}/w.db", "--admin-token", TOKEN)
    with server, httpx.Client(base_url=server.url, timeout=20) as http:

        def headers(role: str, name: str) -> dict[str, str]:
            admin = {"Authorization": f"Bearer {TOKEN}"}
            made = http.post("/api/v1/tokens", json={"name": name, "role": role}, headers=admin)
            return {"Authorization": f"Bearer {made.json()['token']}"}

        ann, bob = headers("operator", "ann"), headers("viewer", "bob")
        view = http.post("/api/v1/views", json={"name": "Mine"}, headers=ann).json()
        path = f"/api/v1/views/{view['id']}"
        assert http.get("/api/v1/views", headers=bob).json()["items"] == []
        assert http.patch(path, json={"name": "x"}, headers=bob).status_code == 404
        http.patch(path, json={"shared": True}, headers=ann)
        [seen] = http.get("/api/v1/views", headers=bob).json()["items"]
        assert (seen["name"], seen["mine"]) == ("Mine", False)
        assert http.delete(path, headers=bob).status_code == 403
        shares = http.post("/api/v1/views", json={"name": "y", "shared": True}, headers=bob)
        assert shares.status_code == 403
        assert http.post("/api/v1/views", json={"name": "Mine"}, headers=bob).status_code == 201
