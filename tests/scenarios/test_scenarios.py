"""Runs every story in this folder.

    about:   what the story shows
    nodes:   {n1: {cpu: 4, memory: 8Gi, gpu: 1, labels: {}, taints: ["k=v:NoSchedule"]}}
    queues:  {default: {weight: 1, capability: {cpu: 2}}}            # default: one queue `default`
    classes: {high: 1000}                                            # priority classes
    jobs:    {train: {min: 3, queue: default, priority: high, roles: {w: 1}, resources: {cpu: 1},
                      phase: Inqueue, tasks: [{name: w, count: 3, cpu: 3, at: n1, …}]}}
    plugins: extra plugins for the second tier
    cycles:  how many cycles run, each applied before the next        # default: 1
    expect:
      bound:   {train-0: n1, etl-0: any}     # exactly these pods, on these nodes
      pending: {train: "text"}               # the group's condition holds this text
      waits:   {train-0: "text"}             # the pod's condition holds this text
      phases:  {train: Inqueue}
      events:  2                             # how many events the first cycle tells

Pods are named JOB-N, or JOB-TASK-N where the task has a name.
"""

from pathlib import Path

import pytest
import yaml

from tests.scheduler.world import World, group, node, phases, pod, priority_class, queue
from volcano.scheduler import conf

FOLDER = Path(__file__).parent
STORIES = sorted(FOLDER.glob("*/*.yaml"))


def objects(story):
    for name, spec in story.get("nodes", {}).items():
        yield node(name, **(spec or {}))
    for name, spec in story.get("queues", {"default": {}}).items():
        yield queue(name, **(spec or {}))
    for name, value in story.get("classes", {}).items():
        yield priority_class(name, value)
    for age, (name, spec) in enumerate(story.get("jobs", {}).items()):
        spec = dict(spec)
        tasks = spec.pop("tasks", [])
        number = 0
        for task in tasks:
            task = dict(task)
            role, count = task.pop("name", ""), task.pop("count", 1)
            for index in range(count):
                label = f"{name}-{role}-{index}" if role else f"{name}-{number}"
                number += 1
                yield pod(label, name, role=role, created=age, **task)
        yield group(name, spec.pop("min", 1), created=age, **spec)


def configuration(story):
    extra = "".join(f"  - name: {name}\n" for name in story.get("plugins", ()))
    return conf.load(conf.DEFAULT_CONF + extra)


@pytest.mark.parametrize("path", STORIES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_story(path):
    story = yaml.safe_load(path.read_text())
    known = {"about", "nodes", "queues", "classes", "jobs", "plugins", "cycles", "expect"}
    assert story.keys() <= known, f"unknown: {story.keys() - known}"
    world = World(list(objects(story)), conf=configuration(story))
    bound, groups, waits, events = {}, {}, {}, None
    for seed in range(1, story.get("cycles", 1) + 1):
        result = world.cycle(seed)
        world.apply(result)
        bound |= {b.name: b.node for b in result.binds}
        groups |= {u.name: u for u in result.pod_groups}
        waits |= {u.name: u.condition["message"] for u in result.pod_conditions}
        events = result.events if events is None else events
    expect = story["expect"]
    if "bound" in expect:
        want = expect["bound"] or {}
        assert bound.keys() == want.keys()
        assert {k: "any" if want[k] == "any" else v for k, v in bound.items()} == want
    for name, text in expect.get("pending", {}).items():
        assert text in groups[name].status["conditions"][-1]["message"]
    for name, text in expect.get("waits", {}).items():
        assert text in waits[name]
    for name, phase in expect.get("phases", {}).items():
        assert phases(world.state, result)[name] == phase
    if "events" in expect:
        assert len(events) == expect["events"], [e.message for e in events]


def test_there_are_stories():
    assert len(STORIES) >= 20
