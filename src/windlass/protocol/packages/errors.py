"""What goes wrong with a package, with a code that travels to the other side."""

from windlass.model.errors import WindlassError

INVALID = "E.PKG.INVALID"
PERMISSION = "E.PKG.PERMISSION"
CONFLICT = "E.PKG.CONFLICT"
MISSING = "E.PKG.MISSING"
UNAVAILABLE = "E.PKG.UNAVAILABLE"
FAILED = "E.PKG.FAILED"


class PackageError(WindlassError):
    """A package cannot be used; `code` is for programs, the message for its author or operator."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def invalid(message: str) -> PackageError:
    """The package itself is wrong: only its author can mend it."""
    return PackageError(INVALID, message)
