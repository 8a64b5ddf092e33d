"""A small Kubernetes-like API over plain HTTP, so that commands are tested through their sockets.

It stores objects by path and answers get, list with label selectors, create with generateName,
merge patch, delete and logs; nothing else. The real server is used in the process tests.
"""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner, Result

from volcano.cli.commands import commands_first
from volcano.cli.vcctl import vcctl

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"


@dataclass
class FakeApi:
    """What is stored, what was asked, and what to answer out of turn."""

    objects: dict[str, dict] = field(default_factory=dict)
    requests: list[tuple[str, str, dict | None]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    refusals: list[tuple[int, dict[str, str], dict]] = field(default_factory=list)
    logs: dict[str, list[bytes]] = field(default_factory=dict)
    warning: str = ""
    connections: int = 0
    url: str = ""

    def add(self, collection: str, obj: dict) -> dict:
        meta = obj.setdefault("metadata", {})
        meta.setdefault("uid", f"uid-{meta['name']}")
        self.objects[f"{collection}/{meta['name']}"] = obj
        return obj

    def created(self) -> list[tuple[str, dict]]:
        return [(path, body) for method, path, body in self.requests if method == "POST" and body]


def status(code: int, reason: str, message: str) -> dict:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: FakeApi

    def setup(self) -> None:
        super().setup()
        self.api.connections += 1

    def log_message(self, *_: object) -> None: ...

    def reply(self, code: int, body: dict, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if self.api.warning:
            self.send_header("Warning", f'299 - "{self.api.warning}"')
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def serve(self) -> None:
        parts = urlsplit(self.path)
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        self.api.requests.append((self.command, self.path, body))
        self.api.headers.append({key.lower(): value for key, value in self.headers.items()})
        if self.api.refusals:
            code, headers, refusal = self.api.refusals.pop(0)
            self.reply(code, refusal, headers)
            return
        getattr(self, f"on_{self.command.lower()}")(parts.path, query, body)

    do_GET = do_POST = do_PATCH = do_DELETE = serve  # noqa: N815 - the names http.server looks for

    def missing(self, path: str) -> None:
        name, group = path.rsplit("/", 1)[-1], path.split("/")
        plural = group[-2] + (f".{group[2]}" if group[1] == "apis" else "")
        self.reply(404, status(404, "NotFound", f'{plural} "{name}" not found'))

    def on_get(self, path: str, query: dict[str, str], _: object) -> None:
        if path.endswith("/log"):
            self.stream(self.api.logs.get(path.split("/")[-2], []))
        elif path in self.api.objects:
            self.reply(200, self.api.objects[path])
        elif path.rsplit("/", 1)[-1] in ("jobs", "queues", "podgroups", "pods", "events"):
            self.reply(200, {"kind": "List", "metadata": {}, "items": self.found(path, query)})
        else:
            self.missing(path)

    def found(self, path: str, query: dict[str, str]) -> list[dict]:
        key, _, value = query.get("labelSelector", "").partition("=")
        plural, root = path.rsplit("/", 1)[-1], path.rsplit("/", 1)[0]
        items = []
        for where, obj in self.api.objects.items():
            labels = obj["metadata"].get("labels") or {}
            inside = where.startswith(root) and where.split("/")[-2] == plural
            if inside and (not key or labels.get(key) == value):
                items.append(obj)
        return items

    def stream(self, chunks: list[bytes]) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk in [*chunks, b""]:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.flush()

    def on_post(self, path: str, _: object, body: dict) -> None:
        meta = body["metadata"]
        meta.setdefault("name", f"{meta.get('generateName', '')}x1")
        if f"{path}/{meta['name']}" in self.api.objects:
            self.reply(409, status(409, "AlreadyExists", f'"{meta["name"]}" already exists'))
            return
        self.reply(201, self.api.add(path, body))

    def on_patch(self, path: str, _: object, body: dict) -> None:
        if path not in self.api.objects:
            self.missing(path)
            return
        self.api.objects[path]["spec"] |= body["spec"]
        self.reply(200, self.api.objects[path])

    def on_delete(self, path: str, *_: object) -> None:
        if self.api.objects.pop(path, None) is None:
            self.missing(path)
        else:
            self.reply(200, {"kind": "Status", "status": "Success"})


@pytest.fixture
def api() -> Iterator[FakeApi]:
    fake = FakeApi()
    handler = type("BoundHandler", (Handler,), {"api": fake})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_port}"
    yield fake
    server.shutdown()
    server.server_close()
    thread.join()


def call(api: FakeApi, *arguments: str, env: dict[str, str] | None = None) -> Result:
    """`vcctl <arguments> --master <the fake>`, as `main` would run it, in this process."""
    words = commands_first([*arguments, "--master", api.url], 2, frozenset({"--all-namespaces"}))
    return CliRunner().invoke(vcctl, words, env=env, prog_name="vcctl")


def ok(api: FakeApi, *arguments: str) -> str:
    """Standard output of a call that must succeed."""
    result = call(api, *arguments)
    assert result.exit_code == 0, result.output
    return result.stdout
