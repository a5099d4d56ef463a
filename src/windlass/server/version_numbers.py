"""Numbers of the versions that runs are of."""

from starlette.requests import Request

from windlass.model.rows import Run
from windlass.server.caller import engine_of
from windlass.server.context import context_of

_NUMBERS_MAX = 10_000


async def version_numbers(request: Request, rows: list[Run]) -> dict[str, int]:
    """Numbers of the versions some runs are of. They never change, so each is asked for once."""
    known = context_of(request).version_numbers
    missing = list({row.version_id for row in rows} - known.keys())
    if missing:
        if len(known) > _NUMBERS_MAX:
            known.clear()
        for row in await engine_of(request).store.query("version_numbers", ids=missing):
            known[row["id"]] = row["number"]
    return known
