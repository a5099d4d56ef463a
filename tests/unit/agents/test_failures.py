"""What each failure of a model means for its attempt."""

import pytest
from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)

from windlass.agents.failures import RATE_PAUSE_S, AgentFailure, meaning_of
from windlass.worker.errors import PermanentError, TemporaryError


@pytest.mark.parametrize(
    ("said", "pause_s"),
    [({"retry-after": "7"}, 7.0), ({"retry-after-ms": "1500"}, 1.5), ({}, RATE_PAUSE_S)],
)
def test_a_busy_model_is_asked_again_when_it_says(said: dict[str, str], pause_s: float) -> None:
    busy = ModelHTTPError.for_category(
        ModelRateLimitError, status_code=429, model_name="m", headers=said
    )
    found = meaning_of(busy)
    assert isinstance(found, TemporaryError)
    assert found.retry_after_s == pause_s


@pytest.mark.parametrize(
    "error",
    [ModelOverloadedError("m", "too much"), ModelConnectionError("m", "refused", phase="connect")],
)
def test_a_model_that_is_not_there_is_asked_again_later(error: AgentRunError) -> None:
    found = meaning_of(error)
    assert isinstance(found, TemporaryError)
    assert found.retry_after_s


@pytest.mark.parametrize(
    ("error", "failure_class"),
    [
        (ModelTimeoutError("m", "late"), "model_timeout"),
        (ModelRequestTimeout("m", 5), "model_timeout"),
        (ModelConnectionError("m", "reset", phase="read"), "model_connection"),
        (ModelAPIError("m", "odd"), "model_error"),
        (UsageLimitExceeded("40 requests"), "too_many_steps"),
        (UnexpectedModelBehavior("no tool call"), "invalid_answer"),
        (AgentRunError("what?"), "model_error"),
    ],
)
def test_another_attempt_may_do_better(error: AgentRunError, failure_class: str) -> None:
    found = meaning_of(error)
    assert isinstance(found, AgentFailure)
    assert found.failure_class == failure_class


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (ContentFilterError("Refusal: 'no'"), "model_refused"),
        (ModelAuthenticationError("m", "bad key"), "model_key"),
        (ModelQuotaExceededError("m", "no credit"), "model_quota"),
    ],
)
def test_what_would_fail_again_is_given_up(error: AgentRunError, word: str) -> None:
    found = meaning_of(error)
    assert isinstance(found, PermanentError)
    assert word in str(found)
