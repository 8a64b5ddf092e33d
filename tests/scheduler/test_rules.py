"""The rules of actions and plugins, case by case (spec: the two lists of scenarios).

Here only the switches that a case names are on, as in the rig the cases come from.
"""

import pytest

from tests.scheduler.world import (
    World,
    binds,
    condition,
    group,
    node,
    phases,
    pod,
    priority_class,
    queue,
    waits,
)
from volcano.scheduler import cycle
from volcano.scheduler.conf import PluginEntry, SchedulerConf
from volcano.scheduler.hooks import HOOKS, SWITCHES, Vote
from volcano.scheduler.plugins.priority import Args, Priority
from volcano.scheduler.rows import Rows


def rig(actions, *plugins, **arguments):
    """One tier; a plugin is written `name: hook hook`, with only these hooks' switches on."""
    entries = []
    for text in plugins:
        name, _, hooks = text.partition(":")
        on = {HOOKS[hook].switch for hook in hooks.split()}
        switches = {switch: switch in on for switch in SWITCHES}
        entries.append(PluginEntry(name, switches, arguments.get(name, {})))
    return SchedulerConf(tuple(actions.split()), (tuple(entries),))


PLAIN = rig(
    "allocate",
    "gang: job_order job_ready job_pipelined job_starving",
    "drf: preemptable job_order",
    "proportion: queue_order reclaimable headroom",
    "predicates: filters",
    "nodeorder: scorers",
)
SHARING = rig(
    "allocate",
    "drf: preemptable job_order",
    "proportion: queue_order reclaimable",
    "predicates: filters",
    "nodeorder: scorers",
)
ROLES = {"select": {"role": "master"}}, {"select": {"role": "worker"}}


def roles(n1_cpu, n2_cpu):
    return [
        node("n1", n1_cpu, labels={"role": "master"}),
        node("n2", n2_cpu, labels={"role": "worker"}),
        *(pod(f"p{i}", "g", 1, role="master", select={"role": "master"}) for i in (0, 1)),
        *(pod(f"p{i}", "g", 1, role="worker", select={"role": "worker"}) for i in (2, 3)),
    ]


ALLOCATE = {
    "a_role_without_node_does_not_block_the_other": (
        [
            group("g", 1),
            node("n1", 2, labels={"role": "worker"}),
            pod("p1", "g", 1, role="master", select={"role": "master"}),
            pod("p2", "g", 1, role="worker", select={"role": "worker"}),
        ],
        {"p2": "n1"},
    ),
    "one_of_each_role": (
        [group("g", 2, roles={"master": 1, "worker": 1}), *roles(1, 1)],
        {"p0": "n1", "p2": "n2"},
    ),
    "second_master_missing": (
        [group("g", 2, roles={"master": 2}), *roles(1, 2)],
        {},
    ),
    "no_minimum": (
        [group("g", 0), node("n1", 2), pod("p1", "g", 1), pod("p2", "g", 1)],
        {"p1": "n1", "p2": "n1"},
    ),
    "queues_alternate": (
        [
            queue("c1"),
            queue("c2"),
            group("pg1", 0, "c1"),
            group("pg2", 0, "c2"),
            node("n1", 2),
            *(pod(f"{g}-p-{i}", g, 1) for g in ("pg1", "pg2") for i in (1, 2)),
        ],
        {"pg1-p-1": "n1", "pg2-p-1": "n1"},
    ),
    "head_that_does_not_fit_does_not_block": (
        [
            group("pg1", 0),
            group("pg2", 0, created=1),
            node("n1", 2),
            pod("p1", "pg1", 3),
            pod("p2", "pg2", 1),
        ],
        {"p2": "n1"},
    ),
}


@pytest.mark.parametrize(("objects", "want"), ALLOCATE.values(), ids=ALLOCATE)
def test_allocate(objects, want):
    assert binds(World(objects, conf=PLAIN).cycle()) == want


