"""Just enough HTTP in front of discovery, OpenAPI and tables for the real kubectl to ask them.

Objects are what the test puts in; writes are recorded and answered with what was sent.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError
from volcano.base.http import Request, Response
from volcano.server import tables
from volcano.server.discovery import Discovery
from volcano.server.openapi import OpenApi
from volcano.server.protobuf import with_json_body
from volcano.server.registry import Registry
from volcano.server.representation import Shape, negotiate

NOW = 1_800_000_000.0


class Front:
    """Answers in this process; `asked` and `written` say what kubectl did."""

    def __init__(self, registry: Registry, objects: dict[str, list[JsonObject]]) -> None:
        self.registry = registry
        self.objects = objects
        self.discovery = Discovery(registry)
        self.openapi = OpenApi(registry)
        self.asked: list[str] = []
        self.written: list[Request] = []

    def answer(self, request: Request) -> Response:
        self.asked.append(request.path)
        try:
            found = self.discovery.answer(request) or self.openapi.answer(request)
        except ApiError as error:
            return Response(error.code, {}, json.dumps(error.to_status()).encode())
        if found is not None:
            return found
        if request.method != "GET":
            self.written.append(request)
            return Response(201, {}, with_json_body(request).body)
        return self._objects(request)

    def _objects(self, request: Request) -> Response:
        objects = self.objects.get(request.path)
        if objects is None:
            error = ApiError("NotFound", f"{request.path} not found")
            return Response(404, {}, json.dumps(error.to_status()).encode())
        _, root, group, *rest = request.path.split("/")
        version, group = (group, "") if root == "api" else (rest.pop(0), group)
        entry = self.registry.find(group, version, rest[-1])
        assert entry is not None, request.path
        asked = negotiate(request.headers.get("accept", ""), request.query.get("includeObject", ""))
        if asked.shape is Shape.TABLE:
            body = tables.table(entry, objects, NOW, include_object=asked.include)
        else:
            kind = entry.kind
            body = {"apiVersion": kind.api_version, "kind": kind.list_kind, "items": objects}
        return Response(200, {}, json.dumps(body).encode())


@contextmanager
def served(front: Front) -> Iterator[str]:
    """The front on a free port; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            split = urlsplit(self.path)
            length = int(self.headers.get("content-length", 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(
                self.command,
                split.path,
                dict(parse_qsl(split.query)),
                headers,
                self.rfile.read(length),
            )
            response = front.answer(request)
            self.send_response(response.status)
            for name, value in {"content-type": "application/json", **response.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        do_GET = do_POST = do_PATCH = _answer  # noqa: N815 - the names the base class looks for

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def kubectl(front: Front, home: Path, *arguments: str, stdin: str = "") -> str:
    """Run kubectl against the front; its stdout. Fails with stderr when it fails."""
    with served(front) as address:
        program = Path(sys.executable).parent / "kubectl"
        done = subprocess.run(
            [program, f"--server={address}", f"--cache-dir={home}/cache", *arguments],
            env={"HOME": str(home), "KUBECONFIG": "", "PATH": "/usr/bin:/bin"},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout
