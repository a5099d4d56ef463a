"""What is left of a budget, and what is reserved of it for an attempt.

An attempt is handed out while anything is left that no other has reserved, so all of them together
go over by less than one. What to reserve is what the definition expects of one attempt, or the most
that one has used so far, whichever is more. Where nobody knows, the first attempt reserves all that
is left, and shows what one uses.
"""

from windlass.model.budgets import COUNTED, REPORTED, SECONDS, unit_of
from windlass.model.limits import Limit, LimitUse
from windlass.model.notes import read_notes
from windlass.model.rows import Attempt, read_failure
from windlass.model.states import AttemptState

_UNHEARD = (AttemptState.LOST, AttemptState.CANCELLED, AttemptState.TIMED_OUT)
NO_BOUND = 1_000_000_000_000_000_000


class Spend:
    """The part of a key's row that is about a budget, and what a pass does to it."""

    def __init__(self, use: LimitUse) -> None:
        self.unit = unit_of(use.key)
        self.budget = use.budget
        self.raised = use.raised
        self.spent = use.spent
        self.reserved = use.reserved
        self.largest = use.largest
        self.asked = bool(use.asked)

    @property
    def total(self) -> int:
        return NO_BOUND if self.budget is None else self.budget + self.raised

    @property
    def left(self) -> int:
        return self.total - self.spent - self.reserved

    @property
    def is_spent(self) -> bool:
        """Whether no end of an attempt can help any more, only somebody who raises it."""
        return self.spent >= self.total

    @property
    def room(self) -> int:
        """About how many attempts may be handed out."""
        if self.budget is None:
            return NO_BOUND
        if self.left <= 0:
            return 0
        each = self._each(0)
        return -(-self.left // each) if each else 1

    def _each(self, estimate: int) -> int:
        return 1 if self.unit in COUNTED else max(estimate, self.largest)

    def amount(self, limit: Limit) -> int:
        """What an attempt reserves."""
        each = self._each(limit.estimate)
        return each if each or self.budget is None else max(0, self.left)

    def settle(self, amount: int, used: int) -> None:
        self.reserved = max(0, self.reserved - amount)
        self.spent += used
        self.largest = max(self.largest, used)

    def used_by(self, attempt: Attempt) -> int:
        """What an attempt that has ended has used. One that was lost or taken away can say nothing,
        and counts as the most that was seen."""
        if self.unit in COUNTED:
            return int(attempt.state is not AttemptState.CANCELLED)
        if self.unit == SECONDS:
            return max(0, (attempt.finished_at or attempt.claimed_at) - attempt.claimed_at)
        said = read_notes(attempt.notes).usage
        if not said and attempt.state in _UNHEARD:
            failure = read_failure(attempt.error)
            return 0 if failure is not None and failure.kind == "returned" else self.largest
        return said.get(self.unit, 0) if self.unit in REPORTED else 0

    def raise_by(self, more: int) -> None:
        """Somebody has answered: with more, or with nothing, and another is asked then."""
        self.raised += more
        self.asked = False
