"""RE2 patterns: matched as Go does, refused as Go does."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano.api.re2 import compile_re2

MATCHES = {
    "node-[0-9]+": ("node-12", True),
    "^node-[0-9]$": ("node-12", False),
    r"\Qa.b\E+": ("a.bb", True),
    r"\Qa.b\E": ("axb", False),
    "[[:alpha:]]+[[:digit:]]": ("ab1", True),
    "[^[:digit:]]": ("12", False),
    "(?i)NODE": ("node", True),
    "(?i:NODE)-A": ("node-a", False),
    "(?P<n>a)": ("a", True),
    "(?<n>a)": ("a", True),
    r"a\z": ("ba", True),
    "[[a]": ("[", True),
    "[]a]": ("]", True),
    "[a&&b]": ("&", True),
    r"[\]x]": ("]", True),
    r"a\+b": ("a+b", True),
    "a{2,3}": ("aa", True),
    "a*?": ("", True),
}


@pytest.mark.parametrize(("pattern", "case"), MATCHES.items(), ids=MATCHES)
def test_match(pattern: str, case: tuple[str, bool]) -> None:
    text, expected = case
    assert bool(compile_re2(pattern).search(text)) is expected


REFUSED = (
    "a(b",
    "[",
    "[[",
    "a(?=b)",
    "(?<!a)b",
    r"(a)\1",
    "(?P=n)",
    "a++",
    "a{1001}",
    "*",
    r"a\Z",
    "(?#no)",
    "(?>a)",
    "[[:nothing:]]",
    "\\",
)


@pytest.mark.parametrize("pattern", REFUSED)
def test_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="error parsing regexp"):
        compile_re2(pattern)


@given(st.text(r"ab\QE[]^:()?*+{}1,-|&~iz<P=>.", max_size=12))
def test_any_text_compiles_or_is_refused(pattern: str) -> None:
    with suppress(ValueError):
        compile_re2(pattern)
