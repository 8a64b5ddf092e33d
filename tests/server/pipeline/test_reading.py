"""get, list and watch: exact revisions, pages, selectors, bookmarks, tables."""

import asyncio

import pytest

from tests.server.harness import Caller, config_map, names, pod
from volcano.api import kinds
from volcano.base.limits import WATCH_BOOKMARK_SECONDS

pytestmark = pytest.mark.anyio
MAPS = "/api/v1/namespaces/kube-public/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


async def make(admin: Caller, *keys: str, **labels: str) -> list[str]:
    """Create ConfigMaps; their resourceVersions."""
    versions = []
    for key in keys:
        obj = config_map(key, "kube-public")
        obj["metadata"]["labels"] = labels
        versions.append((await admin.create(kinds.CONFIG_MAP, obj))["metadata"]["resourceVersion"])
    return versions


async def test_get_answers_what_create_answered(admin: Caller) -> None:
    created = await admin.create(kinds.CONFIG_MAP, config_map("a", k="v"))
    assert await admin.get(kinds.CONFIG_MAP, "a", "default") == created
    body = await admin.refused(404, "GET", "/api/v1/namespaces/default/configmaps/b")
    assert body["message"] == 'configmaps "b" not found'
    assert body["details"] == {"name": "b", "kind": "configmaps"}


async def test_lists_are_paged_at_one_revision(admin: Caller) -> None:
    await make(admin, "a", "b", "c", "d")
    first = await admin.ok("GET", f"{MAPS}?limit=2")
    assert names(first["items"]) == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 3
    await admin.ok("DELETE", f"{MAPS}/c")
    await make(admin, "bb")
    token = first["metadata"]["continue"]
    second = await admin.ok("GET", f"{MAPS}?limit=2&continue={token}")
    assert names(second["items"]) == ["c", "d"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    last = await admin.ok("GET", f"{MAPS}?limit=2&continue={second['metadata']['continue']}")
    assert names(last["items"]) == ["kube-root-ca.crt"]
    assert "continue" not in last["metadata"]


async def test_an_expired_page_can_be_continued_inconsistently(admin: Caller) -> None:
    await make(admin, "a", "b", "c")
    first = await admin.ok("GET", f"{MAPS}?limit=1")
    await make(admin, "bb", "d")
    await admin.server.store.compact(admin.server.store.revision)
    token = first["metadata"]["continue"]
    gone = await admin.refused(410, "GET", f"{MAPS}?limit=1&continue={token}")
    assert gone["reason"] == "Expired"
    rest = await admin.ok("GET", f"{MAPS}?continue={gone['metadata']['continue']}")
    assert names(rest["items"]) == ["b", "bb", "c", "d", "kube-root-ca.crt"]


async def test_revisions_asked_for(admin: Caller) -> None:
    first, second = await make(admin, "a", "b")

    async def listed(query: str) -> list[str]:
        found = await admin.ok("GET", f"{MAPS}?labelSelector=!nothing&{query}")
        return [name for name in names(found["items"]) if not name.startswith("kube")]

    assert await listed(f"resourceVersion={first}&resourceVersionMatch=Exact") == ["a"]
    assert await listed(f"resourceVersion={first}&resourceVersionMatch=NotOlderThan") == ["a", "b"]
    assert await listed(f"resourceVersion={first}") == ["a", "b"]
    assert await listed("resourceVersion=0") == ["a", "b"]
    future = await admin.refused(504, "GET", f"{MAPS}?resourceVersion=999999")
    assert future["message"] == f"Too large resource version: 999999, current: {second}"
    assert future["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    await admin.refused(400, "GET", f"{MAPS}?resourceVersion=x")
    await admin.refused(422, "GET", f"{MAPS}?resourceVersionMatch=Exact")
    await make(admin, "c", "d")
    await admin.server.store.compact(admin.server.store.revision)
    old = await admin.refused(
        410, "GET", f"{MAPS}?resourceVersion={first}&resourceVersionMatch=Exact"
    )
    assert old["message"].startswith("too old resource version")


async def test_selectors_over_all_namespaces(admin: Caller) -> None:
    await make(admin, "a", app="x")
    await make(admin, "b", app="y")
    found = await admin.ok("GET", "/api/v1/configmaps?labelSelector=app%20in%20(x,z)")
    assert names(found["items"]) == ["a"]
    found = await admin.ok("GET", "/api/v1/configmaps?fieldSelector=metadata.name=b")
    assert names(found["items"]) == ["b"]
    await admin.refused(400, "GET", "/api/v1/configmaps?fieldSelector=data.x=b")


async def test_tables_and_metadata(admin: Caller) -> None:
    await admin.create(kinds.POD, pod())
    table = await admin.ok("GET", "/api/v1/namespaces/default/pods", accept=TABLE)
    assert table["kind"] == "Table"
    assert table["rows"][0]["cells"][0] == "a"
    one = await admin.ok("GET", "/api/v1/namespaces/default/pods/a", accept=TABLE)
    assert one["rows"][0]["cells"][0] == "a"
    partial = await admin.ok("GET", "/api/v1/namespaces/default/pods", accept=PARTIAL)
    assert partial["kind"] == "PartialObjectMetadataList"
    assert "spec" not in partial["items"][0]
    answer = await admin.call("GET", "/api/v1/pods", accept="application/vnd.kubernetes.protobuf")
    assert answer.status == 406


async def test_a_watch_tells_additions_changes_and_deletions(admin: Caller) -> None:
    (version,) = await make(admin, "a")
    events = admin.watch(f"{MAPS}?watch=true&resourceVersion={version}")
    await admin.ok(
        "PATCH", f"{MAPS}/a", {"data": {"k": "v"}}, content_type="application/merge-patch+json"
    )
    await make(admin, "b")
    await admin.ok("DELETE", f"{MAPS}/a")
    seen = [await anext(events) for _ in range(3)]
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in seen] == [
        ("MODIFIED", "a"),
        ("ADDED", "b"),
        ("DELETED", "a"),
    ]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in seen]
    assert versions == sorted(versions)
    await events.aclose()


