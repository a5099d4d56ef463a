"""What there is nothing behind yet: lists are empty, and changes say what is missing."""

from starlette.requests import Request
from starlette.responses import Response

from windlass.model.errors import NotFound, Unavailable
from windlass.server.http import reply

_NO_RUNTIME = "this server has no runtime for environments"


async def empty(request: Request) -> Response:
    """Nothing: there is no runtime that could have any."""
    del request
    return reply({"items": []})


async def capabilities(request: Request) -> Response:
    """Whether images can be built here."""
    del request
    return reply({"dockerfile_build": False, "reason": _NO_RUNTIME})


async def no_such(request: Request) -> Response:
    """Nothing is there to be found."""
    raise NotFound(f'no "{request.path_params["id"]}"; {_NO_RUNTIME}')


async def no_runtime(request: Request) -> Response:
    """Making one takes a runtime."""
    raise Unavailable(_NO_RUNTIME, 60.0)
