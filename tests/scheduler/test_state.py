"""The mirror of the cluster: any order of events gives the same world; assumptions hold."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scheduler.world import World, binds, group, node, pod, queue
from volcano.api.kinds import NODE, POD, POD_GROUP, QUEUE
from volcano.resources.vector import CPU, MEMORY, PODS
from volcano.scheduler.model import ClusterState
from volcano.scheduler.model.task import TaskStatus


def used(state, name, axis=CPU):
    return int(state.used.axis(axis)[state.nodes[name].row])


def test_pods_of_others_count_once_they_are_on_a_node():
    state = ClusterState()
    state.put_node(node("n1"))
    state.put_pod(pod("a", cpu=1, scheduler="default-scheduler"))
    assert "ns/a" not in state.tasks
    state.put_pod(pod("a", cpu=1, scheduler="default-scheduler", at="n1"))
    assert used(state, "n1") == 1000


def test_usage_waits_for_its_node_and_survives_its_absence():
    state = ClusterState()
    state.put_pod(pod("a", cpu=1, at="n1"))
    state.put_node(node("n1"))
    assert used(state, "n1") == 1000
    state.delete_node("n1")
    state.put_node(node("n2"))
    assert used(state, "n2") == 0
    state.put_node(node("n1"))
    assert (used(state, "n1"), used(state, "n1", PODS)) == (1000, 1)


def test_ended_pods_use_nothing():
    state = ClusterState()
    state.put_node(node("n1"))
    state.put_pod(pod("a", cpu=1, at="n1"))
    state.put_pod(pod("a", cpu=1, at="n1", phase="Succeeded"))
    assert used(state, "n1") == 0


def test_an_assumed_bind_counts_until_the_watch_confirms_it():
    world = World([node("n1", 1), group("a"), pod("a-0", "a", 1)])
    world.apply(world.cycle())
    assert world.state.tasks["ns/a-0"].status is TaskStatus.BINDING
    world.put(pod("a-0", "a", 1, priority=3))  # older news: does not know of the bind yet
    assert used(world.state, "n1") == 1000
    assert world.cycle().binds == []
    world.put(pod("a-0", "a", 1, at="n1", phase="Pending"))
    assert world.state.tasks["ns/a-0"].status is TaskStatus.BOUND
    assert used(world.state, "n1") == 1000


def test_a_bind_that_failed_is_forgotten():
    world = World([node("n1", 1), group("a"), pod("a-0", "a", 1)])
    world.apply(world.cycle())
    world.state.forget("ns", "a-0", "uid-ns-a-0")
    assert used(world.state, "n1") == 0
    assert binds(world.cycle()) == {"a-0": "n1"}


def test_forgetting_another_pod_of_that_name_does_nothing():
    world = World([node("n1", 1), group("a"), pod("a-0", "a", 1)])
    world.apply(world.cycle())
    world.state.forget("ns", "a-0", "uid-of-its-predecessor")
    assert used(world.state, "n1") == 1000


def test_an_assumed_eviction_counts_as_being_released():
    state = ClusterState()
    state.put_node(node("n1"))
    state.put_pod(pod("a", cpu=1, at="n1"))
    state.assume_evicted("ns", "a", "uid-ns-a")
    state.put_pod(pod("a", cpu=1, at="n1", priority=7))
    assert state.tasks["ns/a"].status is TaskStatus.RELEASING
    assert int(state.releasing.axis(CPU)[state.nodes["n1"].row]) == 1000


@pytest.mark.parametrize(
    ("spec", "cpu", "memory"),
    [
        pytest.param({"containers": [{}, {}]}, 0, 0, id="nothing"),
        pytest.param(
            {"containers": [{"resources": {"requests": {"cpu": "0.1001"}}}]}, 101, 0, id="rounds_up"
        ),
        pytest.param(
            {"containers": [{"resources": {"limits": {"cpu": 2, "memory": "1Ki"}}}]},
            2000,
            1024,
            id="limit_is_the_request_where_none_is_written",
        ),
        pytest.param(
            {
                "containers": [{"resources": {"requests": {"cpu": "1"}}}],
                "initContainers": [
                    {"resources": {"requests": {"cpu": "1500m"}}},
                    {"resources": {"requests": {"cpu": "1"}}, "restartPolicy": "Always"},
                    {"resources": {"requests": {"cpu": "500m"}}},
                ],
            },
            2000,
            0,
            id="sidecar_adds_to_what_follows",
        ),
        pytest.param(
            {
                "containers": [{"resources": {"requests": {"cpu": "1"}}}],
                "initContainers": [{"resources": {"requests": {"cpu": "3"}}}],
                "overhead": {"cpu": "100m"},
            },
            3100,
            0,
            id="largest_init_step_and_overhead",
        ),
        pytest.param(
            {
                "containers": [{"resources": {"requests": {"cpu": "1", "memory": "1"}}}],
                "resources": {"requests": {"cpu": "5"}},
            },
            5000,
            1,
            id="pod_level",
        ),
    ],
)
def test_request_of_a_pod(spec, cpu, memory):
    state = ClusterState()
    obj = pod("a")
    obj["spec"] |= spec
    state.put_pod(obj)
    cls = state.classify(state.tasks["ns/a"])
    assert (cls.amount(CPU), cls.amount(MEMORY), cls.amount(PODS)) == (cpu, memory, 1)


def test_unreadable_amounts_keep_the_pod_waiting_and_say_why():
    world = World([node("n1"), group("a"), pod("a-0", "a", "one")])
    result = world.cycle()
    assert result.binds == []
    message = result.pod_conditions[0].condition["message"]
    assert message.startswith("the pod's spec cannot be read: resource cpu: ")


def test_unreadable_node_is_left_out_and_noted():
    world = World([node("bad", "many"), node("n1"), group("a"), pod("a-0", "a", 1)])
    assert binds(world.cycle()) == {"a-0": "n1"}
    assert "resource cpu" in world.state.troubles["Node/bad"]


def test_only_changes_that_matter_wake_a_cycle():
    state = ClusterState()
    assert state.put(NODE, node("n1"))
    assert not state.put(NODE, node("n1") | {"metadata": {"name": "n1", "resourceVersion": "9"}})
    assert state.put(NODE, node("n1", 8))
    assert state.put(QUEUE, queue())
    assert not state.put(QUEUE, queue())
    assert state.put(POD_GROUP, group("a"))
    again = group("a")
    again["status"]["conditions"] = [{"type": "Scheduled"}]
    assert not state.put(POD_GROUP, again)
    assert state.put(POD, pod("a-0", "a", 1))
    seen = pod("a-0", "a", 1)
    seen["status"]["conditions"] = [{"type": "PodScheduled"}]
    assert not state.put(POD, seen)
    assert state.tasks["ns/a-0"].pod is seen
    assert state.delete(POD, seen)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_events_in_any_order_and_twice_give_the_same_state(data):
    objects = [
        queue(),
        *(node(f"n{i}") for i in range(3)),
        *(group(f"g{i}") for i in range(2)),
        *(
            pod(f"p{i}", f"g{i % 2}", 1 + i % 2, at=f"n{i % 4}" if i % 3 else "", ports=[80 + i])
            for i in range(6)
        ),
    ]
    order = data.draw(st.permutations(objects + objects[3:8]))
    plain, mixed = World(objects).state, ClusterState()
    puts = World([])
    puts.state = mixed
    for obj in order:
        puts.put(obj)
        if obj["kind"] == "Pod" and data.draw(st.booleans()):
            mixed.delete_pod(f"ns/{obj['metadata']['name']}")
            puts.put(obj)
    for name in plain.nodes:
        for axis in (CPU, PODS):
            assert used(plain, name, axis) == used(mixed, name, axis)
        rows = plain.nodes[name].row, mixed.nodes[name].row
        assert plain.ports.get(rows[0]) == mixed.ports.get(rows[1])
    for key, job in plain.jobs.items():
        assert job.counts == mixed.jobs[key].counts
        assert job.role_counts == mixed.jobs[key].role_counts
        assert job.allocated == mixed.jobs[key].allocated
