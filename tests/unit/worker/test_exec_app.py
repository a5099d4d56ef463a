"""The push worker's HTTP surface, without a socket."""

from urllib.parse import quote

import httpx
import pytest

from windlass import Worker
from windlass.worker.exec_app import ExecApp
from windlass.worker.runtime import Runtime

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", ["a#b", "a?b", "a b", "a%20b", "a%2Fb", "a/b", "步骤"])
async def test_a_service_is_called_by_its_name_whatever_stands_in_it(name: str) -> None:
    worker = Worker()

    @worker.service(name)
    def answer() -> str:
        return "here"

    app = ExecApp(worker, Runtime(worker, 1), 1, "")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://w") as http:
        said = await http.post(f"/exec/{quote(name, safe='')}", json={"input": {}, "params": {}})
    assert said.json() == {"result": "here", "error": ""}
