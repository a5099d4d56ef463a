"""Dispatching: an attempt becomes a frame its worker can take, or comes back at once."""

import logging
from typing import TYPE_CHECKING, Any

import msgspec

from windlass.model.assignment import Assignment
from windlass.model.rows import Failure
from windlass.model.values import DEPTH_MAX, depth_of
from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import PAYLOAD_BYTES_MAX, Generation, encode
from windlass.server.link.held import Held, dispatch_id
from windlass.server.link.outcomes import dispatch_of

if TYPE_CHECKING:
    from windlass.server.link.session import LinkSession

log = logging.getLogger(__name__)

BY_REFERENCE = "parameters.ref"
"""The feature of a worker that fetches parameters too large for a frame."""

IN_PLACES = "env"
"""The feature of a worker whose handlers use environments."""

WITH_DESK = "desk"
"""The feature of a worker whose handlers write to the ledger and the blackboard."""


class Dispatching:
    """The way out of one session."""

    def __init__(self, session: "LinkSession") -> None:
        self._session = session
        self._plane = session.plane

    def begin(self, assignment: Assignment) -> None:
        session = self._session
        dispatch = dispatch_of(assignment, session.link.generation)
        if not session.connected or self._is_full(dispatch.node_type):
            self._plane.attempts.give_back(assignment.attempt_id)
            return
        # From here on it has a slot and its lease is kept, however long the frame takes to leave.
        held = Held(
            assignment.attempt_id, assignment.run_id, dispatch.node_type, self._plane.clock()
        )
        session.hold(held)
        if calls_on(assignment) and session.link.generation is Generation.FIRST:
            self._turn_back(held, "it cannot call the rest of a chain", codes.UNKNOWN)
            return
        if assignment.env and IN_PLACES in session.link.features:
            dispatch.env = env_field(assignment, self._plane.token(assignment.attempt_id))
        if WITH_DESK in session.link.features:
            dispatch.token = self._plane.token(assignment.attempt_id)
        payload = encode(dispatch)
        if depth_of(payload) >= DEPTH_MAX:
            text = f"its parameters are nested too deep for a frame ({DEPTH_MAX} levels in all)"
            self._turn_back(held, text, codes.DISPATCH_TOO_LARGE)
        elif len(payload) > PAYLOAD_BYTES_MAX:
            self._send_by_reference(held, assignment, dispatch)
        else:
            self._send(held, assignment, dispatch)

    def _is_full(self, kind: str) -> bool:
        limit = self._session.profile.limits.get(kind)
        if limit is None:
            return False
        return sum(1 for held in self._session.held.values() if held.node_type == kind) >= limit

    def _send(self, held: Held, assignment: Assignment, dispatch: m.Dispatch) -> None:
        held.at = now = self._plane.clock()
        self._session.link.send(
            dispatch,
            now,
            id_=dispatch_id(assignment.attempt_id),
            corr=assignment.attempt_id,
            seq=assignment.seq,
        )
        self._plane.counts.dispatched[dispatch.node_type] += 1
        self._session.flush()

    def _send_by_reference(self, held: Held, assignment: Assignment, dispatch: m.Dispatch) -> None:
        """Parameters too large for a frame are left where the worker can fetch them."""
        store = self._plane.keep_parameters
        if store is None or BY_REFERENCE not in self._session.link.features:
            text = "its parameters do not fit into a frame, and the worker cannot fetch them"
            self._turn_back(held, text, codes.DISPATCH_TOO_LARGE)
            return

        async def keep() -> None:
            try:
                reference = await store(assignment.attempt_id, bytes(dispatch.parameters))
            except Exception as error:
                log.exception("the parameters of %s cannot be kept", assignment.attempt_id)
                text = f"its parameters cannot be kept: {error}"
                self._turn_back(held, text, codes.DISPATCH_UNAVAILABLE)
                return
            # A worker that proved itself by a certificate has no token to fetch them with.
            reference["query"] = self._plane.sign(reference["path"]).partition("?")[2]
            dispatch.parameters = msgspec.Raw(encode({"$ref": reference}))
            if self._session.held.get(held.attempt_id) is not held or held.stopped:
                return  # it was taken away meanwhile
            if len(encode(dispatch)) > PAYLOAD_BYTES_MAX:
                text = "the resources it names do not fit into a frame"
                self._turn_back(held, text, codes.DISPATCH_TOO_LARGE)
            elif self._session.connected:
                self._send(held, assignment, dispatch)
            else:
                self._session.end(held)
                self._plane.attempts.give_back(held.attempt_id)

        self._session.spawn(keep())

    def _turn_back(self, held: Held, text: str, code: str) -> None:
        """It never leaves: another worker has to do it, or nobody can."""
        kind = "fatal" if code == codes.DISPATCH_TOO_LARGE else "unreachable"
        self._session.end(held)
        self._session.reports.failed(held.attempt_id, Failure(kind, text, code=code))


def calls_on(assignment: Assignment) -> bool:
    """Whether a task calls for what comes after it: a middleware, not the node at the end."""
    chain = assignment.chain
    return chain is not None and chain.index < len(chain.middlewares)


def env_field(assignment: Assignment, token: str) -> m.EnvField:
    """The environment of an attempt as its worker is told of it."""
    told = msgspec.json.decode(assignment.env, type=dict[str, Any])
    return m.EnvField(
        session_id=told["session_id"],
        kind=told["kind"],
        resource_name=told["resource_name"],
        lease_epoch=told["lease_epoch"],
        details=told["details"] or None,
        token=token,
    )
