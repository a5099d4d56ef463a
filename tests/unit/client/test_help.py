"""What people see of the clients: signatures and words, in help and completion."""

import inspect
import pydoc

import pytest

import windlass
from windlass import AsyncClient, Client
from windlass.client import AsyncRun, Run
from windlass.client.shapes import Published, RunInfo


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_help_tells_what_a_method_takes_and_does(client: type) -> None:
    text = pydoc.plain(pydoc.render_doc(client))
    assert "publish(self, /, flow" in text
    assert "Start a run of a published flow" in text
    assert "Begins object" not in text
    assert "Method object" not in text


@pytest.mark.parametrize(("client", "handle"), [(Client, "Run"), (AsyncClient, "AsyncRun")])
@pytest.mark.parametrize("name", ["start", "plan", "run"])
def test_help_tells_that_a_run_comes_back_as_its_handle(
    client: type, handle: str, name: str
) -> None:
    assert inspect.signature(vars(client)[name]).return_annotation == handle
    assert inspect.signature(vars(client)["publish"]).return_annotation is Published


def test_methods_are_functions_with_names_of_their_own() -> None:
    assert vars(Client)["start"].__qualname__ == "Client.start"
    assert list(inspect.signature(vars(Run)["wait"]).parameters)[:2] == ["self", "timeout"]
    assert inspect.iscoroutinefunction(vars(AsyncClient)["publish"])


@pytest.mark.parametrize(("client", "handle"), [(Client, Run), (AsyncClient, AsyncRun)])
def test_a_run_is_printed_with_what_it_is_of_and_how_it_stands(client: type, handle: type) -> None:
    run = handle(client("http://127.0.0.1:1"), RunInfo(id="r1", flow="greet", state="running"))
    assert repr(run) == f"<{handle.__name__} r1 of greet: running>"


def test_completion_of_the_package_offers_what_there_is_to_use() -> None:
    offered = {name for name in dir(windlass) if not name.startswith("_")}
    assert {"Client", "AsyncClient", "Flow", "Worker", "Context", "RunFailed"} <= offered
    assert "importlib" not in offered
