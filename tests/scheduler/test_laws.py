"""Laws of sessions over random worlds: discard, declared dependencies, water-filling."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scheduler.test_reference import worlds
from tests.scheduler.world import PACKING, World, priority_class
from volcano.scheduler import cycle
from volcano.scheduler.actions import ACTIONS, allocate
from volcano.scheduler.core.share import Claimant, dominant_share, fill
from volcano.scheduler.hooks import Depends
from volcano.scheduler.rows import Rows

LAW = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


def session_on(parts, seed=1):
    nodes, queues, groups, pods = parts
    world = World([priority_class("high", 100), *queues, *nodes, *groups, *pods], conf=PACKING)
    return cycle.open_session(world.state, world.conf, 0.0, seed)


@LAW
@given(worlds())
def test_discard_restores_the_snapshot(parts):
    session = session_on(parts)
    before = session.snapshot.digest()
    for job in session.snapshot.jobs.values():
        runs = allocate._runs(session.hooks, job)
        statement = session.statement()
        for run in reversed(runs):
            statement.place(job, run, len(run), 3, lambda: False)
        statement.discard()
        assert session.snapshot.digest() == before


@LAW
@given(worlds())
def test_declared_dependencies_change_nothing(parts):
    declared, whole = session_on(parts), session_on(parts)
    for hook in (*whole.search.filters, *whole.search.scorers):
        if hook.depends is not Depends.NORMALISED and hook.depends is not Depends.STATIC:
            hook.depends = Depends.WHOLE
    for action in ("enqueue", "allocate", "backfill"):
        ACTIONS[action](declared)
        ACTIONS[action](whole)
    assert declared.binds == whole.binds


@LAW
@given(worlds(), st.data())
def test_plans_stay_equal_to_asking_every_node(parts, data):
    session = session_on(parts)
    search, view = session.search, session.snapshot.nodes
    tasks = [t for job in session.snapshot.jobs.values() for t in job.waiting_tasks()]
    classes = list({task.spec.id: task.spec for task in tasks}.values())
    if not classes:
        return
    for _ in range(data.draw(st.integers(1, 12))):
        cls = data.draw(st.sampled_from(classes))
        plan = search.plan(cls, data.draw(st.integers(1, 9)))
        row = plan.best()
        if row >= 0:
            plan.advance(row)
            plan.flush()
        plan.best()
        fleet = Rows(view, cls)
        room = np.ones(view.size, bool)
        for axis, amount in cls.request:
            room &= fleet.idle[axis] >= amount
        for _, codes in search.codes(cls, fleet):
            room &= codes == 0
        index = np.flatnonzero(room)
        assert (np.flatnonzero(plan.totals != -np.inf) == index).all()
        if len(index):
            assert (plan.totals[index] == search.total_of(cls, index)).all()


amounts = st.dictionaries(st.integers(0, 2), st.integers(0, 40).map(float), max_size=3)


@LAW
@given(
    st.dictionaries(st.integers(0, 2), st.integers(1, 100).map(float), min_size=1),
    st.dictionaries(
        st.sampled_from("abcd"), st.tuples(st.integers(0, 3), amounts, amounts), min_size=1
    ),
)
def test_water_filling(total, queues):
    claims = {n: Claimant(w, limit, request, {}) for n, (w, limit, request) in queues.items()}
    fill(total, claims)
    for axis, size in total.items():
        assert sum(c.deserved.get(axis, 0) for c in claims.values()) <= size + 1e-6
    for claim in claims.values():
        for axis, amount in claim.deserved.items():
            assert amount <= claim.request.get(axis, 0) + 1e-9
            assert amount <= claim.limit.get(axis, np.inf) + 1e-9


one_axis = st.integers(0, 40).map(float)


@LAW
@given(
    st.integers(1, 100).map(float),
    st.lists(st.tuples(st.integers(0, 3), one_axis, one_axis), min_size=1, max_size=4),
)
def test_water_filling_of_one_resource_leaves_nothing_that_somebody_could_use(total, queues):
    claims = {
        str(i): Claimant(w, {0: lim}, {0: want}, {}) for i, (w, lim, want) in enumerate(queues)
    }
    fill({0: total}, claims)
    usable = sum(min(limit, want) for _, limit, want in queues)
    given_out = sum(claim.deserved.get(0, 0) for claim in claims.values())
    assert abs(given_out - min(total, usable)) < 0.2


def test_worked_examples_of_water_filling():
    def shares(*queues, total):
        claims = {
            str(i): Claimant(
                q.get("weight", 1), q.get("limit", {}), {0: q["request"]}, q.get("guarantee", {})
            )
            for i, q in enumerate(queues)
        }
        fill({0: float(total)}, claims)
        return [round(c.deserved.get(0, 0.0), 3) for c in claims.values()]

    assert shares({"request": 10}, {"request": 100}, {"request": 100, "weight": 2}, total=100) == [
        10,
        30,
        60,
    ]
    assert shares({"request": 5, "weight": 0}, {"request": 9, "weight": 0}, total=10) == [5, 5]
    assert shares({"request": 9, "weight": 0}, {"request": 9, "weight": 1}, total=10) == [1, 9]
    guaranteed = {"request": 2, "weight": 2, "guarantee": {0: 10}, "limit": {0: 25}}
    rest = [{"request": 30, "limit": {0: limit}} for limit in (20, 15, 10)]
    assert shares(*rest, guaranteed, total=30) == [6.667, 6.667, 6.667, 10]


def test_dominant_share():
    assert dominant_share({0: 2, 1: 1}, {0: 10, 1: 2}) == 0.5
    assert dominant_share({}, {0: 10}) == 0
    assert dominant_share({5: 3}, {0: 10, 5: 0}) == 0
