"""Entry of the server process: prepares the interpreter, then loads and runs `up`.

Two things make loading slow for no use here, a quarter of it together. The collector looks again
and again at a hundred thousand new objects that all stay; it waits until the cluster is ready
(`up.settle_memory`). And aiohttp reads the system's certificates when it is imported, for clients
that this process does not have.
"""

import contextlib
import gc
import os
from collections.abc import Iterator, MutableMapping

_CERTIFICATES = "SSL_CERT_FILE"


def main() -> None:
    """Run a cluster on this machine."""
    gc.disable()
    with without_system_certificates(os.environ):
        from volcano.apps.up import main as up
    up(prog_name="volcano up")


@contextlib.contextmanager
def without_system_certificates(environ: MutableMapping[str, str]) -> Iterator[None]:
    """OpenSSL's default certificates are none meanwhile; contexts made later have them again."""
    before = environ.get(_CERTIFICATES)
    environ[_CERTIFICATES] = os.devnull
    try:
        yield
    finally:
        if before is None:
            del environ[_CERTIFICATES]
        else:
            environ[_CERTIFICATES] = before


if __name__ == "__main__":
    main()
