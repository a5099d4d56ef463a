"""Forks: what to ask and what the answer is, as in `calls`."""

from windlass.client.paths import run_path
from windlass.client.requests import ApiCall, encode
from windlass.client.shapes import RunInfo


class Same:
    """Nothing was said of the input: the task has what it had."""


SAME = Same()


def fork(
    run_id: str,
    task: str,
    input: object = SAME,  # noqa: A002  the wire's name
    *,
    key: str = "",
) -> ApiCall[RunInfo]:
    """Start another run that keeps what this one did before a task, and does the rest again."""
    body: dict[str, object] = {"task": task}
    if input is not SAME:
        body["input"] = input
    headers = {"Idempotency-Key": key} if key else {}
    return ApiCall("POST", f"{run_path(run_id)}/fork", RunInfo, body=encode(body), headers=headers)