FAIR = {
    "lower_share_first_then_no_room": (
        [
            pod("run-1", "pg1", 1, "1G", at="n1"),
            pod("large-1", "pg1", 2, "2G"),
            pod("large-2", "pg2", 3, "2G"),
        ],
        {"large-2"},
    ),
    "share_counts_after_each_job": (
        [
            pod("run-1", "pg1", 1, "1G", at="n1"),
            pod("large-1", "pg1", 2, "2G"),
            pod("large-2", "pg2", 2, "2G"),
            pod("small-2", "pg3", 1, "1G"),
        ],
        {"large-1", "large-2"},
    ),
    "a_job_without_pending_tasks_takes_no_turn": (
        [pod("run-1", "pg1", 1, "1G", at="n1"), pod("pod-2", "pg2", 2, "2G")],
        {"pod-2"},
    ),
}


@pytest.mark.parametrize(("pods", "want"), FAIR.values(), ids=FAIR)
def test_fair_share_of_queues(pods, want):
    objects = [
        queue("q-1"),
        queue("q-2"),
        group("pg1", 0, "q-1"),
        group("pg2", 0, "q-2"),
        group("pg3", 0, "q-2", created=1),
        node("n1", 5, "5G"),
        *pods,
    ]
    assert binds(World(objects, conf=SHARING).cycle()).keys() == want


ENQUEUE = {
    "let_in_already": ([queue("q"), group("g", 2, "q", phase="Inqueue")], "Inqueue"),
    "without_minimum_resources": ([queue("q"), group("g", 1, "q", phase="Pending")], "Inqueue"),
    "without_phase": ([queue("q"), group("g", 1, "q", phase="")], "Inqueue"),
    "beyond_the_capability": (
        [
            queue("q", capability={"cpu": "1", "memory": "1G"}),
            group("g", 1, "q", phase="Pending", resources={"cpu": "8", "memory": "8G"}),
        ],
        "Pending",
    ),
    "exactly_the_capability": (
        [
            queue("q", capability={"cpu": "1"}),
            group("g", 1, "q", phase="Pending", resources={"cpu": "1"}),
        ],
        "Inqueue",
    ),
    "queue_missing": ([queue("other"), group("g", 0, "q", phase="Pending")], "Pending"),
}


@pytest.mark.parametrize(("objects", "want"), ENQUEUE.values(), ids=ENQUEUE)
def test_enqueue(objects, want):
    conf = rig("enqueue", "drf: job_order", "proportion: queue_order job_enqueued job_enqueueable")
    world = World([node("n1", 16), *objects], conf=conf)
    assert phases(world.state, world.cycle())["g"] == want


PROPORTION_BASE = [
    node("n1", 2, "2G"),
    node("n2", 2, "2G"),
    queue("q1", capability={"cpu": "2", "memory": "2G"}),
    queue("q2", capability={"cpu": "3", "memory": "3G"}),
    group("pg1", 1, "q1", phase="Running", resources={"cpu": "1", "memory": "2G"}),
    pod("pod1", "pg1", 1, "2G", at="n1"),
    group("pg2", 1, "q2", phase="Running", resources={"cpu": "2", "memory": "1G"}),
    pod("pod2", "pg2", 2, "1G", at="n2"),
]
ADDED = {
    "q1_cpu": (
        [
            group("pg3", 1, "q1", phase="Pending", resources={"cpu": "1"}),
            pod("pod3", "pg3", 1),
        ]
    ),
    "q2_memory": (
        [
            group("pg4", 1, "q2", phase="Pending", resources={"memory": "1G"}),
            pod("pod4", "pg4", None, "1G"),
        ]
    ),
    "q1_both": (
        [
            group("pg5", 1, "q1", phase="Pending", resources={"cpu": "1", "memory": "1G"}),
            pod("pod5", "pg5", 1, "1G"),
        ]
    ),
}


