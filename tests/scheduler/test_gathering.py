"""A gang whose members are just being created is not told that some are missing."""

import pytest

from tests.scheduler.world import World, group, node, pod
from volcano.base.limits import GANG_GATHERING_SECONDS

NOW = 245
"""The second of the world's time."""


def gang(*members: int) -> World:
    """A gang of two created now, with members created at these seconds."""
    pods = [pod(f"train-{i}", "train", 1, created=second) for i, second in enumerate(members)]
    return World([node("n1"), group("train", 2, phase="Inqueue", created=NOW), *pods])


def test_silent_while_members_arrive_and_looked_at_again():
    result = gang(NOW).cycle()
    assert (result.events, result.pod_groups, result.pod_conditions) == ([], [], [])
    assert result.again_in_seconds == GANG_GATHERING_SECONDS
    assert "not enough valid tasks" in result.report.waiting["ns/train"]


@pytest.mark.parametrize(
    ("after", "told"),
    [(1.0, False), (GANG_GATHERING_SECONDS, True), (60.0, True)],
    ids=["soon", "at_its_time", "much_later"],
)
def test_told_when_the_newest_member_is_old_enough(after, told):
    world = gang(NOW)
    world.now += after
    result = world.cycle()
    assert bool(result.events) is told
    assert bool(result.pod_conditions) is told
    assert (result.again_in_seconds is None) is told


def test_whole_gang_is_bound_without_a_warning():
    world = gang(NOW)
    world.apply(world.cycle())
    world.put(pod("train-1", "train", 1, created=NOW))
    result = world.cycle()
    assert len(result.binds) == 2
    assert [event.type for event in result.events] == ["Normal"]
    assert result.again_in_seconds is None


def test_whole_gang_without_room_is_told_at_once():
    world = World(
        [
            node("n1", cpu=1),
            group("train", 2, phase="Inqueue", created=NOW),
            *(pod(f"train-{i}", "train", 1, created=NOW) for i in range(2)),
        ]
    )
    result = world.cycle()
    assert "Warning" in {event.type for event in result.events}
    assert result.again_in_seconds is None
