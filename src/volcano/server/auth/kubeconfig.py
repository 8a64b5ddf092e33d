"""Writes kubeconfigs: the administrator's, with everything embedded so that one file can be carried
away, and those of components, which name a token file that is renewed.

Reading kubeconfig files is the clients' business (`volcano.client.config`).
"""

import base64
import json
from pathlib import Path

from volcano.api.objects import JsonObject
from volcano.server.auth.pki import ADMIN, Pki, write_private

NAME = "volcano"
"""Name of the cluster and of the context."""


def admin_kubeconfig(pki: Pki, server: str, *, namespace: str = "default") -> JsonObject:
    """A `v1.Config` with the authority and the administrator's certificate and key inside."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": NAME,
                "cluster": {
                    "server": server,
                    "certificate-authority-data": _encoded(pki.ca_certificate),
                },
            }
        ],
        "users": [
            {
                "name": ADMIN,
                "user": {
                    "client-certificate-data": _encoded(pki.admin_certificate),
                    "client-key-data": _encoded(pki.admin_key),
                },
            }
        ],
        "contexts": [
            {"name": NAME, "context": {"cluster": NAME, "user": ADMIN, "namespace": namespace}}
        ],
        "current-context": NAME,
        "preferences": {},
    }


def write_kubeconfig(path: Path, pki: Pki, server: str, *, namespace: str = "default") -> None:
    """Write the administrator's kubeconfig with mode 0600; an equal file is left alone.

    Args:
        path: where; kubectl reads it as YAML, of which this JSON is a part.
        pki: whose authority and administrator.
        server: address with scheme and port, e.g. `https://127.0.0.1:7443`.
        namespace: default namespace of the context.
    """
    config = admin_kubeconfig(pki, server, namespace=namespace)
    content = json.dumps(config, indent=2).encode() + b"\n"
    if not path.exists() or path.read_bytes() != content:
        write_private(path, content)
    path.chmod(0o600)


def write_account_kubeconfig(
    path: Path, pki: Pki, server: str, account: str, token_file: Path
) -> None:
    """Write the kubeconfig of a ServiceAccount whose token is kept in `token_file`; mode 0600."""
    config = admin_kubeconfig(pki, server)
    config["users"] = [{"name": account, "user": {"tokenFile": str(token_file)}}]
    config["contexts"][0]["context"]["user"] = account
    write_private(path, json.dumps(config, indent=2).encode() + b"\n")


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