@pytest.mark.parametrize(
    ("hooks", "added", "want"),
    [
        pytest.param("headroom overused job_enqueueable", "q1_cpu", {"pod3": "n1"}, id="cpu"),
        pytest.param("headroom overused job_enqueueable", "q2_memory", {"pod4": "n2"}, id="memory"),
        pytest.param("job_enqueueable", "q1_both", {}, id="enqueue_refuses"),
        pytest.param("headroom", "q1_both", {}, id="allocate_refuses"),
    ],
)
def test_proportion_enqueue_and_allocatable(hooks, added, want):
    conf = rig("enqueue allocate", f"proportion: {hooks}")
    assert binds(World([*PROPORTION_BASE, *ADDED[added]], conf=conf).cycle()) == want


def test_queue_priority_goes_before_share():
    conf = rig("allocate", "proportion: queue_order")
    objects = [node("n1", 2, "4Gi"), node("n2", 2, "4Gi")]
    for name, priority, at in (("1", 5, "n1"), ("2", 1, ""), ("3", 10, "")):
        objects += [
            queue(f"q{name}", priority=priority, capability={"cpu": "2", "memory": "4Gi"}),
            group(f"pg{name}", 1, f"q{name}"),
            pod(f"p{name}", f"pg{name}", 2, "4Gi", at=at),
        ]
    assert binds(World(objects, conf=conf).cycle()) == {"p3": "n2"}


def test_members_being_bound_are_not_promised_twice():
    conf = rig("enqueue allocate", "proportion: headroom overused job_enqueued job_enqueueable")
    world = World(
        [
            node("n1", 4, "8Gi"),
            queue("q1", capability={"cpu": "4", "memory": "8Gi"}),
            group("pgA", 3, "q1", resources={"cpu": "3", "memory": "3Gi"}),
            *(pod(f"pA{i}", "pgA", 1, "1Gi") for i in (1, 2, 3)),
        ],
        conf=conf,
    )
    first = world.cycle()
    assert len(first.binds) == 3
    world.apply(first)
    world.put(group("pgB", 1, "q1", phase="Pending", resources={"cpu": "1", "memory": "1Gi"}))
    world.put(pod("pB1", "pgB", 1, "1Gi"))
    assert binds(world.cycle()) == {"pB1": "n1"}


def test_a_refused_job_takes_nothing_of_its_queue(monkeypatch):
    class Rejecter(Priority):
        name = "rejecter"

        def job_enqueueable(self, job):
            return Vote.REJECT if job.key == "ns/pgA" else Vote.PERMIT

    conf = rig("enqueue", "proportion: job_enqueueable job_enqueued", "priority: job_enqueueable")
    plugins = cycle.make_plugins(conf)
    tiers = [[plugins[0][0], (Rejecter(Args()), conf.tiers[0][1])]]
    monkeypatch.setattr(cycle, "make_plugins", lambda _: tiers)
    world = World(
        [
            node("n1", 4, "4G"),
            queue("q1", capability={"cpu": "1", "memory": "4G"}),
            *(
                group(g, 1, "q1", phase="Pending", resources={"cpu": "1", "memory": "1G"})
                for g in ("pgA", "pgB")
            ),
        ],
        conf=conf,
    )
    assert phases(world.state, world.cycle()) == {"pgA": "Pending", "pgB": "Inqueue"}


@pytest.mark.parametrize(
    ("factor", "resources", "want"),
    [
        pytest.param(1.2, {"cpu": "2", "memory": "2G"}, "Inqueue", id="fits"),
        pytest.param(0.8, {"cpu": "6", "memory": "2G"}, "Inqueue", id="factor_below_1_is_1.2"),
        pytest.param(1.2, {"cpu": "20", "memory": "20G"}, "Pending", id="too_much"),
        pytest.param(2, {"cpu": "12"}, "Inqueue", id="factor_2"),
        pytest.param(1.2, None, "Inqueue", id="asks_for_nothing"),
    ],
)
def test_overcommit(factor, resources, want):
    conf = rig("enqueue", "overcommit: job_enqueueable", overcommit={"overcommit-factor": factor})
    world = World(
        [
            node("n1", 2, "4Gi"),
            node("n2", 4, "16Gi"),
            group("g", 2, phase="Pending", resources=resources),
        ],
        conf=conf,
    )
    assert phases(world.state, world.cycle())["g"] == want


