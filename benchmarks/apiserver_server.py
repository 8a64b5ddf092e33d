"""The server under load: the API server alone, as `volcano up` runs it, in a process of its own.

Real store (SQLite, synchronous=FULL), TLS, RBAC, all admission checks. Prints one line of JSON
with its port when it answers; ends on SIGTERM.
"""

import asyncio
import gc
import json
import signal
import sys
from pathlib import Path

import uvloop

from benchmarks.apiserver_load import GROUP
from volcano import webhooks
from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.base import limits, log
from volcano.base.clock import SystemClock
from volcano.server import assembly, validation
from volcano.server.auth import pki
from volcano.server.front import Front, server_tls


def binding() -> JsonObject:
    """The load's user gets the ordinary role `edit`: rights are really looked up."""
    return {
        "apiVersion": kinds.CLUSTER_ROLE_BINDING.api_version,
        "kind": kinds.CLUSTER_ROLE_BINDING.kind,
        "metadata": {"name": "bench"},
        "roleRef": {"apiGroup": kinds.RBAC, "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": kinds.RBAC, "kind": "Group", "name": GROUP}],
    }


async def serve(folder: Path) -> None:
    """Run until SIGTERM."""
    clock = SystemClock()
    keys = pki.ensure(folder / "pki", now=clock.now())
    checks = webhooks.Options(pod_validator=validation.pod_template_errors)
    config = assembly.ServerConfig(
        pki=keys,
        folder=folder / "store",
        mutating=webhooks.mutating(checks),
        validating=webhooks.validating(checks),
        initial=[(kinds.CLUSTER_ROLE_BINDING, binding())],
    )
    server = assembly.build(config, clock)
    await server.start()
    front = Front(server.api, server_tls(keys))
    await front.start()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*limits.COLLECTOR_THRESHOLDS)
    print(json.dumps({"port": front.port, "revision": server.store.revision}), flush=True)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()
    await front.stop()
    await server.stop()


if __name__ == "__main__":
    log.configure("warning")
    uvloop.run(serve(Path(sys.argv[1])))
