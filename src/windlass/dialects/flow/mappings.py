"""What goes into a node and comes out of it: `prep`, `post`, actions, and the retry settings."""

from windlass.dialects.fields import Fields
from windlass.dialects.flow.refs import literal, parse_key, parse_path, parse_ref
from windlass.dialects.plain import is_list, under
from windlass.model.graph import ActionRule, Output, Ref, Retry, Root

PREP_FIELDS = frozenset({"input_key", "input_map"})
POST_FIELDS = frozenset({"output_key", "output_map", "action_static", "action_key"})
RETRY_FIELDS = frozenset(
    {
        "max_retries",
        "wait_ms",
        "backoff",
        "max_wait_ms",
        "jitter",
        "max_attempts",
        "attempt_delay_ms",
    }
)


def read_input(prep: Fields, written: frozenset[str]) -> Ref | dict[str, Ref] | None:
    """What a node gets: a map of values, or one value; a map wins, even an empty one.

    `written` holds the shared keys that nodes of the same scope write. Plain text that begins with
    one of them names that value; other plain text may still turn out to name one at run time (a
    signal writes shared keys too), and is itself if it does not.
    """
    if prep.has("input_map"):
        where = prep.at("input_map")
        given = prep.mapping("input_map").items()
        return {key: _mapped(item, under(where, key), prep, written) for key, item in given}
    listed = prep.raw("input_key")
    if is_list(listed):
        return literal(listed)
    key = prep.text("input_key")
    return parse_key(key, prep.at("input_key"), prep.problems) if key else None


def _mapped(value: object, where: str, prep: Fields, written: frozenset[str]) -> Ref:
    if not isinstance(value, str):
        return literal(value)
    if value.startswith("$"):
        return parse_ref(value, where, prep.problems) or literal(None)
    path = parse_path(value)
    if path is None:
        return literal(value)
    if path[0] in written:
        return Ref(Root.SHARED, path)
    return Ref(Root.SHARED_OR_LITERAL, path, value)


def read_output(post: Fields) -> Output:
    """Which shared keys a result is written to."""
    keys = post.text_mapping("output_map")
    for key in keys:
        post.check_name(key, under(post.at("output_map"), key))
    return Output(post.name("output_key"), keys)


def read_action(post: Fields, default_action: str) -> ActionRule:
    """How a node names the edge to follow."""
    return ActionRule(post.name("action_static"), post.name("action_key"), default_action)


def read_retry(fields: Fields, base: Retry) -> Retry:
    """When a failed task is tried again; what is not said here is as in `base`."""
    moves = fields.whole("max_attempts")
    return Retry(
        retries_max=fields.whole("max_retries", base.retries_max),
        wait_ms=fields.whole("wait_ms", base.wait_ms),
        factor=fields.number("backoff", base.factor, low=1, high=1000),
        wait_ms_max=fields.whole("max_wait_ms", base.wait_ms_max),
        jitter=fields.number("jitter", base.jitter, low=0, high=1),
        # PocketFlow's 0 leaves the number of workers to try to the scheduler.
        moves_max=moves or base.moves_max,
        move_wait_ms=fields.whole("attempt_delay_ms", base.move_wait_ms),
    )
