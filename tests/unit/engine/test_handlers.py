"""Names of handlers: known as long as they are asked for, within a bound."""

from windlass.engine.handlers import Handlers


def test_packages_nobody_asks_for_are_forgotten_first() -> None:
    handlers = Handlers(chars_max=100)
    handlers.learn("old@1", ["a" * 40])
    handlers.learn("used@1", ["b" * 40])
    assert handlers.of("used@1")
    assert handlers.of("old@1")
    assert handlers.of("used@1")
    before = handlers.count
    handlers.learn("new@1", ["c" * 40])
    assert handlers.count > before, "whoever kept something derived must look again"
    assert handlers.of("old@1") == []
    assert handlers.of("used@1") == [f"used@1:{'b' * 40}"]
    assert handlers.of("new@1") == [f"new@1:{'c' * 40}"]


def test_a_worker_that_registers_again_and_again_takes_no_more_than_the_bound() -> None:
    handlers = Handlers(chars_max=10_000)
    for number in range(150):
        handlers.learn(f"p@{number}", [f"handler-{number}-{index}" for index in range(100)])
    assert sum(len(name) for known in handlers._known.values() for name in known) <= 10_000
