"""Actions of handlers: as everybody's, with a refusal that ends the attempt for good."""

from typing import Self

from windlass.client import actions
from windlass.client.actions import Ledger as Ledger
from windlass.model.errors import BadRequest, Denied
from windlass.worker.errors import ActionRefused


class Action(actions.Action):
    """One action of a handler's attempt, for `with` and `async with`."""

    def __enter__(self) -> Self:
        try:
            return super().__enter__()
        except (Denied, BadRequest) as error:
            raise ActionRefused(str(error)) from error
