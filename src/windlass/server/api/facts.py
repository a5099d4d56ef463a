"""Facts from outside, such as a collector's about pods."""

from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import facts
from windlass.model.errors import BadRequest
from windlass.protocol.facts_api import FACTS_MAX, FactsBody, FactsTaken
from windlass.server.caller import engine_of, who
from windlass.server.http import read_json, reply
from windlass.server.routes import Route


async def state(request: Request) -> Response:
    """State what was seen outside, at most 1,000 facts at once. Each is taken for what it is worth
    now: `accepted`, `duplicate`, `stale` (about an attempt that is over), `ignored` (changes
    nothing) or `unknown` (about nothing of ours). The same fact twice does no harm."""
    who(request).check_unbound("states no facts of pods")
    body = await read_json(request, FactsBody)
    if len(body.events) > FACTS_MAX:
        raise BadRequest(f"{len(body.events):,} facts at once; send at most {FACTS_MAX:,}")
    engine = engine_of(request)
    outcomes = await facts.state_all(engine, body.events)
    return reply(FactsTaken([str(outcome) for outcome in outcomes]))


ROUTES = [Route("POST", "/api/v1/facts", state, "worker", FactsBody, FactsTaken, control=True)]
