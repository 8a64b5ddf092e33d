"""The configuration file: Volcano's keys and defaults, and errors that help."""

import pytest

from volcano.base.errors import ConfigError
from volcano.scheduler import conf, cycle
from volcano.scheduler.conf import Arguments


def test_default_configuration():
    loaded = conf.default()
    cycle.check(loaded)
    assert loaded.actions == ("enqueue", "allocate", "backfill")
    assert [[entry.name for entry in tier] for tier in loaded.tiers] == [
        ["priority", "gang", "conformance"],
        ["overcommit", "drf", "predicates", "proportion", "nodeorder"],
    ]
    entry = loaded.tiers[0][0]
    assert entry.is_on("enableJobOrder")
    assert not entry.is_on("enableHierarchy")


def test_the_chart_configuration_is_accepted():
    cycle.check(
        conf.load(
            """
            actions: "enqueue, allocate, backfill"
            tiers:
            - plugins:
              - name: priority
              - name: gang
                enablePreemptable: false
              - name: conformance
            - plugins:
              - name: overcommit
              - name: drf
                enablePreemptable: false
              - name: predicates
              - name: proportion
              - name: nodeorder
              - name: binpack
                arguments: {binpack.weight: 10, binpack.cpu: 5}
            configurations:
            - name: allocate
              arguments: {predicateErrorCacheEnable: "false"}
            """
        )
    )


WRONG = {
    "not_yaml": ("{", "is not YAML"),
    "not_a_map": ("- a", "must be a map"),
    "no_actions": ("tiers: []", "`actions` must be a text"),
    "unknown_key": ("actions: allocate\ntier: []", "unknown key 'tier'; did you mean 'tiers'?"),
    "unknown_action": ("actions: alocate", "unknown action 'alocate'; did you mean 'allocate'?"),
    "later_action": ("actions: allocate, preempt", "action preempt is not available yet"),
    "unknown_plugin": (
        "actions: allocate\ntiers: [{plugins: [{name: gan}]}]",
        "unknown plugin 'gan'; did you mean 'gang'?",
    ),
    "later_plugin": (
        "actions: allocate\ntiers: [{plugins: [{name: capacity}]}]",
        "plugin capacity is not available yet",
    ),
    "unknown_switch": (
        "actions: allocate\ntiers: [{plugins: [{name: gang, enabledJobOrder: true}]}]",
        "(gang): unknown key 'enabledJobOrder'; did you mean 'enableJobOrder'?",
    ),
    "unknown_argument": (
        "actions: allocate\ntiers: [{plugins: [{name: binpack, arguments: {binpack.weigth: 1}}]}]",
        "plugin binpack has no argument 'binpack.weigth'; did you mean 'binpack.weight'?",
    ),
    "wrong_argument": (
        (
            "actions: allocate\n"
            'tiers: [{plugins: [{name: binpack, arguments: {binpack.weight: "1"}}]}]'
        ),
        "argument binpack.weight must be a whole number, it is '1'",
    ),
    "argument_of_an_action": (
        "actions: allocate\nconfigurations: [{name: allocate, arguments: {a: 1}}]",
        "action allocate has no argument 'a'",
    ),
    "hierarchy_with_proportion": (
        (
            "actions: allocate\n"
            "tiers: [{plugins: [{name: drf, enableHierarchy: true}, {name: proportion}]}]"
        ),
        "proportion and drf with hierarchy enabled conflicts",
    ),
}


@pytest.mark.parametrize(("text", "want"), WRONG.values(), ids=WRONG)
def test_errors_say_what_and_what_instead(text, want):
    with pytest.raises(ConfigError) as caught:
        cycle.check(conf.load(text))
    assert want in caught.value.public


def test_reading_arguments():
    reader = Arguments("plugin x", {"i": 15, "f": 1.5, "n": 15, "t": "true", "b": False, "s": "a"})
    assert reader.integer("i", 1) == 15
    assert reader.integer("missing", 7) == 7
    assert (reader.number("f", 0), reader.number("n", 0)) == (1.5, 15.0)
    assert reader.boolean("t", default=False)
    assert not reader.boolean("b", default=True)
    assert reader.text("s", "") == "a"
    reader.finish()
