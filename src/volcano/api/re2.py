"""Regular expressions of the RE2 kind, as Go programs take them, compiled with Python's `re`.

Patterns in the API (HyperNode members) are RE2. What the two spell differently is translated;
what RE2 refuses (look-around, back-references, possessive repeats) is refused here too, and so are
repeated anchors such as `^*`, which RE2 takes though they mean nothing.
"""

import re
from collections.abc import Mapping

REPEAT_MAX = 1000

_POSIX: Mapping[str, str] = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
# One piece of a pattern outside a character class, or a whole class.
_PIECE = re.compile(
    r"""
    \\Q(?P<literal>.*?)(?:\\E|$)
  | \\(?P<escape>.)
  | (?P<negation>\[\^?)(?P<members>\]?(?:\[:\^?[a-z]+:\]|\\.|[^\]\\])*)\]
  | \(\?(?P<flags>[imsU]*(?:-[imsU]+)?)(?P<close>[:)])
  | \(\?P?<(?P<name>[A-Za-z_]\w*)>
  | (?P<group>\(\?)
  | \{(?P<low>\d+)(?:,(?P<high>\d*))?\}
  | (?P<possessive>(?<=[*+?}])\+)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_MEMBER = re.compile(r"\[:(?P<posix>[a-z]+):\]|\\(?P<escape>.)|(?P<other>.)", re.DOTALL)
_ESCAPES: Mapping[str, str] = {"z": r"\Z", "C": r"[\s\S]"}
_REFUSED_ESCAPES = frozenset("123456789GHIJKLMNOPRTUVXYZeghijklmoqyuNpP")


def compile_re2(pattern: str) -> re.Pattern[str]:
    """Compile an RE2 pattern; match it with `search`, as Go does.

    Raises:
        ValueError: no valid pattern; the text says why.
    """
    parts: list[str] = []
    flags = re.ASCII
    for piece in _PIECE.finditer(pattern):
        if piece["close"] == ")" and piece.start() == 0:
            flags |= _flag_bits(piece["flags"])
        else:
            parts.append(_translated(piece))
    try:
        return re.compile("".join(parts), flags)
    except re.error as error:
        raise ValueError(f"error parsing regexp: {error}") from error


def _flag_bits(letters: str) -> re.RegexFlag:
    known = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
    bits = re.NOFLAG
    for letter in letters.partition("-")[0]:
        if letter not in known:
            raise ValueError(f"error parsing regexp: flag {letter} is not supported here")
        bits |= known[letter]
    return bits


def _translated(piece: re.Match[str]) -> str:
    kind = piece.lastgroup
    if piece["literal"] is not None:
        return re.escape(piece["literal"])
    if piece["escape"] is not None:
        return _escape(piece["escape"])
    if piece["other"] == "[" or piece["members"] == "":
        raise ValueError(f"error parsing regexp: missing closing ]: `{piece.string}`")
    if piece["negation"] is not None:
        return piece["negation"] + _members(piece["members"]) + "]"
    if piece["name"] is not None:
        return f"(?P<{piece['name']}>"
    if piece["close"] is not None:
        return _flag_group(piece)
    if piece["low"] is not None:
        _check_repeat(piece)
    elif kind in ("group", "possessive"):
        raise ValueError(
            f"error parsing regexp: invalid or unsupported Perl syntax: `{piece.string}`"
        )
    return piece.group()


def _escape(letter: str) -> str:
    if letter in _REFUSED_ESCAPES:
        raise ValueError(f"error parsing regexp: invalid or unsupported escape: `\\{letter}`")
    return _ESCAPES.get(letter, f"\\{letter}")


def _members(text: str) -> str:
    """The inside of a character class; named POSIX classes become ranges."""
    members = [_member(member) for member in _MEMBER.finditer(text)]
    parts = []
    while members:
        parts.append(members.pop(0))
        if len(members) > 1 and members[0] == r"\-":
            # The only sign that is left bare: it stands between the two ends of a range.
            parts += ["-", members[1]]
            del members[:2]
    return "".join(parts)


def _member(member: re.Match[str]) -> str:
    """One member, escaped wherever `re` could take it for an operator of sets."""
    if member["posix"] is not None:
        if member["posix"] not in _POSIX:
            raise ValueError(f"error parsing regexp: invalid character class: {member[0]}")
        return _POSIX[member["posix"]]
    if member["escape"] is not None:
        return _escape(member["escape"])
    return member[0] if member[0].isalnum() else re.escape(member[0])


def _flag_group(piece: re.Match[str]) -> str:
    letters, close = piece["flags"], piece["close"]
    if "U" in letters or close == ")":
        raise ValueError(
            f"error parsing regexp: flags `{piece[0]}` are supported at the start only"
        )
    return f"(?{letters}:"


def _check_repeat(piece: re.Match[str]) -> None:
    if max(int(piece["low"]), int(piece["high"] or 0)) > REPEAT_MAX:
        raise ValueError(f"error parsing regexp: invalid repeat count: `{piece[0]}`")
