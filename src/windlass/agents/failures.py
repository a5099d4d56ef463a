"""What a model's failure means for the attempt: come back later, try again, or give up."""

from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)

from windlass.worker.errors import PermanentError, ServiceError, TemporaryError

RATE_PAUSE_S = 10.0
"""How long to stay away from a model that is busy and does not say how long."""
UNREACHABLE_PAUSE_S = 5.0
_TEXT_MAX = 1_000


class AgentFailure(ServiceError):
    """The attempt failed, and another one may do better; `failure_class` says in a word why."""

    def __init__(self, failure_class: str, message: str) -> None:
        super().__init__(f"{failure_class}: {message}")
        self.failure_class = failure_class
        self.message = message


def meaning_of(error: AgentRunError) -> ServiceError:
    """The failure of an attempt whose model failed."""
    text = error.message[:_TEXT_MAX]
    match error:
        case ModelRateLimitError():
            after = error.retry_after or RATE_PAUSE_S
            return TemporaryError(f"the model is busy: {text}", retry_after_s=after)
        case ModelQuotaExceededError():
            return PermanentError(f"model_quota: the account of the model is used up: {text}")
        case ModelUnavailableError():
            after = error.retry_after or RATE_PAUSE_S
            return TemporaryError(f"the model is not available: {text}", retry_after_s=after)
        case ModelTimeoutError() | ModelRequestTimeout():
            return AgentFailure("model_timeout", f"the model did not answer in time: {text}")
        case ModelConnectionError(phase="connect"):
            pause = UNREACHABLE_PAUSE_S
            return TemporaryError(f"the model cannot be reached: {text}", retry_after_s=pause)
        case ModelConnectionError():
            return AgentFailure("model_connection", f"the model's answer broke off: {text}")
        case ModelAuthenticationError():
            return PermanentError(f"model_key: the model refuses the worker's key: {text}")
        case ModelContextWindowExceededError():
            return PermanentError(f"model_context: the brief is too long for the model: {text}")
        case ModelRequestRejectedError():
            return PermanentError(f"model_request: the model refuses the request: {text}")
        case ContentFilterError():
            return PermanentError(f"model_refused: the model refuses to answer: {text}")
        case ModelAPIError():
            return AgentFailure("model_error", text)
        case UsageLimitExceeded():
            return AgentFailure("too_many_steps", text)
        case UnexpectedModelBehavior():
            return AgentFailure("invalid_answer", f"the model's answers were of no use: {text}")
        case _:
            return AgentFailure("model_error", text)
