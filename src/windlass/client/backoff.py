"""Pauses between failing tries: longer each time, and spread so that no two march in step."""

import random


class Backoff:
    """The next pause; `reset` after a success."""

    def __init__(
        self, first_s: float = 0.1, most_s: float = 2.0, random_: random.Random | None = None
    ) -> None:
        self._random = random_ or random.Random()
        self._first_s = first_s
        self._most_s = most_s
        self._next_s = first_s

    def reset(self) -> None:
        self._next_s = self._first_s

    def pause_s(self) -> float:
        pause = self._next_s
        self._next_s = min(self._most_s, pause * 2)
        return pause * self._random.uniform(0.5, 1.0)
