"""What the requests of all operations are made of: paths, pages, bodies."""

from typing import Any
from urllib.parse import quote

from windlass.client.requests import ApiCall, encode

API = "/api/v1"


def post(path: str, answer: type[Any], body: object) -> ApiCall[Any]:
    return ApiCall("POST", path, answer, body=encode(body))


def listing(limit: int, cursor: str | int, **filters: str) -> dict[str, str | int]:
    query: dict[str, str | int] = {"limit": limit}
    query.update((name, value) for name, value in filters.items() if value)
    if cursor != "":
        query["cursor"] = cursor
    return query


def run_path(run_id: str) -> str:
    return f"{API}/runs/{path_part(run_id)}"


def task_path(run_id: str, task: str) -> str:
    return f"{run_path(run_id)}/tasks/{path_part(task)}"


def path_part(text: str) -> str:
    return quote(text, safe="~@.")
