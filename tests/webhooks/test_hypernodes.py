"""HyperNodes: scenario list of spec admission 16.12."""

from typing import Any

import pytest

from tests.webhooks.world import create, update, verdict
from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.webhooks import hypernodes


def hypernode(*selectors: JsonObject, **spec: Any) -> JsonObject:
    members = [{"type": "Node", "selector": selector} for selector in selectors]
    return {"metadata": {"name": "a"}, "spec": {"tier": 1, "members": members, **spec}}


def exact(name: str) -> JsonObject:
    return {"exactMatch": {"name": name}}


def regex(pattern: str) -> JsonObject:
    return {"regexMatch": {"pattern": pattern}}


CASES = {
    "exact": (hypernode(exact("node-1")), ""),
    "regex": (hypernode(regex("node-[0-9]+")), ""),
    "labels": (hypernode({"labelMatch": {"matchLabels": {"topology-rack": "rack1"}}}), ""),
    "bad pattern": (hypernode(regex("a(b")), "member regexMatch pattern is invalid: "),
    "look-ahead": (hypernode(regex("a(?=b)")), "member regexMatch pattern is invalid: "),
    "no members": (hypernode(), "member must have at least one member"),
    "absent members": ({"metadata": {"name": "a"}, "spec": {"tier": 1}}, "at least one member"),
}


@pytest.mark.parametrize(("obj", "text"), CASES.values(), ids=CASES)
def test_checks(obj: JsonObject, text: str) -> None:
    check = hypernodes.validating()
    for review in (
        create(kinds.HYPER_NODE, obj),
        update(kinds.HYPER_NODE, hypernode(exact("a")), obj),
    ):
        found = verdict(check, review)
        assert (text in found) if text else found == ""


def test_every_bad_pattern_is_told() -> None:
    found = verdict(
        hypernodes.validating(), create(kinds.HYPER_NODE, hypernode(regex("("), regex("[")))
    )
    assert found.count("member regexMatch pattern is invalid") == 2
