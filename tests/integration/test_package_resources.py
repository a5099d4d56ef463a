"""Files a package declares: whoever brings them, they are what their author meant."""

from pathlib import Path

import pytest

from tests.integration.workbench import workbench
from tests.packages import archive
from windlass.protocol.packages.digest import sha256
from windlass.protocol.packages.errors import PackageError

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("made", ["a model", "another"])
async def test_a_resource_a_hook_makes_is_checked_afterwards(tmp_path: Path, made: str) -> None:
    wanted = {"path": "m/a", "type": "download", "sha256": sha256(b"a model")}
    hook = {"scripts/a.sh": f"mkdir m && printf '{made}' > m/a"}
    data = archive(files=hook, hooks={"install": ["scripts/a.sh"]}, resources=[wanted])
    async with workbench(tmp_path, hooks=("*",)) as bench:
        if made == "a model":
            await bench.install(data)
        else:
            with pytest.raises(PackageError, match="has the SHA-256"):
                await bench.install(data)


async def test_a_resource_nobody_brings_is_refused(tmp_path: Path) -> None:
    wanted = {"path": "m/a", "type": "download", "sha256": sha256(b"a model")}
    async with workbench(tmp_path) as bench:
        with pytest.raises(PackageError, match="declared and not there"):
            await bench.install(archive(resources=[wanted]))
