"""The house rules that a machine can check (style.md 2.9)."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70
BANNED_NAMES = {"utils", "helpers", "common", "misc"}
BARE_SUPPRESSION = re.compile(r"#\s*(noqa(?!: [A-Z]+\d+)|type: ignore(?!\[))")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_source_file(path):
    text = path.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a module opens with what it is"
    assert path.stem not in BANNED_NAMES, "the name says nothing: a concept is missing"
    assert path.parent.name not in BANNED_NAMES
    assert text.count("\n") <= FILE_LINES_MAX
    long = [
        f"{node.name} ({node.end_lineno - node.lineno + 1} lines)"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno + 1 > FUNCTION_LINES_MAX
    ]
    assert not long, "a function fits on a screen"
    assert not BARE_SUPPRESSION.search(text), "a suppression names its code"


def test_tests_never_sleep_for_time():
    sleepers = [
        relative(path)
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"\btime\.sleep\(|asyncio\.sleep\((?!0\))", path.read_text())
        and path != Path(__file__)
    ]
    assert not sleepers, "poll an observable condition with a deadline (tests/waiting.py)"
