"""Refusals as a Kubernetes API server words them."""

from typing import Any


class ApiError(Exception):
    """What is answered instead of an object: a `Status` with a code and a reason."""

    def __init__(
        self, code: int, reason: str, message: str, *, retry_after_s: int | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.retry_after_s = retry_after_s

    @property
    def status(self) -> dict[str, Any]:
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }


def not_found(kind: str, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{kind} "{name}" not found')


def expired(version: object) -> ApiError:
    return ApiError(410, "Expired", f"too old resource version: {version}")
