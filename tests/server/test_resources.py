"""What admission reads: the newest objects, writes under way included, from remembered lists."""

import asyncio
from pathlib import Path

import pytest

from tests.server.harness import config_map, running
from volcano.api import kinds
from volcano.base.limits import REMEMBERED_LIST_MAX
from volcano.server.resources import LatestLookup
from volcano.server.store.log import Key

pytestmark = pytest.mark.anyio
URL = kinds.CONFIG_MAP.path("default")


def values(lookup: LatestLookup, namespace: str = "default") -> dict[str, str]:
    """What the lookup lists: names and values."""
    found = lookup.list(kinds.CONFIG_MAP, namespace)
    return {one["metadata"]["name"]: one.get("data", {}).get("k", "") for one in found}


async def test_a_remembered_list_follows_every_write() -> None:
    async with running() as admin:
        lookup = LatestLookup(admin.server.store)
        before = values(lookup)
        await admin.create(kinds.CONFIG_MAP, config_map("one", k="1"))
        assert values(lookup) == before | {"one": "1"}
        assert lookup.list(kinds.CONFIG_MAP, "default") is lookup.list(kinds.CONFIG_MAP, "default")
        await admin.ok("PUT", f"{URL}/one", config_map("one", k="2"))
        assert values(lookup) == before | {"one": "2"}
        assert values(lookup, "kube-system").get("one") is None
        await admin.ok("DELETE", f"{URL}/one")
        assert values(lookup) == before


async def test_a_write_under_way_is_listed(tmp_path: Path) -> None:
    async with running(folder=tmp_path) as admin:
        store = admin.server.store
        lookup = LatestLookup(store)
        values(lookup)
        writing = asyncio.create_task(admin.create(kinds.CONFIG_MAP, config_map("one", k="1")))
        seen_before_commit = False
        while not writing.done():
            uncommitted = store.get(Key(kinds.CONFIG_MAP.resource, "default", "one")) is None
            seen_before_commit |= uncommitted and "one" in values(lookup)
            await asyncio.sleep(0)
        assert seen_before_commit
        assert values(lookup)["one"] == "1"


async def test_long_lists_are_not_kept() -> None:
    async with running() as admin:
        lookup = LatestLookup(admin.server.store)
        for number in range(REMEMBERED_LIST_MAX + 1):
            await admin.create(kinds.CONFIG_MAP, config_map(f"map-{number}", k=str(number)))
        assert len(values(lookup)) > REMEMBERED_LIST_MAX
        first, second = (lookup.list(kinds.CONFIG_MAP, "default") for _ in range(2))
        assert first is not second
