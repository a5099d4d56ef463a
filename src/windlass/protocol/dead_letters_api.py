"""Dead letters as the API has them."""

from typing import Annotated

from msgspec import Meta, field

from windlass.protocol.exchange import Wire

Text = Annotated[str, Meta(max_length=500)]
Id = Annotated[str, Meta(min_length=1, max_length=2_000)]


class DeadLetterView(Wire, frozen=True, kw_only=True):
    """Something that was given up for good."""

    id: str
    """That of the task or the effect."""
    kind: str
    """`task`, or `effect`: something that was to be done outside."""
    run_id: str
    flow: str
    name: str
    """A task's node; what an effect was to do."""
    failure_class: str
    message: str
    tries: int
    died_at: int


class DeadLetterTry(Wire, frozen=True, kw_only=True):
    number: int
    at: int
    by: str
    failure_class: str
    message: str


class DeadLetterDetail(DeadLetterView, frozen=True, kw_only=True):
    """A dead letter with its history."""

    history: list[DeadLetterTry]
    """The last tries, oldest first."""
    next_move: str
    """`replay`, `mend` (it would fail again), `wait` (its run has not ended) or `drop`."""
    advice: str


class DeadLettersBody(Wire, frozen=True, kw_only=True):
    """Which letters are meant: those named, or all that meet a filter."""

    ids: Annotated[list[Id], Meta(max_length=500)] = []
    kind: Text = ""
    run: Text = ""
    flow: Text = ""
    name: Text = ""
    failure_class: Text = ""
    before: int | None = None
    """Only what had died by then; the time of the call if left out."""
    all: bool = False
    """Mean every letter, where nothing else is said."""
    from_: bool = field(default=False, name="from")
    """Replay what came after a task with it, where its run went on."""
    cursor: Annotated[str, Meta(max_length=2_000)] = ""
    dry_run: bool = False
    """Only count."""


class DeadLetterRefused(Wire, frozen=True, kw_only=True):
    id: str
    detail: str


class DeadLettersDone(Wire, frozen=True, kw_only=True):
    """What came of up to 500 letters."""

    matched: int
    done: int
    refused: list[DeadLetterRefused] = []
    next: str | None = None
    """Where to go on, given back as `cursor` with `before`; null at the end."""
    before: int
