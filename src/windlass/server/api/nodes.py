"""The nodes that packages bring: listed, searched, read one by one.

Manifests never change under their version, so each is read and decoded once and kept; a request
reads only which versions there are.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine.engine import Engine
from windlass.model.errors import BadRequest, NotFound
from windlass.model.packages import PackageVersion
from windlass.protocol.exchange import Wire
from windlass.protocol.packages import versions
from windlass.server.api.packages import may_read
from windlass.server.caller import engine_of, who
from windlass.server.context import context_of
from windlass.server.http import page_limit, reply_tagged
from windlass.server.paging import cursor_text
from windlass.server.routes import Route

PAGE_MAX = 200
_VERSIONS_MAX = 10_000


class NodeList(Wire, frozen=True, kw_only=True):
    items: list[dict[str, Any]]
    next_cursor: str | None = None


class Brought(NamedTuple):
    """A version of a package and the nodes its manifest describes."""

    package: str
    version: str
    status: str
    templates: Sequence[dict[str, Any]]


class Manifests:
    """The nodes of versions, kept once they were read."""

    def __init__(self, engine: Engine, kept_max: int = _VERSIONS_MAX) -> None:
        self._engine = engine
        self._kept: dict[str, list[dict[str, Any]]] = {}
        self._kept_max = kept_max

    async def nodes_of(self, ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
        missing = [id_ for id_ in ids if id_ not in self._kept]
        if len(self._kept) + len(missing) > self._kept_max:
            self._kept.clear()
            missing = list(ids)
        if missing:
            async with self._engine.store.session() as session:
                for row in await session.rows(PackageVersion, missing):
                    self._kept[row.id] = msgspec.json.decode(row.manifest).get("nodes", [])
        return {id_: self._kept.get(id_, []) for id_ in ids}


async def list_nodes(request: Request) -> Response:
    """Nodes of the newest versions, by `q`, `category`, `status`, `tag` and `package`."""
    limit = page_limit(request, 50, PAGE_MAX)
    after = cursor_text(request)
    found = [n for n in await all_nodes(request) if place_of(n) > after and fits(n, request)]
    next_ = place_of(found[limit - 1]) if len(found) > limit else None
    return reply_tagged(request, NodeList(items=found[:limit], next_cursor=next_))


async def search_nodes(request: Request) -> Response:
    """Nodes whose type, label, description or tags contain `q`."""
    if not request.query_params.get("q"):
        raise BadRequest("q says what to look for")
    return await list_nodes(request)


async def get_node(request: Request) -> Response:
    """One node by its type."""
    wanted = request.path_params["type"]
    for node in await all_nodes(request):
        if node["type"] == wanted:
            return reply_tagged(request, node)
    raise NotFound(f'no package has a node "{wanted}"')


async def list_categories(request: Request) -> Response:
    """The categories nodes are sorted into."""
    names = sorted({str(node.get("category", "")) for node in await all_nodes(request)} - {""})
    items = [{"id": name, "title": name, "order": i} for i, name in enumerate(names)]
    return reply_tagged(request, {"items": items})


async def all_nodes(request: Request) -> list[dict[str, Any]]:
    """Every node of the packages the caller may see, with the versions that have it."""
    manifests = context_of(request).part(Manifests)
    engine = engine_of(request)
    rows = await engine.store.query(
        "list_package_versions", count_max=_VERSIONS_MAX, tenant=engine.tenant
    )
    caller = who(request)
    seen = [row for row in rows if may_read(caller, row["visibility"], row["owner"])]
    nodes = await manifests.nodes_of([row["id"] for row in seen])
    return nodes_in(
        [Brought(row["name"], row["version"], row["status"], nodes[row["id"]]) for row in seen]
    )


def nodes_in(found: Sequence[Brought]) -> list[dict[str, Any]]:
    """The nodes of some versions, by package and type, each as the newest that has it shows it."""
    nodes: dict[tuple[str, str], dict[str, Any]] = {}
    for one in sorted(found, key=lambda one: versions.parse(one.version)):
        for template in one.templates:
            key = (one.package, template["type"])
            before: list[dict[str, Any]] = nodes[key]["versions"] if key in nodes else []
            version = {"version": one.version, "status": one.status, "template": template}
            known: list[dict[str, Any]] = [*before, version]
            newest = versions.newest([str(has["version"]) for has in known])
            nodes[key] = {
                **template,
                "packageName": one.package,
                "versions": known,
                "latestVersion": newest,
                "defaultVersion": newest,
            }
    return sorted(nodes.values(), key=place_of)


def place_of(node: dict[str, Any]) -> str:
    """Where a node stands in the list."""
    return f"{node['packageName']} {node['type']}"


def fits(node: dict[str, Any], request: Request) -> bool:
    query = request.query_params
    text = query.get("q", "").lower()
    words = [
        node["type"],
        node.get("label", ""),
        node.get("description", ""),
        *node.get("tags", ()),
    ]
    return (
        (not text or any(text in str(word).lower() for word in words))
        and query.get("package", node["packageName"]) == node["packageName"]
        and query.get("category", node.get("category")) == node.get("category")
        and query.get("status", node.get("status")) == node.get("status")
        and (not query.get("tag") or query["tag"] in node.get("tags", ()))
    )


_QUERY = ("q", "package", "category", "status", "tag", "limit", "cursor")
ROUTES = [
    Route("GET", "/api/v1/catalog/nodes/search", search_nodes, gives=NodeList, query=_QUERY),
    Route("GET", "/api/v1/nodes", list_nodes, gives=NodeList, query=_QUERY),
    Route("GET", "/api/v1/nodes:categories", list_categories),
    Route("GET", "/api/v1/nodes/{type}", get_node),
]
