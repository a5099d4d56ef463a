"""Facts over HTTP: what somebody saw outside, told to the server."""

import msgspec

from windlass.protocol.pod_facts import Envelope

FACTS_MAX = 1_000


class FactsBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some facts, those about one task in the order in which they happened."""

    events: list[Envelope]


class FactsTaken(msgspec.Struct, frozen=True):
    """What became of each, in the same order."""

    outcomes: list[str]
