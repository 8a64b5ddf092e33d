"""The scheduler decides as the plain one does, whatever the world."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.reference.scheduler import Scheduler
from tests.scheduler.world import (
    PACKING,
    World,
    group,
    node,
    pod,
    priority_class,
    queue,
)
from volcano.scheduler import conf

ZONES = ("a", "b", "c")


@st.composite
def worlds(draw):
    nodes = []
    for i in range(draw(st.integers(1, 6))):
        nodes.append(
            node(
                f"n{i}",
                cpu=draw(st.sampled_from([0.5, 1, 2, 4, 7])),
                memory=draw(st.sampled_from(["1Gi", "3Gi", "4G", "8Gi"])),
                pods=draw(st.sampled_from([1, 2, 3, 10, 110])),
                labels={"zone": draw(st.sampled_from(ZONES))},
                taints=draw(
                    st.sampled_from(
                        [
                            (),
                            (),
                            (),
                            ("k=v:NoSchedule",),
                            ("k=v:PreferNoSchedule",),
                            ("a=b:PreferNoSchedule", "k=v:PreferNoSchedule"),
                        ]
                    )
                ),
                images=draw(st.sampled_from([None, None, {"busybox:latest": 300 * 2**20}])),
                gpu=draw(st.sampled_from([0, 0, 1, 2])),
            )
        )
    queues = [
        queue(
            f"q{i}",
            weight=draw(st.integers(0, 3)),
            **draw(
                st.sampled_from(
                    [
                        {},
                        {},
                        {"capability": {"cpu": "3"}},
                        {"priority": 2},
                        {"guarantee": {"resource": {"cpu": "1", "memory": "1Gi"}}},
                    ]
                )
            ),
        )
        for i in range(draw(st.integers(1, 3)))
    ]
    groups, pods = [], []
    templates = draw(st.lists(pod_templates(), min_size=1, max_size=3))
    for g in range(draw(st.integers(1, 6))):
        count = draw(st.integers(1, 4))
        roles = draw(st.sampled_from([None, None, {"r0": 1}, {"r0": 1, "r1": 1}]))
        groups.append(
            group(
                f"g{g}",
                minimum=draw(st.integers(0, count)),
                queue=draw(st.sampled_from([q["metadata"]["name"] for q in queues])),
                phase=draw(st.sampled_from(["Inqueue", "Inqueue", "Pending"])),
                roles=roles,
                resources=draw(st.sampled_from([None, {"cpu": "2", "memory": "2Gi"}])),
                priority=draw(st.sampled_from(["", "", "high"])),
                created=draw(st.integers(0, 3)),
            )
        )
        for i in range(count):
            chosen = dict(draw(st.sampled_from(templates)))
            where = draw(st.sampled_from([None] * 6 + [n["metadata"]["name"] for n in nodes]))
            pods.append(
                pod(
                    f"g{g}-t-{i}",
                    f"g{g}",
                    role=draw(st.sampled_from(["r0", "r1"])),
                    at=where or "",
                    deleting=bool(where) and draw(st.booleans()),
                    priority=draw(st.sampled_from([None, None, 5])),
                    **chosen,
                )
            )
    return nodes, queues, groups, pods


@st.composite
def pod_templates(draw):
    template = {
        "cpu": draw(st.sampled_from([None, "100m", "0.3", 1, 2, 3])),
        "memory": draw(st.sampled_from([None, "200M", "1Gi", "2Gi"])),
    }
    extra = {}
    if draw(st.integers(0, 4)) == 0:
        template["select"] = {"zone": draw(st.sampled_from(ZONES))}
    if draw(st.integers(0, 4)) == 0:
        template["ports"] = [draw(st.sampled_from([80, 81]))]
    if draw(st.integers(0, 4)) == 0:
        template["gpu"] = 1
    if draw(st.integers(0, 3)) == 0:
        extra["tolerations"] = [{"key": "k", "operator": "Exists"}]
    if draw(st.integers(0, 3)) == 0:
        extra["affinity"] = {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": w,
                        "preference": {
                            "matchExpressions": [{"key": "zone", "operator": "In", "values": [z]}]
                        },
                    }
                    for w, z in draw(
                        st.lists(
                            st.tuples(st.integers(1, 9), st.sampled_from(ZONES)),
                            min_size=1,
                            max_size=2,
                        )
                    )
                ]
            }
        }
    if extra:
        template["extra"] = extra
    return template


def reference(world, seed, *, pack):
    by_kind = {}
    for obj in world.objects:
        by_kind.setdefault(obj["kind"], []).append(obj)
    return Scheduler(
        nodes=by_kind.get("Node", []),
        pods=by_kind.get("Pod", []),
        groups=by_kind.get("PodGroup", []),
        queues=by_kind["Queue"],
        priorities={"high": 100},
        order=[n.name for n in world.state.node_order(seed)],
        pack=pack,
    )


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(worlds(), st.integers(0, 5), st.booleans())
def test_decides_as_the_plain_scheduler(parts, seed, pack):
    nodes, queues, groups, pods = parts
    world = World(
        [priority_class("high", 100), *queues, *nodes, *groups, *pods],
        conf=PACKING if pack else conf.default(),
    )
    want = reference(world, seed, pack=pack).run()
    result = world.cycle(seed)
    assert {f"{b.namespace}/{b.name}": b.node for b in result.binds} == dict(want)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_objects_does_not_matter(parts, random):
    nodes, queues, groups, pods = parts
    objects = [priority_class("high", 100), *queues, *nodes, *groups, *pods]
    first = World(objects).cycle()
    random.shuffle(objects)
    second = World(objects).cycle()
    assert first.binds == second.binds
    assert {(u.name, u.status["phase"]) for u in first.pod_groups} == {
        (u.name, u.status["phase"]) for u in second.pod_groups
    }