PHASES = {
    "releasing_counts_with_a_node": (1, "Running", ["releasing"], "Running"),
    "running_and_releasing": (2, "Running", ["running", "releasing"], "Running"),
    "two_releasing": (2, "Running", ["releasing", "releasing"], "Running"),
    "all_succeeded": (2, "Running", ["succeeded", "succeeded"], "Completed"),
    "too_few_left": (2, "Running", ["releasing"], "Pending"),
    "one_waits_in_vain": (2, "Running", ["running", "pending"], "Unknown"),
    "no_member_at_all": (0, "Inqueue", [], "Inqueue"),
    "let_in_and_waiting": (1, "Inqueue", ["pending"], "Inqueue"),
}


@pytest.mark.parametrize(("minimum", "before", "members", "want"), PHASES.values(), ids=PHASES)
def test_phase_at_close(minimum, before, members, want):
    make = {
        "releasing": {"at": "n1", "deleting": True},
        "running": {"at": "n1"},
        "succeeded": {"at": "n1", "phase": "Succeeded"},
        "pending": {"select": {"no": "where"}},
    }
    world = World(
        [
            node("n1"),
            group("g", minimum, phase=before),
            *(pod(f"p-{i}", "g", "100m", **make[m]) for i, m in enumerate(members)),
        ]
    )
    assert phases(world.state, world.cycle())["g"] == want


@pytest.mark.parametrize(
    ("weights", "pod_more", "nodes", "want"),
    [
        pytest.param(
            {"leastrequested.weight": 1},
            {"cpu": 1, "memory": "1G"},
            [node("n1", 2, "4Gi"), node("n2", 4, "8Gi")],
            "n2",
            id="least_requested",
        ),
        pytest.param(
            {"mostrequested.weight": 1},
            {"cpu": 1, "memory": "1G"},
            [node("n1", 2, "4Gi"), node("n2", 4, "8Gi")],
            "n1",
            id="most_requested",
        ),
        pytest.param(
            {"balancedresource.weight": 10},
            {"cpu": 1, "memory": "1Gi"},
            [node("n1", 2, "2Gi"), node("n2", 4, "2Gi")],
            "n1",
            id="balanced",
        ),
        pytest.param(
            {"nodeaffinity.weight": 10},
            {
                "cpu": 1,
                "extra": {
                    "affinity": {
                        "nodeAffinity": {
                            "preferredDuringSchedulingIgnoredDuringExecution": [
                                {
                                    "weight": 100,
                                    "preference": {
                                        "matchExpressions": [
                                            {"key": "zone", "operator": "In", "values": ["zone1"]}
                                        ]
                                    },
                                }
                            ]
                        }
                    }
                },
            },
            [node("n1", labels={"zone": "zone1"}), node("n2", labels={"zone": "zone2"})],
            "n1",
            id="node_affinity",
        ),
        pytest.param(
            {"tainttoleration.weight": 10},
            {"cpu": 1},
            [node("n1"), node("n2", taints=["key1=value1:PreferNoSchedule"])],
            "n1",
            id="taint",
        ),
        pytest.param(
            {"imagelocality.weight": 1},
            {"cpu": 1, "image": "tensorflow/tensorflow"},
            [node("n1"), node("n2", images={"tensorflow/tensorflow:latest": 900 * 2**20})],
            "n2",
            id="image",
        ),
    ],
)
def test_nodeorder(weights, pod_more, nodes, want):
    arguments = {
        f"{name}.weight": 0
        for name in (
            "leastrequested",
            "mostrequested",
            "balancedresource",
            "nodeaffinity",
            "podaffinity",
            "tainttoleration",
            "podtopologyspread",
            "imagelocality",
        )
    } | weights
    conf = rig("allocate", "gang: job_ready", "nodeorder: scorers", nodeorder=arguments)
    for seed in range(8):
        world = World([group("g", 0), *nodes, pod("p1", "g", **pod_more)], conf=conf)
        assert binds(world.cycle(seed)) == {"p1": want}


