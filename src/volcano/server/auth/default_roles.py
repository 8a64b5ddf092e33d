"""Signatures; the body follows."""

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject


def objects() -> list[tuple[Kind, JsonObject]]:
    """Namespaces, ServiceAccounts, roles and bindings to create at bootstrap where missing."""
    raise NotImplementedError
