"""Logs, both kinds of Event, and a store that fails: told in Kubernetes' terms."""

from collections.abc import AsyncIterator

import pytest

from tests.server.harness import Caller, config_map, names, pod, running
from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.api.pod_logs import LogOptions
from volcano.base.clock import ManualClock
from volcano.base.errors import StoreError
from volcano.base.limits import EVENT_SWEEP_SECONDS, EVENT_TTL_SECONDS
from volcano.server.store.log import StoreFullError, StoreLockedError

pytestmark = pytest.mark.anyio
PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
CORE_EVENTS = "/api/v1/namespaces/default/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


class Logs:
    """Says what it was asked for, in two chunks."""

    async def open(self, pod: JsonObject, options: LogOptions) -> AsyncIterator[bytes]:
        async def chunks() -> AsyncIterator[bytes]:
            yield f"{pod['metadata']['name']}/{options.container}".encode()
            yield f" follow={options.follow} tail={options.tail_lines}".encode()

        return chunks()


async def test_logs_are_streamed() -> None:
    async with running(pod_logs=Logs()) as admin:
        await admin.create(kinds.POD, pod())
        response = await admin.send("GET", f"{PODS}/a/log?follow=true&tailLines=3")
        assert response.stream is not None
        assert b"".join([chunk async for chunk in response.stream]) == b"a/c follow=True tail=3"
        body = await admin.refused(400, "GET", f"{PODS}/a/log?container=x")
        assert body["message"] == "container x is not valid for pod a"
        await admin.refused(400, "GET", f"{PODS}/a/log?tailLines=-1")
        await admin.refused(404, "GET", f"{PODS}/none/log")
        two = pod("two")
        two["spec"]["containers"].append({"name": "d", "image": "busybox"})
        await admin.create(kinds.POD, two)
        body = await admin.refused(400, "GET", f"{PODS}/two/log")
        assert body["message"] == (
            "a container name must be specified for pod two, choose one of: [c d]"
        )


async def test_without_a_source_of_logs(admin: Caller) -> None:
    await admin.create(kinds.POD, pod())
    await admin.refused(501, "GET", f"{PODS}/a/log")


async def test_events_are_one_thing_under_two_names(admin: Caller) -> None:
    core = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e1", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "name": "a", "namespace": "default"},
        "reason": "Started",
        "message": "it runs",
        "type": "Normal",
        "count": 2,
        "source": {"component": "node"},
    }
    await admin.create(kinds.EVENT, core)
    seen = await admin.ok("GET", f"{NEW_EVENTS}/e1")
    assert seen["apiVersion"] == "events.k8s.io/v1"
    assert (seen["note"], seen["regarding"]["name"], seen["deprecatedCount"]) == (
        "it runs",
        "a",
        2,
    )
    new = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e2", "namespace": "default"},
        "regarding": {"kind": "Pod", "name": "b", "namespace": "default"},
        "reason": "Scheduled",
        "note": "placed",
        "type": "Normal",
        "action": "Binding",
        "eventTime": "2023-11-14T22:13:20.000000Z",
        "reportingController": "volcano",
        "reportingInstance": "volcano-0",
    }
    created = await admin.ok("POST", NEW_EVENTS, new)
    assert created["note"] == "placed"
    found = await admin.ok("GET", f"{CORE_EVENTS}?fieldSelector=involvedObject.name=b")
    assert names(found["items"]) == ["e2"]
    assert (found["items"][0]["message"], found["items"][0]["apiVersion"]) == ("placed", "v1")
    listed = await admin.ok("GET", f"{NEW_EVENTS}?fieldSelector=regarding.name=a")
    assert names(listed["items"]) == ["e1"]


async def test_old_events_are_dropped() -> None:
    clock = ManualClock(1_700_000_000.0)
    async with running(clock=clock) as admin:
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "e", "namespace": "default"},
            "involvedObject": {"kind": "Pod", "name": "a", "namespace": "default"},
            "reason": "Started",
            "message": "it runs",
            "type": "Normal",
        }
        await admin.create(kinds.EVENT, event)
        await clock.advance(EVENT_TTL_SECONDS - EVENT_SWEEP_SECONDS)
        assert names((await admin.ok("GET", CORE_EVENTS))["items"]) == ["e"]
        await clock.advance(2 * EVENT_SWEEP_SECONDS)
        assert names((await admin.ok("GET", CORE_EVENTS))["items"]) == []


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (StoreFullError("the disk is full: nothing was stored"), 507, "InsufficientStorage"),
        (StoreLockedError("the database is locked"), 503, "ServiceUnavailable"),
        (StoreError("the database failed"), 503, "ServiceUnavailable"),
    ],
    ids=["full", "locked", "other"],
)
async def test_a_failing_store_is_told_and_nothing_is_kept(
    admin: Caller, error: StoreError, code: int, reason: str
) -> None:
    admin.server._log.fail_next(error)  # type: ignore[attr-defined]  # the memory log
    body = await admin.refused(code, "POST", MAPS, config_map())
    assert (body["reason"], body["message"]) == (reason, error.public)
    await admin.refused(404, "GET", f"{MAPS}/a")
    assert (await admin.call("POST", MAPS, config_map())).status == 201


async def test_a_fault_of_ours_is_answered_and_does_not_break_the_server(
    admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(type(admin.server.store), "rows", fail)
    body = await admin.refused(500, "GET", MAPS)
    assert body["reason"] == "InternalError"
    assert "a bug" not in body["message"]