BINPACK = {
    "weighted": (
        {
            "binpack.weight": 10,
            "binpack.cpu": 2,
            "binpack.memory": 3,
            "binpack.resources": "nvidia.com/gpu, example.com/foo",
            "binpack.resources.nvidia.com/gpu": 7,
            "binpack.resources.example.com/foo": 8,
        },
        {
            "p1": (700, 137.5, 0),
            "p2": (0, 375, 0),
            "p3": (0, 531.25, 0),
            "p4": (0, 173.076923076923, 0),
        },
    ),
    "gpu_only": (
        {"binpack.resources": "nvidia.com/gpu", "binpack.resources.nvidia.com/gpu": 23},
        {"p1": (75, 15.625, 0), "p2": (0, 37.5, 0), "p3": (0, 50.5, 0), "p4": (0, 50, 0)},
    ),
}


@pytest.mark.parametrize(("arguments", "want"), BINPACK.values(), ids=BINPACK)
def test_binpack_scores(arguments, want):
    conf = rig("allocate", "binpack: scorers", binpack=arguments)
    world = World(
        [
            group("g", 0),
            node("n1", 2, "4Gi"),
            node("n2", 4, "16Gi", gpu=4),
            node("n3", 2, "4Gi", **{"example.com/foo": 16}),
            pod("p1", "g", 1, "1Gi", at="n1", phase="Pending"),
            pod("p2", "g", "1500m", at="n3", phase="Pending"),
            pod("p3", "g", 2, "10Gi", gpu=2),
            pod("p4", "g", 3, "4Gi", **{"example.com/foo": 3}),
        ],
        conf=conf,
    )
    session = cycle.open_session(world.state, conf, 0.0, 1)
    view = session.snapshot.nodes
    (scorer,) = session.hooks.scorers
    for name, scores in want.items():
        cls = world.state.classify(world.state.tasks[f"ns/{name}"])
        found = dict(zip(view.names, scorer.score(cls, Rows(view, cls)), strict=True))
        assert [found[n] for n in ("n1", "n2", "n3")] == pytest.approx(scores, abs=1e-8)


def test_binpack_weight_0_scores_nothing():
    conf = rig("allocate", "binpack: scorers", binpack={"binpack.weight": 0})
    assert cycle.open_session(World([], conf=conf).state, conf, 0.0, 1).hooks.scorers == []


def test_pod_count_is_a_predicate_for_tasks_that_ask_for_nothing():
    conf = rig("allocate backfill", "predicates: filters")
    world = World(
        [
            node("n1", 4, pods=2, labels={"kind": "worker"}),
            group("pg1", 2),
            pod("worker-1", "pg1", select={"kind": "worker"}),
            pod("worker-2", "pg1"),
            group("pg2", 1, created=1),
            pod("worker-3", "pg2"),
        ],
        conf=conf,
    )
    assert binds(world.cycle()) == {"worker-1": "n1", "worker-2": "n1"}


def test_a_discarded_gang_leaves_no_trace_on_nodes():
    conf = rig(
        "allocate", "predicates: filters", "gang: job_ready job_pipelined", "priority: job_order"
    )
    world = World(
        [
            priority_class("p1", 1),
            priority_class("p2", 2),
            queue("default", 0),
            node("node1", 14, labels={"kind": "worker"}),
            node("node2", 3),
            group("pg1", 2, priority="p2"),
            pod("worker-1", "pg1", 3, select={"kind": "worker"}, ports=[80]),
            pod("worker-2", "pg1", 15, ports=[80]),
            group("pg2", 1, priority="p1"),
            pod("worker-3", "pg2", 4, ports=[80]),
        ],
        conf=conf,
    )
    assert binds(world.cycle()) == {"worker-3": "node1"}


def test_backfill_goes_by_priority():
    conf = rig("allocate backfill", "priority: job_order task_order", "predicates: filters")
    world = World(
        [
            priority_class("low", 1),
            priority_class("high", 2),
            node("n1", pods=3),
            group("pg1", 0, priority="low"),
            group("pg2", 0, priority="high"),
            *(pod(f"{g}-{p}", g, priority=p) for g in ("pg1", "pg2") for p in (1, 2, 3, 4)),
        ],
        conf=conf,
    )
    assert [b.name for b in world.cycle().binds] == ["pg2-4", "pg2-3", "pg2-2"]


