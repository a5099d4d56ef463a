"""What a plan costs: judged tasks beside plain ones in the same process, and one of many tasks."""

from pathlib import Path

import pytest

from windlass.testing.bench.embedded import LOCAL
from windlass.testing.bench.plans import measure
from windlass.wiring.options import ServerOptions
from windlass.wiring.system import running

RATIO_MAX = 2.6
"""The aim is 2.2, and 2.0 to 2.3 is what is measured; a neighbour's load moves it by a fifth, and
going through a verifier's queue again for what rules decide makes it 3.3."""
LARGE_S_MAX = 3.0


@pytest.mark.anyio
@pytest.mark.timeout(300)
async def test_judged_tasks_cost_little_more_than_twice_what_plain_ones_do(tmp_path: Path) -> None:
    options = ServerOptions(db=f"sqlite:///{tmp_path / 'plans'}.db", no_auth=True)
    async with running(options, LOCAL) as system:
        figures = await measure(system, 200, 5)
    print(figures)
    assert figures["ratio"] <= RATIO_MAX
    assert figures["large_s"] <= LARGE_S_MAX