async def test_a_watch_from_nothing_starts_with_the_state(admin: Caller) -> None:
    await make(admin, "a", "b")
    for query in ("", "&resourceVersion=0"):
        events = admin.watch(f"{MAPS}?watch=1{query}")
        seen = [await anext(events) for _ in range(3)]
        assert [event["type"] for event in seen] == ["ADDED"] * 3
        await events.aclose()


async def test_initial_events_end_with_a_marked_bookmark(admin: Caller) -> None:
    await make(admin, "a")
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    events = admin.watch(f"{MAPS}?{query}&allowWatchBookmarks=true")
    seen = [await anext(events) for _ in range(3)]
    assert [event["type"] for event in seen] == ["ADDED", "ADDED", "BOOKMARK"]
    assert seen[2]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    await events.aclose()
    await admin.refused(422, "GET", f"{MAPS}?watch=1&sendInitialEvents=true")
    await admin.refused(422, "GET", f"{MAPS}?{query.removeprefix('watch=1&')}")


async def test_entering_and_leaving_a_selection(admin: Caller) -> None:
    (version,) = await make(admin, "a", app="x")
    events = admin.watch(f"{MAPS}?watch=1&resourceVersion={version}&labelSelector=app=y")

    async def relabel(value: str) -> None:
        await admin.ok(
            "PATCH",
            f"{MAPS}/a",
            {"metadata": {"labels": {"app": value}}},
            content_type="application/merge-patch+json",
        )

    for value in ("y", "y2", "y", "x"):
        await relabel(value)
    await relabel("y")
    await admin.ok("DELETE", f"{MAPS}/a")
    seen = [await anext(events) for _ in range(6)]
    assert [event["type"] for event in seen] == ["ADDED", "DELETED"] * 3
    assert seen[1]["object"]["metadata"]["labels"] == {"app": "y"}, "the state that matched"
    await events.aclose()


async def test_a_watch_from_compacted_history_is_gone(admin: Caller) -> None:
    (version,) = await make(admin, "a")
    await make(admin, "b", "c")
    await admin.server.store.compact(admin.server.store.revision)
    gone = await admin.refused(410, "GET", f"{MAPS}?watch=1&resourceVersion={version}")
    assert gone["reason"] == "Expired"
    await admin.refused(504, "GET", f"{MAPS}?watch=1&resourceVersion=999999")


async def test_bookmarks_and_the_end_of_a_watch(admin: Caller) -> None:
    (version,) = await make(admin, "a")
    url = f"{MAPS}?watch=1&resourceVersion={version}&allowWatchBookmarks=1&timeoutSeconds=100"
    events = admin.watch(url)
    reading = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    await admin.server._clock.advance(WATCH_BOOKMARK_SECONDS + 1)
    await make(admin, "b")
    assert (await reading)["type"] == "ADDED"
    bookmark = await anext(events)
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"]["resourceVersion"] == str(admin.server.store.revision)
    await admin.server._clock.advance(100)
    await make(admin, "c")
    assert (await anext(events))["type"] == "ADDED"
    assert (await anext(events))["type"] == "BOOKMARK"
    assert [event async for event in events] == []


async def test_watches_as_tables_send_the_columns_once(admin: Caller) -> None:
    (version,) = await make(admin, "a")
    events = admin.watch(f"{MAPS}?watch=1&resourceVersion={version}", accept=TABLE)
    await make(admin, "b", "c")
    first, second = await anext(events), await anext(events)
    assert first["object"]["kind"] == "Table"
    assert first["object"]["columnDefinitions"]
    assert not second["object"].get("columnDefinitions")
    await events.aclose()


async def test_stopping_the_server_ends_watches(admin: Caller) -> None:
    events = admin.watch(f"{MAPS}?watch=1")
    await anext(events)
    await admin.server.stop()
    assert [event async for event in events] == []
