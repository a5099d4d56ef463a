"""Lines of this process's log: one a record, whatever strangers put into what is logged."""

import logging
from types import TracebackType

from windlass.model.visible import visible, visible_lines

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class VisibleFormatter(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  the library's name
        return visible(super().formatMessage(record), tabs=True)

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802  the library's name
        return "\n".join(visible_lines(super().formatException(ei)))


def log_to_stderr(level: int, form: str = "%(levelname)s %(name)s: %(message)s") -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(VisibleFormatter(form))
    logging.basicConfig(level=level, handlers=[handler])
