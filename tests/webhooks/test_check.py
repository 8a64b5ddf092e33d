"""The forms of checks: which are made, how a refusal is worded, how patches are applied."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.webhooks.world import Stored, create
from volcano.api import kinds
from volcano.webhooks import Options, mutating, validating
from volcano.webhooks.check import (
    ALL_PATHS,
    MutatingCheck,
    ValidatingCheck,
    add,
    apply_operations,
    replace,
)
from volcano.webhooks.flags import flag_value


def test_all_checks_are_made() -> None:
    admitters: list[MutatingCheck | ValidatingCheck] = [
        *mutating(Options()),
        *validating(Options()),
    ]
    assert len({admitter.name for admitter in admitters}) == len(ALL_PATHS)
    assert {kind for admitter in admitters for kind in admitter.kinds} == {
        kinds.JOB,
        kinds.CRON_JOB,
        kinds.POD,
        kinds.POD_GROUP,
        kinds.QUEUE,
        kinds.JOB_FLOW,
        kinds.HYPER_NODE,
    }


def test_only_enabled_checks_are_made() -> None:
    options = Options(enabled=frozenset({"/jobs/mutate", "/queues/validate"}))
    assert [check.name for check in mutating(options)] == ["mutatejob.volcano.sh"]
    assert [check.name for check in validating(options)] == ["validatequeue.volcano.sh"]


def test_a_refusal_reads_as_that_of_a_webhook() -> None:
    check = validating(Options())[0]
    refusal = check.admit(create(kinds.JOB, {"metadata": {"name": "a"}}), Stored()).refusal
    assert refusal is not None
    assert (refusal.code, refusal.reason) == (400, "")
    assert refusal.message == (
        'admission webhook "validatejob.volcano.sh" denied the request:'
        " No task specified in job spec"
    )


def test_patches_are_applied_to_a_copy() -> None:
    obj: dict[str, Any] = {
        "metadata": {"annotations": {"a/b": "x"}},
        "spec": {"list": [1], "other": {"a": 1}},
    }
    before = copy.deepcopy(obj)
    patched = apply_operations(
        obj,
        [
            add("/metadata/annotations/a~1b", "y"),
            add("/spec/list/-", 2),
            replace("/spec/new", {"c": 3}),
        ],
    )
    assert obj == before
    assert patched == {
        "metadata": {"annotations": {"a/b": "y"}},
        "spec": {"list": [1, 2], "other": {"a": 1}, "new": {"c": 3}},
    }
    assert patched["spec"]["other"] is obj["spec"]["other"]


FLAGS = ("master", "worker", "port")


def test_flags() -> None:
    assert flag_value([], "master", "m", FLAGS) == "m"
    assert flag_value(["--master=x"], "master", "m", FLAGS) == "x"
    assert flag_value(["-port", "1", "-master", "x"], "master", "m", FLAGS) == "x"
    assert flag_value(["--what", "--master=x"], "master", "m", FLAGS) == "m"
    assert flag_value(["--worker=w", "word", "--master=x"], "master", "m", FLAGS) == "m"
    assert flag_value(["--master"], "master", "m", FLAGS) == "m"


@given(st.lists(st.text("-=mastwoer x", max_size=10), max_size=4))
def test_any_arguments_can_be_read(arguments: list[str]) -> None:
    flag_value(arguments, "master", "m", FLAGS)
