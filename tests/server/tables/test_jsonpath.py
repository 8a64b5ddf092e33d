"""The JSONPath of printer columns."""

import pytest

from volcano.server.tables.jsonpath import JsonPathError, find, parse

OBJECT = {
    "a": {"b": 1, "c.d": 2, "e": [{"n": "x", "v": 1}, {"n": "y", "v": 2}, {"v": 3}]},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "Synced", "status": "False"},
        ]
    },
    "flag": True,
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param(".a.b", [1], id="fields"),
        pytest.param("a.b", [1], id="without_dot"),
        pytest.param("{.a.b}", [1], id="braces"),
        pytest.param("$.a.b", [1], id="dollar"),
        pytest.param(r".a.c\.d", [2], id="escaped_dot"),
        pytest.param(".a['c.d']", [2], id="quoted"),
        pytest.param('.a["c.d"]', [2], id="double_quoted"),
        pytest.param(".a.e[0].n", ["x"], id="index"),
        pytest.param(".a.e[-1].v", [3], id="last"),
        pytest.param(".a.e[7].v", [], id="out_of_range"),
        pytest.param(".a.e[*].v", [1, 2, 3], id="every"),
        pytest.param(".a.e[*].n", ["x", "y"], id="every_that_has_it"),
        pytest.param('.status.conditions[?(@.type=="Ready")].status', ["True"], id="filter"),
        pytest.param(".status.conditions[?(@.type=='Synced')].status", ["False"], id="apostrophes"),
        pytest.param('.status.conditions[?( @.type == "Ready" )].status', ["True"], id="spaces"),
        pytest.param(".a.e[?(@.v>=2)].v", [2, 3], id="numbers"),
        pytest.param('.a.e[?(@.n!="x")].v', [2], id="unequal"),
        pytest.param(".a.e[?(@.n)].v", [1, 2], id="exists"),
        pytest.param(".a.e[?(@.v>'1')].v", [], id="other_type"),
        pytest.param(".missing.field", [], id="missing"),
        pytest.param(".flag.deeper", [], id="below_a_scalar"),
        pytest.param(".", [OBJECT], id="whole"),
    ],
)
def test_find(path: str, found: list) -> None:
    assert find(parse(path), OBJECT) == found


@pytest.mark.parametrize("path", ["..a", ".a[1:2]", ".a[0,1]", ".a[?(@.b==x)]", ".a[", ".a..b"])
def test_what_is_not_understood_is_named(path: str) -> None:
    with pytest.raises(JsonPathError, match="JSONPath"):
        parse(path)
