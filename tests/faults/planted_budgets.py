"""Faults of budgets and breakers: amounts that leak, what is spent and handed out all the same."""

from tests.faults.planted import Patch, fault
from windlass.engine.limits import gate
from windlass.engine.limits.bucket import NO_BOUND, Bucket
from windlass.engine.limits.spend import Spend


@fault("what was reserved for an attempt stays reserved when it has ended")
def amount_leaks(patch: Patch) -> None:
    def settle(self: Spend, amount: int, used: int) -> None:
        self.spent += used

    patch.setattr(Spend, "settle", settle)


@fault("what is reserved by others is not counted, so that all of them go over")
def reserved_is_not_counted(patch: Patch) -> None:
    patch.setattr(Spend, "left", property(lambda self: self.total - self.spent))


@fault("nobody is asked to raise a budget that is spent")
def nobody_is_asked(patch: Patch) -> None:
    patch.setattr(gate.Gate, "question", lambda self, key: None)


@fault("a breaker that is half-open lets everybody through")
def everybody_is_on_trial(patch: Patch) -> None:
    def places(self: Bucket) -> int:
        return NO_BOUND if self.max is None else max(0, self.max - self.in_use)

    patch.setattr(Bucket, "places", property(places))
