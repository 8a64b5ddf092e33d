"""Amounts of resources as whole numbers on numbered axes: what the scheduler's columns hold.

A resource name becomes an axis the first time it is seen; amounts are integers in the unit of the
axis, so sums and differences are exact and a rolled-back plan leaves no trace. Units: cpu and
extended resources in thousandths, memory, ephemeral storage and huge pages in bytes, pods as a
count. Digits finer than the unit round up.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

from volcano.resources.quantity import format_nano, parse_quantity

CPU = 0
"""Axis of `cpu`, in thousandths of a core."""

MEMORY = 1
"""Axis of `memory`, in bytes."""

PODS = 2
"""Axis of `pods`: every pod asks for one."""

Amounts = tuple[tuple[int, int], ...]
"""Sparse amounts: (axis, amount) pairs with amount > 0, ascending by axis."""

N = TypeVar("N", int, float)

_BYTES = ("memory", "ephemeral-storage")
_NANO = 10**9
_MILLI_NANO = 10**6


def is_bytes(name: str) -> bool:
    """Whether the axis of this resource counts bytes."""
    return name in _BYTES or name.startswith("hugepages-")


def is_scheduled(name: str) -> bool:
    """Whether nodes offer this resource: native, huge pages, volumes or extended (`domain/name`).

    Quota names (`count/…`, `requests.…`, `limits.…`) are not offered by nodes.
    """
    if name in ("cpu", "pods") or is_bytes(name) or name.startswith("attachable-volumes-"):
        return True
    return "/" in name and not name.startswith(("count/", "requests.", "limits."))


def unit_nano(name: str) -> int:
    """Nano-units in one unit of the axis of `name`."""
    return _NANO if name == "pods" or is_bytes(name) else _MILLI_NANO


def add_to(sums: dict[int, N], amounts: Iterable[tuple[int, N]], times: int = 1) -> None:
    """Add amounts, so many times (negative: take them away), to sums by axis, in place."""
    for axis, amount in amounts:
        sums[axis] = sums.get(axis, 0) + times * amount


@lru_cache(maxsize=65_536)
def amount_of(name: str, quantity: str | float) -> int:
    """A quantity in the unit of its axis, rounded up.

    Raises:
        ValueError: not a quantity.
    """
    return -(-parse_quantity(quantity).nano // unit_nano(name))


def amount_text(name: str, amount: float) -> str:
    """An amount as people write it: `1500m`, `8Gi`, `2`."""
    whole = int(amount)
    return format_nano(whole * unit_nano(name), "binary" if is_bytes(name) else "decimal")


class Axes:
    """The numbering of resource names; grows, never renumbers."""

    def __init__(self) -> None:
        self.names: list[str] = ["cpu", "memory", "pods"]
        self._index = {name: axis for axis, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def axis(self, name: str) -> int:
        """The axis of a resource, a new one if it is seen for the first time."""
        found = self._index.get(name)
        if found is None:
            found = self._index[name] = len(self.names)
            self.names.append(name)
        return found

    def find(self, name: str) -> int | None:
        """The axis of a resource, if it has one."""
        return self._index.get(name)

    def amounts(self, quantities: Mapping[str, str | float] | None) -> dict[int, int]:
        """A Kubernetes resource list on axes; names that nodes do not offer are left out.

        Raises:
            ValueError: a value is not a quantity; the text names the resource.
        """
        result: dict[int, int] = {}
        for name, quantity in (quantities or {}).items():
            if is_scheduled(name):
                try:
                    result[self.axis(name)] = amount_of(name, quantity)
                except ValueError as error:
                    raise ValueError(f"resource {name}: {error}") from error
        return result

    def text(self, axis: int, amount: float) -> str:
        """An amount on an axis as people write it."""
        return amount_text(self.names[axis], amount)

    def by_precedence(self, axes: Iterable[int]) -> list[int]:
        """Axes in the order people expect them named: cpu, memory, then by name."""
        return sorted(axes, key=lambda axis: (axis not in (CPU, MEMORY), self.names[axis]))


def sparse(amounts: Mapping[int, int]) -> Amounts:
    """The non-zero pairs of a mapping, ascending by axis."""
    return tuple(sorted((axis, amount) for axis, amount in amounts.items() if amount))
