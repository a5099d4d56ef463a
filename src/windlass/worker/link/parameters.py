"""Parameters of a dispatch: as they came, or fetched where the server left them."""

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import httpx
import msgspec

from windlass.model.values import is_object
from windlass.protocol.link import messages as m
from windlass.worker.link.errors import NotHere
from windlass.worker.link.settings import LinkSettings

ReadParameters = Callable[[m.Dispatch], Awaitable[msgspec.Raw]]

_AT = "/api/v1/attempt-parameters"
_FETCH_S = 60.0
_MARK = b'{"$ref"'


def parameters_reader(
    settings: LinkSettings, transport: httpx.AsyncBaseTransport | None = None
) -> ReadParameters:
    """Reads the parameters of dispatches from the server the settings name; `NotHere` if it is
    away, for which no task is to blame."""
    headers = {"Authorization": f"Bearer {settings.token}"} if settings.token else {}
    verify = settings.ssl_context() or True

    async def read(dispatch: m.Dispatch) -> msgspec.Raw:
        reference = reference_in(dispatch)
        if reference is None:
            return dispatch.parameters
        try:
            async with httpx.AsyncClient(
                base_url=settings.server,
                headers=headers,
                timeout=_FETCH_S,
                trust_env=False,
                transport=transport,
                verify=verify,
            ) as http:
                answer = await http.get(reference["path"], params=str(reference.get("query") or ""))
            answer.raise_for_status()
        except httpx.HTTPError as error:
            raise NotHere(f"the parameters could not be fetched: {error}") from error
        if sha256(answer.content).hexdigest() != reference.get("sha256"):
            raise ValueError("the parameters that were fetched are not those that were kept")
        return msgspec.Raw(answer.content)

    return read


def reference_in(dispatch: m.Dispatch) -> dict[str, Any] | None:
    """Where the parameters are, if they are elsewhere.

    Parameters are an author's words, and our token goes with the request: only the place the server
    keeps this very attempt's parameters in is taken for a reference.
    """
    given = dispatch.parameters
    if bytes(memoryview(given)[: len(_MARK)]) != _MARK:
        return None
    found: Any = msgspec.json.decode(given)["$ref"]
    place = f"{_AT}/{quote(dispatch.task_id, safe='~@.')}"
    return found if is_object(found) and found.get("path") == place else None
