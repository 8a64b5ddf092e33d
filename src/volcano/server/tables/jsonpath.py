"""The part of JSONPath that printer columns and selectable fields use.

`.a.b`, `['a']`, `.a[0]`, `.a[-1]`, `.a[*]`, `.a[?(@.type=="Ready")].status`; a backslash keeps a
dot in a name (`.metadata.annotations.example\\.com/x`). Slices, unions and `..` are refused.
"""

import json
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

Step = Callable[[Any], Iterator[Any]]
"""From one value to the values below it."""

_NAME = re.compile(r"\.((?:\\.|[^.\[\]\\])+)")
_QUOTED = re.compile(r"""\[\s*(['"])((?:\\.|(?!\1).)*)\1\s*\]""")
_INDEX = re.compile(r"\[\s*(-?\d+)\s*\]")
_EVERY = re.compile(r"\[\s*\*\s*\]|\.\*")
_FILTER = re.compile(
    r"""\[\?\(\s*@(?P<path>(?:\.(?:\\.|[^.\[\]\\=!<>\s)])+|\[[^\]]*\])+)\s*
        (?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<literal>"[^"]*"|'[^']*'|[^\s)]+)\s*)?\)\]""",
    re.VERBOSE,
)
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class JsonPathError(ValueError):
    """The text is no path, or uses a part of JSONPath that is not understood here."""


@lru_cache(maxsize=1024)
def parse(text: str) -> tuple[Step, ...]:
    """The steps of a path; the surrounding `{}` and `$` of other notations may be there.

    Raises:
        JsonPathError: says what was not understood, and where.
    """
    path = text.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    steps: list[Step] = []
    position = 0
    if path not in ("", ".") and path[0] not in ".[":
        path = f".{path}"
    while position < len(path) and path != ".":
        step, position = _step(text, path, position)
        steps.append(step)
    return tuple(steps)


def find(steps: Sequence[Step], value: Any) -> list[Any]:
    """All values that the steps lead to; what is missing on the way leads nowhere."""
    values = [value]
    for step in steps:
        values = [below for one in values for below in step(one)]
    return values


def _step(text: str, path: str, position: int) -> tuple[Step, int]:
    if match := _EVERY.match(path, position):
        return _every, match.end()
    if match := _NAME.match(path, position):
        return _field(re.sub(r"\\(.)", r"\1", match[1])), match.end()
    if match := _QUOTED.match(path, position):
        return _field(re.sub(r"\\(.)", r"\1", match[2])), match.end()
    if match := _INDEX.match(path, position):
        return _index(int(match[1])), match.end()
    if match := _FILTER.match(path, position):
        return _filter(match), match.end()
    raise JsonPathError(
        f"JSONPath {text!r} is not understood at {path[position:]!r}; "
        "use .name, ['name'], [0], [*] or [?(@.name==\"value\")]"
    )


def _every(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _field(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _index(position: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= position < len(value):
            yield value[position]

    return step


def _filter(match: re.Match[str]) -> Step:
    below = parse(match["path"])
    if match["operator"] is None:
        return lambda value: (one for one in _elements(value) if find(below, one))
    compare, literal = _OPERATORS[match["operator"]], _literal(match["literal"])

    def step(value: Any) -> Iterator[Any]:
        for one in _elements(value):
            found = find(below, one)
            if found and _compared(compare, found[0], literal):
                yield one

    return step


def _elements(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _literal(text: str) -> Any:
    if text[0] in "\"'":
        return text[1:-1]
    try:
        return json.loads(text)
    except ValueError as error:
        raise JsonPathError(f"JSONPath literal {text!r} is no string, number or boolean") from error


def _compared(compare: Callable[[Any, Any], bool], found: Any, literal: Any) -> bool:
    number = (int, float)
    both_numbers = isinstance(found, number) and isinstance(literal, number)
    if type(found) is not type(literal) and not both_numbers:
        return compare is operator.ne
    return compare(found, literal)
