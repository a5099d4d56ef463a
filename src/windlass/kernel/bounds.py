"""How much one run may ask of the kernel."""

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """Bounds the kernel keeps; each is a setting."""

    moves_max: int = 16
    """How often a task may lose its worker before it fails, unless its node says otherwise."""
    push_backs_max: int = 1_000
    """How often a task's service may ask to be left alone before that counts as a failure."""
    branches_per_turn: int = 1000
    """How many branches of a fan-out are made in one transaction."""
    branches_beside: int = 50
    """The same while several runs are about: each of them waits for it."""
    branches_open: int = 10_000
    """How many branches of a fan-out there are at once that have not ended; as they end, more are
    made. Whoever ends the fan-out early ends all of these in one transaction."""
    visits_per_turn: int = 10_000
    """How many nodes one event may pass through; a loop that does no work ends here."""
    rounds_per_turn: int = 100
    """How often one event may come by the same node, once it has passed as many: what neither waits
    nor calls anything would come by for ever, and everybody waits for it."""
    steps_per_event: int = 250_000
    """How much deciding one event may cost: some for each node and for each value that is read,
    every time the event is asked about. A quarter of a second or so, during which nobody else is
    served."""
    value_bytes_max: int = 8 * 1024 * 1024
    """What one task may be given or give, and one shared key hold. What is made of values of before
    may be twice as long each time round a loop."""
    cancel_grace_ms: int = 10_000
    """How long a cancelled run waits for running attempts before it ends without them."""
    env_lease_ms: int = 1_800_000
    """How long a place that was made for a task waits for somebody to claim the task."""
    env_look_ms: int = 120_000
    """How long a claim waits for a last look at its place before a verdict is asked for without."""
    run_nodes_max: int = 10_000
    """Nodes a run's graph may come to have by patches."""
    patch_nodes_max: int = 1_000
    """Nodes one patch may add or drop."""
    patch_edges_max: int = 8_000
    patch_bytes_max: int = 4 * 1024 * 1024
    patches_max: int = 1_000
    """Patches a run may have: its greatest revision."""
