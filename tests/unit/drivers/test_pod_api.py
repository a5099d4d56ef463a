"""Calls about pods, against an API server that says what a test wants."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from windlass.drivers.dispatch.pod_api import PodApi
from windlass.kube.api import KubeRefused
from windlass.model.errors import Unavailable

pytestmark = pytest.mark.anyio


class Kube:
    """An API server of a few answers, by method and the end of the path."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = answers
        self.asked: list[tuple[str, Any]] = []

    async def close(self) -> None:
        return

    async def call(
        self, method: str, path: str, params: Mapping[str, str] | None = None, body: Any = None
    ) -> bytes:
        asked = f"{method} {path.removeprefix('/api/v1/')}"
        self.asked.append((asked, body))
        answer = self._answers[asked]
        if isinstance(answer, Exception):
            raise answer
        return msgspec.json.encode(answer)


async def test_pods_that_may_not_be_listed_are_waited_for() -> None:
    kube = Kube({"GET pods": KubeRefused(403, "no list for you", 7.0)})
    with pytest.raises(Unavailable, match=r"pods cannot be listed.*no list for you") as raised:
        await PodApi(kube).list("a=b")
    assert raised.value.retry_after_s == 7.0


async def test_a_pod_that_is_there_already_is_found() -> None:
    pod = {"metadata": {"name": "one", "uid": "u1"}}
    kube = Kube(
        {
            "POST namespaces/a/pods": KubeRefused(409, "already exists"),
            "GET namespaces/a/pods/one": pod,
        }
    )
    made = await PodApi(kube).create("a", pod)
    assert made.metadata.uid == "u1"


@pytest.mark.parametrize("code", [403, 404])
async def test_a_pod_that_may_not_be_seen_is_as_good_as_none(code: int) -> None:
    kube = Kube({"GET namespaces/a/pods/one": KubeRefused(code, "no")})
    assert await PodApi(kube).find("a/one") is None
