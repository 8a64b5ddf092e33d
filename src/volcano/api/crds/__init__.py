"""The CRDs of the Volcano kinds as package data: what `volcano up` registers.

The files are written by `make generate`; `deploy/crds/` holds the same for `kubectl apply`.
"""

from importlib import resources

import msgspec

from volcano.api.objects import JsonObject


def load() -> list[JsonObject]:
    """All CRDs, in order of their names; read anew at each call, so the caller may change them."""
    files = (path for path in resources.files(__name__).iterdir() if path.name.endswith(".json"))
    return [
        msgspec.json.decode(path.read_bytes(), type=JsonObject)
        for path in sorted(files, key=lambda path: path.name)
    ]
