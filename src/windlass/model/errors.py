"""Errors by who must act on them; each shell translates them once."""

import msgspec


class WindlassError(Exception):
    """Base of every error we raise on purpose."""


class Problem(msgspec.Struct, frozen=True):
    """One thing wrong with a definition: where, why, and what would mend it."""

    path: str
    reason: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" + (f" ({self.hint})" if self.hint else "")


class DefinitionError(WindlassError):
    """The author must edit the definition; `problems` lists everything found at once."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = problems


class BadRequest(WindlassError):
    """The caller sent something we cannot read; the message names it and the next move."""


class TooMuchWork(WindlassError):
    """One step of a run would take more than any run may: its author must make it smaller."""


class NotFound(WindlassError):
    """The caller named something that does not exist."""


class Conflict(WindlassError):
    """The caller acts on a state that is no longer there; a fresh read tells more."""


class Denied(WindlassError):
    """The caller may not do this; another token or setting would."""


class Unauthorized(WindlassError):
    """The caller did not say who it is."""


class StaleLease(WindlassError):
    """The holder must stop: another has the work, or it is already done."""


class NotInstalled(WindlassError):
    """The operator must add something that is not here; the message says what, and how. Asking
    again later would not help."""


class Unavailable(WindlassError):
    """Time will help; the message says what is missing."""

    def __init__(self, what: str, retry_after_s: float = 1.0) -> None:
        super().__init__(what)
        self.retry_after_s = retry_after_s
