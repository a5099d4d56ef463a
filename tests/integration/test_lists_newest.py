"""Lists that promise the newest first, whatever the ids of what is in them look like."""

from concurrent.futures import ThreadPoolExecutor

from tests.integration.conftest import Served

TIMER = {"start": "t", "nodes": {"t": {"kind": "timer", "params": {"delay_ms": 1}}}, "edges": []}
COUNT = 12


def test_flows_are_listed_newest_first_page_by_page_on_both_surfaces(served: Served) -> None:
    """A flow's id comes from its name, so it says nothing of when it was made."""
    names = [f"newest {number}" for number in range(COUNT)]
    for name in names:
        served.push(name, TIMER)
    wanted = names[::-1]
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        query: dict[str, str | int] = {"q": "newest ", "limit": 5, "cursor": cursor}
        page = served.http.get("/api/v1/flows", params=query).json()
        assert len(page["items"]) <= 5
        found += [flow["name"] for flow in page["items"]]
        cursor = page["next"]
    assert found == wanted
    pocketflow: list[str] = []
    for number in (1, 2, 3):
        pages = {"page": number, "page_size": 5}
        rows = served.http.get("/api/flows", params=pages).json()["data"]
        pocketflow += [row["name"] for row in rows]
    assert pocketflow[:COUNT] == wanted


def test_flows_made_in_the_same_moment_are_each_listed_once(served: Served) -> None:
    with ThreadPoolExecutor(8) as people:
        bodies = ({"Name": f"at once {number}"} for number in range(40))
        list(people.map(lambda body: served.http.post("/api/flows", json=body), bodies))
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        query: dict[str, str | int] = {"q": "at once ", "limit": 3, "cursor": cursor}
        page = served.http.get("/api/v1/flows", params=query).json()
        found += [flow["name"] for flow in page["items"]]
        cursor = page["next"]
    assert len(found) == len(set(found)) == 40


def test_a_place_in_the_list_that_is_none_is_refused(served: Served) -> None:
    for cursor in ("x", "~", "1~", "~a", "9" * 30 + "~a", "1~a\0", "-1~a", "1~" + "a" * 3_000):
        answer = served.http.get("/api/v1/flows", params={"cursor": cursor})
        assert answer.status_code == 400, (cursor, answer.text)
