"""Kubernetes quantities, exact: `1500m`, `8Gi`, `1e3`, `0.5`.

Rules of k8s.io/apimachinery `resource.Quantity`: a number with a binary (Ki … Ei), decimal
(n u m "" k … E) or exponent suffix; digits finer than nano round up; the canonical text keeps
the family of the suffix with the largest unit that leaves a whole number.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

_QUANTITY = re.compile(
    r"([+-]?)(\d+(?:\.\d*)?|\.\d+)"
    r"(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d+))?"
)
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_EXPONENT_MAX = 64
_NANO = 10**9


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount in nano-units and the family its text is written in."""

    nano: int
    family: str = "decimal"

    @property
    def milli(self) -> int:
        """Thousandths, rounded up (away from zero for positive amounts)."""
        return -(-self.nano // 10**6)

    @property
    def value(self) -> int:
        """Whole units, rounded up."""
        return -(-self.nano // _NANO)

    def __str__(self) -> str:
        """The canonical text."""
        return format_nano(self.nano, self.family)


@lru_cache(maxsize=65_536)
def _parse_text(text: str) -> Quantity:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    sign, digits, binary, decimal, exponent = match.groups()
    amount = Fraction(digits + "0" if digits.endswith(".") else digits)
    family = "decimal"
    if binary:
        amount, family = amount * _BINARY[binary], "binary"
    elif decimal:
        amount *= Fraction(10) ** _DECIMAL[decimal]
    elif exponent is not None:
        power = int(exponent)
        if abs(power) > _EXPONENT_MAX:
            raise ValueError(f"quantity {text!r}: exponent beyond ±{_EXPONENT_MAX}")
        amount, family = amount * Fraction(10) ** power, "exponent"
    scaled = amount * _NANO
    nano = -(-scaled.numerator // scaled.denominator)
    return Quantity(-nano if sign == "-" else nano, family)


def parse_quantity(text: str | float) -> Quantity:
    """Read a quantity as JSON carries it: a text, an integer or a number.

    Raises:
        ValueError: not a quantity; the text is the one Kubernetes gives.
    """
    if isinstance(text, bool):
        raise ValueError("quantities must be a number or a text, not a boolean")  # noqa: TRY004 - one error for every unreadable quantity
    return _parse_text(text if isinstance(text, str) else repr(text))


def format_nano(nano: int, family: str = "decimal") -> str:
    """Canonical text of an amount in nano-units."""
    if nano == 0:
        return "0"
    if family == "binary" and nano % _NANO == 0:
        value = nano // _NANO
        if abs(value) >= 1024:
            for suffix, factor in reversed(_BINARY.items()):
                if value % factor == 0:
                    return f"{value // factor}{suffix}"
        return str(value)
    power = -9
    while nano % 1000 == 0 and power < 18:
        nano //= 1000
        power += 3
    if family == "exponent":
        return f"{nano}e{power}" if power else str(nano)
    suffix = next(text for text, value in _DECIMAL.items() if value == power)
    return f"{nano}{suffix}"


def canonical(text: str | float) -> str:
    """The canonical text of a quantity, e.g. `1000m` gives `1`."""
    return str(parse_quantity(text))