def test_texts_of_a_gang_that_waits():
    world = World(
        [
            node("n1", 1),
            node("n2", 1),
            node("n3", 2),
            group("g", 6),
            *(pod(f"t-a-{i}", "g", 1) for i in range(5)),
            pod("t-a-5", "g", 3),
        ]
    )
    result = world.cycle()
    assert condition(result, "g")["message"] == (
        "2/6 tasks in gang unschedulable: pod group is not ready, 6 Pending, 6 minAvailable;"
        " Pending: 2 Unschedulable, 4 Schedulable. Origin reason is t-a-4:"
        " 0/3 nodes are unavailable: 3 Insufficient cpu. The pod asks for cpu 1; most is free on"
        f" {world.state.node_order(1)[0].name}: 0 (largest node: n3 with 2)."
    )
    reason, message = waits(result, "t-a-0")
    assert reason == "Schedulable"
    assert message.startswith("Pod ns/t-a-0 can possibly be assigned to n")
    assert message.endswith(", once minAvailable is satisfied")
    assert waits(result, "t-a-5")[0] == "Unschedulable"


def test_the_scheduled_condition_has_the_words_clients_know():
    result = World([node("n1"), group("g"), pod("p", "g", 1)]).cycle()
    assert condition(result, "g") == {
        "type": "Scheduled",
        "status": "True",
        "transitionID": "1",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
        "reason": "tasks in gang are ready to be scheduled",
    }
    assert [(e.reason, e.message) for e in result.events] == [("Scheduled", "pod group is ready")]


def test_many_equal_refused_jobs_are_asked_about_once(monkeypatch):
    asked = []
    conf = rig("enqueue", "overcommit: job_enqueueable job_enqueued")
    tiers = cycle.make_plugins(conf)
    overcommit = tiers[0][0][0]

    class Counting(type(overcommit)):
        def job_enqueueable(self, job):
            asked.append(job.key)
            return super().job_enqueueable(job)

    tiers = [[(Counting(overcommit.args), conf.tiers[0][0])]]
    monkeypatch.setattr(cycle, "make_plugins", lambda _: tiers)
    world = World(
        [
            node("n1", 8),
            *(group(f"g{i}", phase="Pending", resources={"cpu": "64"}) for i in range(5000)),
            group("small", phase="Pending", resources={"cpu": "1"}, created=9),
        ],
        conf=conf,
    )
    found = phases(world.state, world.cycle())
    assert found["small"] == "Inqueue"
    assert found["g0"] == "Pending"
    assert len(asked) == 2


def test_what_has_been_said_is_not_said_again():
    world = World([node("n1", 1), group("g"), pod("p", "g", 2)])
    first = world.cycle()
    assert (len(first.pod_groups), len(first.pod_conditions), len(first.events)) == (1, 1, 2)
    world.apply(first)
    second = world.cycle(seed=2)
    assert (second.pod_groups, second.pod_conditions, second.events) == ([], [], [])


@pytest.mark.parametrize(
    ("members", "seconds", "rewritten"),
    [
        pytest.param(3, 1, 3, id="few_at_once"),
        pytest.param(40, 1, 0, id="many_not_yet"),
        pytest.param(40, 31, 40, id="many_after_a_while"),
    ],
)
def test_details_of_many_pods_are_refreshed_now_and_then(members, seconds, rewritten):
    pods = [pod(f"p-t-{i}", "g", 9) for i in range(members)]
    world = World([node("n1", 8), group("g", members), *pods])
    first = world.cycle()
    world.apply(first)
    world.put(node("n1", 7))
    world.now += seconds
    second = world.cycle()
    assert len(second.pod_conditions) == rewritten
    for update in second.pod_conditions:
        condition = update.condition
        assert condition["lastTransitionTime"] == first.pod_conditions[0].condition["lastProbeTime"]
        assert "has 7" in condition["message"]
