"""What a queue's pods hold is told in its status, and in those of its ancestors, once."""

from volcano.api import kinds
from volcano.scheduler import conf, cycle
from volcano.scheduler.model.decisions import QueueUpdate
from volcano.scheduler.model.state import ClusterState


def put_queue(state, name, *, parent="", allocated=None):
    status = {"state": "Open", **({"allocated": allocated} if allocated else {})}
    meta = {"name": name, "uid": f"{name}-uid"}
    state.put(kinds.QUEUE, {"metadata": meta, "spec": {"parent": parent}, "status": status})


def put_pod(state, *, cpu, phase="Running"):
    group = {
        "metadata": {"namespace": "n", "name": "g", "uid": "g"},
        "spec": {"minMember": 1, "queue": "team"},
        "status": {"phase": "Running"},
    }
    state.put(kinds.POD_GROUP, group)
    requests = {"cpu": cpu, "memory": "1Gi"}
    spec = {
        "schedulerName": "volcano",
        "nodeName": "node",
        "containers": [{"name": "c", "resources": {"requests": requests}}],
    }
    annotations = {"scheduling.k8s.io/group-name": "g"}
    meta = {"namespace": "n", "name": "p", "uid": "p", "annotations": annotations}
    state.put(kinds.POD, {"metadata": meta, "spec": spec, "status": {"phase": phase}})


def updates(state):
    result = cycle.run(state, conf.default(), now=0.0, seed=1)
    state.assume_written(result)
    return {update.name: update for update in result.queues}


def test_a_queue_and_its_ancestors_hold_what_their_pods_asked_for():
    state = ClusterState()
    put_queue(state, "root")
    put_queue(state, "dept", parent="root")
    put_queue(state, "team", parent="dept")
    put_queue(state, "other", parent="root")
    put_pod(state, cpu="1500m")
    held = {"cpu": "1500m", "memory": "1Gi", "pods": "1"}
    assert updates(state) == {
        name: QueueUpdate(name, f"{name}-uid", held) for name in ("root", "dept", "team")
    }
    assert updates(state) == {}, "what is written is not written again"


def test_what_is_no_longer_held_is_taken_out():
    state = ClusterState()
    put_queue(state, "team", allocated={"cpu": "1", "memory": "1Gi", "pods": "1", "gone": "1"})
    put_pod(state, cpu="1", phase="Succeeded")
    dropped = ("cpu", "gone", "memory", "pods")
    assert updates(state) == {"team": QueueUpdate("team", "team-uid", {}, dropped)}


def test_a_parent_that_is_missing_or_goes_round_in_a_circle_ends_the_line():
    state = ClusterState()
    put_queue(state, "team", parent="nobody")
    put_pod(state, cpu="1")
    assert set(updates(state)) == {"team"}
    put_queue(state, "team", parent="loop")
    put_queue(state, "loop", parent="team")
    assert set(updates(state)) == {"team", "loop"}
