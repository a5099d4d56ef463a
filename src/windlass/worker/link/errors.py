"""What keeps a link worker from doing a task, apart from the task."""


class NotHere(Exception):
    """The work could not be done here, for no fault of the work: another worker may do it."""
