"""What PostgreSQL's errors mean to whoever uses the store."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import asyncpg

from windlass.model.errors import BadRequest, Unavailable, WindlassError
from windlass.ports.store import Raced, Taken

LOST = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    # What a pooled connection says that the server closed while it was being given back.
    asyncpg.InternalClientError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
)
_RACES = (  # the second: two jobs of one pass make and change the same row
    asyncpg.UniqueViolationError,
    asyncpg.CardinalityViolationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
)


@contextmanager
def told() -> Generator[None]:
    """Errors of the database in the store's words."""
    try:
        yield
    except asyncpg.UniqueViolationError as error:
        raise Taken(str(error)) from error
    except _RACES as error:
        raise Raced(str(error)) from error
    except (asyncpg.DataError, asyncpg.ProgramLimitExceededError) as error:
        raise BadRequest(f"this cannot be stored: {error}") from error
    except asyncpg.PostgresError as error:
        if error.sqlstate == "WL002":
            raise Raced(str(error)) from error
        if isinstance(error, LOST):
            raise Unavailable(f"PostgreSQL: {error}") from error
        raise
    except (*LOST, TimeoutError) as error:
        raise Unavailable(f"PostgreSQL: {type(error).__name__}: {error}") from error


@contextmanager
def kept_whole(connection: Any) -> Generator[None]:
    """A connection that another session will have next. After an answer of the database it is as it
    was; whatever else ends a session may leave half a question in it."""
    try:
        yield
    except (asyncpg.PostgresError, WindlassError, Raced):
        if connection.is_closed() or connection.is_in_transaction():
            connection.terminate()
        raise
    except BaseException:
        connection.terminate()
        raise
