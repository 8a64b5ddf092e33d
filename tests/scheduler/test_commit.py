"""What a cycle decided reaches the API once, most urgent first; what is refused comes back."""

import pytest

from tests.scheduler.edge import Edge, bind, condition, evict, group_status, refusal
from tests.scheduler.world import node, pod
from volcano.base import limits
from volcano.base.http import Request, Response
from volcano.scheduler.model.task import TaskStatus

pytestmark = pytest.mark.anyio
BINDING = "/pods/a/binding"


def refuse(part: str, code: int, reason: str = "", times: int = 1_000):
    """An answer that refuses requests to paths with `part`, so many times."""
    left = [times]

    def answer(request: Request) -> Response | None:
        if part not in request.path or not left[0]:
            return None
        left[0] -= 1
        return refusal(code, reason)

    return answer


def with_pod(edge: Edge, at: str = "") -> Edge:
    edge.state.put_node(node("n1"))
    edge.state.put_pod(pod("a", "g", 1, at=at))
    return edge


async def test_bind_is_written_and_told() -> None:
    async with with_pod(Edge()) as edge:
        await edge.submit(bind("a"))
        (body,) = edge.api.bodies(BINDING)
        assert body["target"] == {"apiVersion": "v1", "kind": "Node", "name": "n1"}
        assert body["metadata"]["uid"] == "uid-ns-a"
        assert edge.state.tasks["ns/a"].status is TaskStatus.BINDING
        assert edge.committer.counts.bound == 1
        await edge.committer.drained()
        await edge.after(2)
        (event,) = edge.api.bodies("/events")
        assert event["reason"] == "Scheduled"
        assert event["message"] == "Successfully assigned ns/a to n1"


async def test_refused_bind_is_taken_back_told_and_planned_again() -> None:
    async with with_pod(Edge(refuse("binding", 403, "Forbidden"))) as edge:
        await edge.submit(bind("a"))
        assert len(edge.api.sent(BINDING)) == 1
        assert edge.committer.counts.bind_failures == 1
        assert edge.woken == 0
        await edge.after(limits.COMMIT_BACKOFF_SECONDS)
        assert edge.woken == 1
        assert edge.state.tasks["ns/a"].status is TaskStatus.PENDING
        await edge.after(2)
        (event,) = edge.api.bodies("/events")
        assert event["reason"] == "FailedBinding"


async def test_pod_refused_again_and_again_is_tried_ever_less_often() -> None:
    async with with_pod(Edge(refuse("binding", 403, "Forbidden"))) as edge:
        waits = []
        for _ in range(10):
            before, woken = edge.clock.now(), edge.woken
            await edge.submit(bind("a"))
            while edge.woken == woken:
                await edge.after(0.1)
            waits.append(round(edge.clock.now() - before, 1))
        assert waits[:5] == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6], abs=0.11)
        assert waits[-1] == pytest.approx(limits.COMMIT_REFUSED_SECONDS_MAX, abs=0.11)
        edge.api.answer = lambda _: None
        await edge.submit(bind("a"))
        assert edge.committer.counts.bound == 1


@pytest.mark.parametrize(("code", "reason"), [(404, "NotFound"), (409, "Conflict")])
async def test_bind_of_a_pod_that_is_gone_or_taken_is_no_news(code: int, reason: str) -> None:
    async with with_pod(Edge(refuse("binding", code, reason))) as edge:
        await edge.submit(bind("a"))
        await edge.after(5)
        assert edge.api.sent("/events") == []
        assert edge.woken == 1


async def test_trouble_that_passes_is_tried_again_with_back_off() -> None:
    async with with_pod(Edge(refuse("binding", 503, times=2))) as edge:
        await edge.submit(bind("a"))
        assert len(edge.api.sent(BINDING)) == 1
        await edge.after(2 * limits.COMMIT_BACKOFF_SECONDS)
        assert len(edge.api.sent(BINDING)) == 2
        await edge.after(2 * limits.COMMIT_BACKOFF_SECONDS)
        assert len(edge.api.sent(BINDING)) == 2
        await edge.after(2 * limits.COMMIT_BACKOFF_SECONDS)
        assert len(edge.api.sent(BINDING)) == 3
        assert edge.committer.counts.bound == 1
        assert edge.woken == 0


