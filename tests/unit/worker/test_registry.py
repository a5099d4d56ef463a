"""The services of a worker, and how a process finds them."""

import sys
from pathlib import Path

import pytest

from windlass.model.errors import BadRequest
from windlass.worker import Worker
from windlass.worker.settings import listen_url, server_url
from windlass.worker.targets import load_worker


def test_a_decorated_function_stays_a_function() -> None:
    worker = Worker()

    @worker.service("double")
    def double(n: int) -> int:
        return 2 * n

    assert double(4) == 8
    assert list(worker.services) == ["double"]
    with pytest.raises(ValueError, match="already"):
        worker.add("double", double)


def test_a_target_is_builtin_or_a_worker_in_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_services.py").write_text(
        "import windlass\nw = windlass.Worker()\n\n@w.service('a')\ndef a(x): return x\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert list(load_worker("my_services:w").services) == ["a"]
    assert "transform" in load_worker("builtin").services
    assert list(load_worker("builtin", ("sum",)).services) == ["sum"]
    for wrong in ("my_services:x", "no_such_module:w", "my_services"):
        with pytest.raises(BadRequest):
            load_worker(wrong)
    with pytest.raises(BadRequest, match="no service nope"):
        load_worker("builtin", ("nope",))


def test_addresses_come_from_flags_then_our_variables_then_the_older_names() -> None:
    assert server_url("", {}) == "http://127.0.0.1:7700"
    assert server_url("", {"REGISTRY_URL": "http://h:8070/api"}) == "http://h:8070"
    assert server_url("", {"REGISTRY_URL": "http://h", "WINDLASS_SERVER": "http://w"}) == "http://w"
    assert server_url("http://x/", {"WINDLASS_SERVER": "http://w"}) == "http://x"
    assert listen_url("0.0.0.0:9", {}) == "http://0.0.0.0:9"
    assert listen_url("", {"WORKER_URL": "http://localhost:8081"}) == "http://localhost:8081"


def test_a_service_without_a_name_goes_by_that_of_its_function() -> None:
    worker = Worker()

    @worker.service
    def bare(x: int) -> int:
        return x

    @worker.service(concurrency=2)
    def bounded(x: int) -> int:
        return x

    assert worker.services.keys() == {"bare", "bounded"}
    assert (bare(1), bounded(2)) == (1, 2), "they stay ordinary functions"
    assert worker.caps == {"bounded": 2}
