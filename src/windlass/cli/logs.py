"""What the attempts of a run logged."""

from collections.abc import Iterator

from windlass.cli import output
from windlass.cli.printing import print_line
from windlass.cli.texts import place_of, state_text
from windlass.client import Run
from windlass.client.shapes import AttemptInfo
from windlass.model.ids import task_of

GOOD = ("succeeded", "claimed", "running")


def show_logs(handle: Run, task: str | None, *, as_json: bool) -> None:
    """Print the logs of a run's attempts, or of those of one task."""
    found = [item for item in attempts_of(handle) if task is None or is_of(item, task)]
    if as_json:
        output.show_json(found)
        return
    telling = [item for item in found if item.log or item.state not in GOOD]
    for item in telling:
        if output.is_terminal():
            print_line(f"{state_text(item.state)}  {place_of(item.id)}  {item.worker_id}")
        for line in text_of(item).split("\n"):
            print_line(f"  {line}" if output.is_terminal() else f"{item.id}\t{line}")
    if not telling:
        which = "no such attempts" if not found else "its attempts logged nothing"
        print_line(which, err=True)


def text_of(attempt: AttemptInfo) -> str:
    """What an attempt logged, and why it failed unless the log's last line says so already."""
    log, error = (attempt.log or "").rstrip("\n"), attempt.error
    said = "" if error is None else error.message or error.kind
    return log if not said or log.endswith(said) else f"{log}\n{said}".lstrip("\n")


def attempts_of(handle: Run) -> Iterator[AttemptInfo]:
    cursor: str | int | None = ""
    while cursor is not None:
        page = handle.attempts(cursor=cursor)
        yield from page.items
        cursor = page.next


def is_of(attempt: AttemptInfo, task: str) -> bool:
    """Whether an attempt is of a task, named by its id, its place in the run or its node."""
    whole = task_of(attempt.id)
    place = place_of(whole)
    return task in (whole, place) or any(
        step.rpartition(".")[0] == task for step in place.split("~")
    )