async def test_tries_are_bounded() -> None:
    async with with_pod(Edge(refuse("binding", 500))) as edge:
        await edge.submit(bind("a"))
        await edge.after(3600)
        assert len(edge.api.sent(BINDING)) == limits.COMMIT_ATTEMPTS_MAX
        assert edge.woken == 1
        assert edge.state.tasks["ns/a"].status is TaskStatus.PENDING
        assert edge.committer.waiting == 0


async def test_only_the_newest_of_waiting_statuses_is_written() -> None:
    async with Edge() as edge:
        edge.api.gate.clear()
        await edge.submit(group_status("g", "Pending"))
        await edge.submit(group_status("g", "Inqueue"))
        await edge.submit(group_status("g", "Running"))
        assert len(edge.api.sent("/podgroups/g")) == 1
        assert edge.committer.waiting == 2
        edge.api.gate.set()
        await edge.turns()
        written = [body[1]["value"]["phase"] for body in edge.api.bodies("/podgroups/g")]
        assert written == ["Pending", "Running"]
        assert edge.committer.waiting == 0


async def test_old_status_never_comes_after_a_newer_one() -> None:
    async with Edge(refuse("/podgroups/g", 503, times=1)) as edge:
        await edge.submit(group_status("g", "Inqueue"))
        await edge.submit(group_status("g", "Running"))
        await edge.after(60)
        written = [body[1]["value"]["phase"] for body in edge.api.bodies("/podgroups/g")]
        assert written == ["Inqueue", "Running"]


async def test_status_given_up_is_restored_to_what_was_seen() -> None:
    async with Edge(refuse("/ns/", 422, "Invalid")) as edge:
        await edge.submit(group_status("g", "Running"), condition("a", "too large"))
        assert edge.restored == [("PodGroup", "ns/g"), ("Pod", "ns/a")]
        assert edge.committer.counts.failures == 2
        assert edge.woken == 0


async def test_group_status_is_written_for_that_very_group() -> None:
    async with Edge() as edge:
        await edge.submit(group_status("g", "Running"))
        (body,) = edge.api.bodies("/podgroups/g")
        assert body[0] == {"op": "test", "path": "/metadata/uid", "value": "uid-ns-g"}


async def test_binds_go_before_explanations_and_writes_are_bounded() -> None:
    async with Edge() as edge:
        edge.api.gate.clear()
        many = limits.COMMIT_WRITES_IN_FLIGHT_MAX
        await edge.submit(*(condition(f"c{i}", "waits") for i in range(3 * many)))
        await edge.submit(*(bind(f"b{i}") for i in range(many)))
        assert edge.api.in_flight == many
        edge.api.gate.set()
        await edge.turns()
        await edge.committer.drained()
        assert edge.api.in_flight_max == many
        order = ["binding" in request.path for request in edge.api.requests]
        assert order.index(True) == many
        assert all(order[many : 2 * many])


async def test_eviction_marks_deletes_and_tells() -> None:
    async with with_pod(Edge(), at="n1") as edge:
        await edge.submit(evict("a"))
        assert edge.state.tasks["ns/a"].status is TaskStatus.RELEASING
        methods = [r.method for r in edge.api.sent("/pods/a")]
        assert methods == ["PATCH", "DELETE"]
        (mark, options) = edge.api.bodies("/pods/a")
        assert mark["status"]["conditions"][0]["type"] == "DisruptionTarget"
        assert options["preconditions"]["uid"] == "uid-ns-a"
        await edge.after(2)
        (event,) = edge.api.bodies("/events")
        assert event["reason"] == "Evict"


async def test_refused_eviction_is_taken_back() -> None:
    async with with_pod(Edge(refuse("/pods/a", 403, "Forbidden")), at="n1") as edge:
        await edge.submit(evict("a"))
        await edge.after(1)
        assert edge.state.tasks["ns/a"].status is TaskStatus.RUNNING
        assert edge.woken == 1
