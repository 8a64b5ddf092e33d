"""Signatures; the body follows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Pki:
    """Paths of the files that `ensure` keeps in one folder."""

    ca_certificate: Path
    server_certificate: Path
    server_key: Path
    admin_certificate: Path
    admin_key: Path
    service_account_key: Path


def ensure(folder: Path, *, now: float, hosts: Sequence[str] = ()) -> Pki:
    """Create what is missing or near expiry in `folder`, keep the rest."""
    raise NotImplementedError


def write_kubeconfig(path: Path, pki: Pki, server: str, *, namespace: str = "default") -> None:
    """Write the admin's kubeconfig (0600) for the server address, e.g. https://127.0.0.1:7443."""
    raise NotImplementedError
