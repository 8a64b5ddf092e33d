"""The ledger finds what a server that forgets would do; otherwise the crash test proves nothing."""

import pytest

from tests.crash.ledger import TOKEN, Key, Ledger
from volcano.api.objects import JsonObject

KEY = Key("configmaps", "a")


def stored(token: str = "1", revision: int = 5, uid: str = "u", name: str = "a") -> JsonObject:
    return {
        "metadata": {
            "name": name,
            "uid": uid,
            "resourceVersion": str(revision),
            "annotations": {TOKEN: token},
        }
    }


def written(ledger: Ledger, *objects: JsonObject | None) -> Ledger:
    for obj in objects:
        ledger.begin(KEY, None if obj is None else obj["metadata"]["annotations"][TOKEN])
        ledger.acknowledge(KEY, obj)
    return ledger


@pytest.mark.parametrize(
    ("items", "revision", "words"),
    [
        pytest.param([stored()], 5, [], id="as acknowledged"),
        pytest.param([stored(revision=7)], 7, [], id="changed by a controller since"),
        pytest.param([], 9, ["not there"], id="lost"),
        pytest.param([stored(token="0")], 9, ["another write"], id="older content"),
        pytest.param([stored(revision=4)], 9, ["is at revision 4"], id="older version"),
        pytest.param([stored(uid="v")], 9, ["another object"], id="made anew"),
        pytest.param([stored()], 4, ["listed at revision 4"], id="revision steps back"),
        pytest.param([stored(), stored(name="b")], 9, ["nobody wrote it"], id="from nowhere"),
    ],
)
def test_acknowledged(items: list[JsonObject], revision: int, words: list[str]) -> None:
    faults = written(Ledger(), stored()).faults("configmaps", items, revision)
    assert len(faults) == len(words)
    for word, fault in zip(words, faults, strict=True):
        assert word in fault


def test_deleted_ones_stay_away() -> None:
    ledger = written(Ledger(), stored(), None)
    assert ledger.faults("configmaps", [], 6) == []
    assert "deleted" in ledger.faults("configmaps", [stored()], 6)[0]


def test_in_doubt_both_ways_are_right() -> None:
    ledger = written(Ledger(), stored())
    ledger.begin(KEY, "2")
    ledger.lost(KEY)
    assert ledger.faults("configmaps", [stored()], 6) == []
    assert ledger.faults("configmaps", [stored(token="2", revision=6)], 6) == []
    assert ledger.faults("configmaps", [stored(token="3", revision=6)], 6)
    assert ledger.faults("configmaps", [], 6)


def test_a_deletion_in_doubt() -> None:
    ledger = written(Ledger(), stored())
    ledger.begin(KEY, None)
    assert ledger.faults("configmaps", [], 6) == []
    assert ledger.faults("configmaps", [stored()], 6) == []


def test_an_answer_below_one_seen_before() -> None:
    ledger = written(Ledger(), stored(revision=50))
    ledger.begin(KEY, "2")
    with pytest.raises(AssertionError, match="step back"):
        ledger.acknowledge(KEY, stored(token="2", revision=50))
