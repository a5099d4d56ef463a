"""Which servers a machine with runtimes connects to, and which of its connections counts."""

from windlass.drivers.env.exchange import Servers
from windlass.drivers.env.noop import NoopBackend
from windlass.engine.envs.hosts import Hosts
from windlass.wiring.env_host import address_of, unknown_servers
from windlass.wiring.options import ServerOptions

_A, _B = "http://10.0.0.1:8070", "http://10.0.0.2:8070"
_HERE = "http://127.0.0.1:8071"


def test_servers_that_another_tells_of_are_connected_to() -> None:
    assert unknown_servers({_A: Servers("a", {"a": _A, "b": _B})}) == {_A, _B}


def test_a_server_that_is_reached_under_another_name_is_not_connected_to_twice() -> None:
    told = {"https://all.example": Servers("a", {"a": _A, "b": _B})}
    assert unknown_servers(told) == {_B}
    told[_B] = Servers("b", {"a": _A, "b": _B})
    assert unknown_servers(told) == {_B}, "and what was opened stays"


def test_a_loopback_address_of_another_machine_is_none_of_ours() -> None:
    assert unknown_servers({_A: Servers("a", {"b": _HERE})}) == set()
    assert unknown_servers({"http://localhost:1": Servers("a", {"b": _HERE})}) == {_HERE}


def test_a_server_is_where_it_listens_unless_told_otherwise() -> None:
    assert address_of(ServerOptions(host="10.0.0.1")) == _A
    assert address_of(ServerOptions(host="::1", tls_cert="x")) == "https://[::1]:8070"
    assert address_of(ServerOptions(advertise="https://me/")) == "https://me"
    assert address_of(ServerOptions(port=0)) == "", "nobody knows which yet"
    assert address_of(ServerOptions(roles=frozenset({"control"}))) == "", "it answers nobody"


def test_a_host_is_gone_when_its_last_connection_is() -> None:
    hosts, first, second = Hosts(), {"noop": NoopBackend()}, {"noop": NoopBackend()}
    hosts.add("m", first)
    hosts.add("m", second)
    assert hosts.get("m", "noop") is second["noop"]
    hosts.drop("m", second)
    assert hosts.get("m", "noop") is first["noop"]
    hosts.drop("m", second)
    hosts.drop("m", first)
    assert hosts.missing("noop")
    assert hosts.addresses() == []
