"""Which API server to talk to, and as whom: kubeconfig files, in-cluster account, local cluster.

`load_config` makes one `ClusterConfig` for both clients (`blocking`, `http_transport`); it reads
files but opens no connection. Reading kubeconfig ourselves keeps `vcctl` from importing a whole
client library; for the same reason ssl and yaml are imported where they are needed, and values are
named tuples, which take a quarter of the time of a frozen dataclass to define. Credentials that
expire (token files, exec plugins) are in `credentials`.
"""

import base64
import binascii
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from volcano.base.errors import ConfigError

if TYPE_CHECKING:
    import ssl

SERVICE_ACCOUNT_DIR = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where Kubernetes mounts the token of a pod's ServiceAccount."""

KUBECONFIG_NAME = "kubeconfig"
"""Name of the administrator's kubeconfig inside the data folder of a local cluster."""


class ExecPlugin(NamedTuple):
    """A command that prints an `ExecCredential` (client.authentication.k8s.io)."""

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    api_version: str = "client.authentication.k8s.io/v1"
    install_hint: str = ""


class ClusterConfig(NamedTuple):
    """Address of an API server and what to show it.

    Attributes:
        server: URL without a trailing slash, `https://…` or `http://…`.
        ca_data: PEM of the certificate authorities to trust; empty for the system's.
        client_certificate_data: PEM of the client certificate; empty for none.
        client_key_data: PEM of its key.
        token: bearer token; `token_file`, when set, is read again as it changes and wins.
        username: for basic authentication, together with `password`.
        namespace: of the context; `vcctl` does not use it (spec cli, 1.3).
        insecure: do not verify the server's certificate.
        tls_server_name: name to verify instead of the URL's host.
        exec_plugin: command that gives the token or certificate.
        source: where this came from, for messages.
        local: it is the cluster that `volcano up` started on this machine.
    """

    server: str
    ca_data: bytes = b""
    client_certificate_data: bytes = b""
    client_key_data: bytes = b""
    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    namespace: str = "default"
    insecure: bool = False
    tls_server_name: str = ""
    exec_plugin: ExecPlugin | None = None
    source: str = ""
    local: bool = False

    def __repr__(self) -> str:
        """The address and its origin; the rest holds secrets."""
        return f"ClusterConfig({self.server!r}, source={self.source!r})"

    def ssl_context(self) -> "ssl.SSLContext | None":
        """The TLS settings for this server; None when it speaks plain HTTP.

        Raises:
            ConfigError: a certificate or key is not valid PEM, or they do not belong together.
        """
        if not self.server.startswith("https://"):
            return None
        import ssl

        try:
            context = ssl.create_default_context(
                cadata=self.ca_data.decode("ascii") if self.ca_data else None
            )
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(
                f"{self.source}: certificate-authority is not a PEM certificate: {error}"
            ) from error
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.client_certificate_data:
            add_client_certificate(
                context, self.client_certificate_data, self.client_key_data, self.source
            )
        return context


def add_client_certificate(
    context: "ssl.SSLContext", certificate: bytes, key: bytes, source: str
) -> None:
    """Show `certificate` to servers. OpenSSL's loader wants paths; the key never rests on disk.

    Raises:
        ConfigError: not PEM, or the key is another certificate's; `source` is named.
    """
    try:
        with _as_file(certificate) as certificate_path, _as_file(key) as key_path:
            context.load_cert_chain(certificate_path, key_path)
    except OSError as error:  # ssl.SSLError is one
        raise ConfigError(
            f"{source}: client-certificate and client-key cannot be used: {error}"
        ) from error


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """A path that holds `content` as long as the block runs; in memory where the system can."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("pem")
        try:
            os.write(descriptor, content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.name


def default_data_dir(environ: Mapping[str, str], home: Path) -> Path:
    """Data folder of the local cluster: `$VOLCANO_HOME`, else below `$XDG_STATE_HOME`."""
    if environ.get("VOLCANO_HOME"):
        return Path(environ["VOLCANO_HOME"])
    if environ.get("XDG_STATE_HOME"):
        return Path(environ["XDG_STATE_HOME"]) / "volcano"
    return home / ".local" / "state" / "volcano"


def load_config(
    kubeconfig: str | None = None,
    context: str | None = None,
    *,
    environ: Mapping[str, str],
    home: Path,
    data_dir: Path | None = None,
    master: str = "",
    service_account_dir: Path = SERVICE_ACCOUNT_DIR,
) -> ClusterConfig:
    """Find the cluster: `kubeconfig`, $KUBECONFIG, ~/.kube/config, in-cluster, local cluster.

    Args:
        kubeconfig: the only file to look at, when given.
        context: context to use instead of the current one.
        environ: the process's environment.
        home: the user's home folder.
        data_dir: data folder of the local cluster; by default as `default_data_dir`.
        master: URL that replaces the server's; alone it is enough.
        service_account_dir: where a pod finds its account.

    Raises:
        ConfigError: nothing usable was found; the text lists what was tried, and why not.
    """
    data_dir = data_dir or default_data_dir(environ, home)
    tried: list[str] = []
    label, paths, chosen = _kubeconfig_paths(kubeconfig, environ, home)
    existing = [path for path in paths if path.is_file()]
    if not existing and chosen and (kubeconfig or not master):
        raise ConfigError(f"stat {paths[0]}: no such file or directory ({label})")
    if existing:
        merged = _merge(existing)
        if context or merged.current_context or chosen:
            return _with_master(merged.select(context), master)
        tried.append(f"{label}: no current-context")
    else:
        tried.append(f"{label}: no such file")
    if master:
        return ClusterConfig(server=_server_url(master, "--master"), source="--master")
    in_cluster = _in_cluster(environ, service_account_dir)
    if in_cluster is not None:
        return in_cluster
    tried.append("in-cluster account: no KUBERNETES_SERVICE_HOST or no token mounted")
    local_file = data_dir / KUBECONFIG_NAME
    if local_file.is_file():
        return _merge([local_file]).select(context)._replace(local=True)
    tried.append(f"local cluster: no {local_file}")
    raise ConfigError(
        "no cluster is configured; start one with 'volcano up' or pass --kubeconfig. Tried: "
        + "; ".join(tried)
    )


def _kubeconfig_paths(
    kubeconfig: str | None, environ: Mapping[str, str], home: Path
) -> tuple[str, list[Path], bool]:
    """What to call the place, its files in order, and whether the user chose them."""
    if kubeconfig:
        return "--kubeconfig", [Path(kubeconfig)], True
    listed = [part for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if listed:
        return "$KUBECONFIG", [Path(part) for part in listed], True
    default = home / ".kube" / "config"
    return str(default), [default], False


def _with_master(config: ClusterConfig, master: str) -> ClusterConfig:
    if not master:
        return config
    return config._replace(server=_server_url(master, "--master"))


def _server_url(text: str, where: str) -> str:
    url = text if "://" in text else f"http://{text}"
    if not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", url):
        raise ConfigError(f"{where}: {text!r} is not a server URL; write it like https://host:port")
    return url.rstrip("/")


def _in_cluster(environ: Mapping[str, str], folder: Path) -> ClusterConfig | None:
    host, token_file = environ.get("KUBERNETES_SERVICE_HOST", ""), folder / "token"
    if not host or not token_file.is_file():
        return None
    host = f"[{host}]" if ":" in host else host
    namespace_file, ca_file = folder / "namespace", folder / "ca.crt"
    return ClusterConfig(
        server=f"https://{host}:{environ.get('KUBERNETES_SERVICE_PORT', '443')}",
        ca_data=ca_file.read_bytes() if ca_file.is_file() else b"",
        token_file=str(token_file),
        namespace=namespace_file.read_text().strip() if namespace_file.is_file() else "default",
        source="in-cluster account",
    )


class _Entry(NamedTuple):
    """A named cluster, user or context, and the file whose folder its paths are relative to."""

    body: Mapping[str, Any]
    file: Path


class _Merged:
    """Several kubeconfig files as one: of each name the first wins (kubectl's rule)."""

    def __init__(self, first: Path) -> None:
        self.current_context = ""
        self.current_file = first
        self.clusters: dict[str, _Entry] = {}
        self.users: dict[str, _Entry] = {}
        self.contexts: dict[str, _Entry] = {}

    def select(self, context: str | None) -> ClusterConfig:
        """The configuration of a context, the current one by default."""
        name = context or self.current_context
        if not name:
            raise ConfigError(f"{self.current_file}: current-context is not set; set it")
        entry = self._need("contexts", name, "context")
        cluster_name = _text(entry, "cluster", f"context {name!r}")
        user_name = _text(entry, "user", f"context {name!r}")
        cluster = self._need("clusters", cluster_name, f"context {name!r}: cluster")
        where = f"{cluster.file}: cluster {cluster_name!r}"
        server = _text(cluster, "server", f"cluster {cluster_name!r}")
        config = ClusterConfig(
            server=_server_url(server, f"{where}: server"),
            ca_data=_data(cluster, "certificate-authority", where),
            insecure=bool(cluster.body.get("insecure-skip-tls-verify", False)),
            tls_server_name=str(cluster.body.get("tls-server-name") or ""),
            namespace=str(entry.body.get("namespace") or "default"),
            source=f"{entry.file}, context {name!r}",
        )
        if not user_name:
            return config
        user = self._need("users", user_name, f"context {name!r}: user")
        return _with_user(config, user, f"{user.file}: user {user_name!r}")

    def _need(self, table: str, name: str, what: str) -> _Entry:
        entries: dict[str, _Entry] = getattr(self, table)
        if name not in entries:
            known = ", ".join(sorted(entries)) or "none"
            raise ConfigError(
                f"{self.current_file}: {what}: {name!r} is not among its {table} ({known})"
            )
        return entries[name]


def _with_user(config: ClusterConfig, user: _Entry, where: str) -> ClusterConfig:
    body = user.body
    if "auth-provider" in body:
        raise ConfigError(f"{where}: auth-provider was removed from Kubernetes; use exec")
    token_file = str(body.get("tokenFile") or "")
    return config._replace(
        client_certificate_data=_data(user, "client-certificate", where),
        client_key_data=_data(user, "client-key", where),
        token=str(body.get("token") or ""),
        token_file=str(user.file.parent / token_file) if token_file else "",
        username=str(body.get("username") or ""),
        password=str(body.get("password") or ""),
        exec_plugin=_exec_plugin(body["exec"], user.file, where) if body.get("exec") else None,
    )


def _exec_plugin(body: Any, file: Path, where: str) -> ExecPlugin:
    if not isinstance(body, dict) or not body.get("command"):
        raise ConfigError(f"{where}: exec.command is missing; name the program to run")
    pairs = body.get("env") or ()
    if not all(isinstance(pair, dict) and {"name", "value"} <= pair.keys() for pair in pairs):
        raise ConfigError(f"{where}: exec.env: each entry needs a name and a value")
    command = str(body["command"])
    if os.sep in command and not Path(command).is_absolute():
        command = str(file.parent / command)
    return ExecPlugin(
        command=command,
        args=tuple(str(argument) for argument in body.get("args") or ()),
        env=tuple((str(pair["name"]), str(pair["value"])) for pair in pairs),
        api_version=str(body.get("apiVersion") or "client.authentication.k8s.io/v1"),
        install_hint=str(body.get("installHint") or ""),
    )


def _text(entry: _Entry, key: str, what: str) -> str:
    value = entry.body.get(key)
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"{entry.file}: {what}: {key} must be a text")
    return value or ""


def _data(entry: _Entry, key: str, where: str) -> bytes:
    """Content of `<key>-data` (base64), else of the file that `<key>` names."""
    inline = entry.body.get(f"{key}-data")
    if inline:
        try:
            return base64.b64decode(str(inline), validate=True)
        except binascii.Error as error:
            raise ConfigError(f"{where}: {key}-data is not base64: {error}") from error
    if not entry.body.get(key):
        return b""
    path = entry.file.parent / str(entry.body[key])
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{where}: {key}: cannot read {path}: {error.strerror}") from error


def _merge(paths: Sequence[Path]) -> _Merged:
    merged = _Merged(paths[0])
    for path in paths:
        document = _read_yaml(path)
        current = document.get("current-context")
        if current and not merged.current_context:
            merged.current_context, merged.current_file = str(current), path
        for table, inner in (("clusters", "cluster"), ("users", "user"), ("contexts", "context")):
            entries: dict[str, _Entry] = getattr(merged, table)
            for item in document.get(table) or ():
                if not isinstance(item, dict) or not isinstance(item.get("name"), str):
                    raise ConfigError(f"{path}: {table}: each entry needs a name and a {inner}")
                body = item.get(inner) or {}
                if not isinstance(body, dict):
                    raise ConfigError(f"{path}: {table}: {inner} of {item['name']!r} is no mapping")
                entries.setdefault(item["name"], _Entry(body, path))
    return merged


def _read_yaml(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not a kubeconfig: {error}") from error
    document = _parse(text, path)
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: not a kubeconfig: expected a mapping")
    return document


def _parse(text: str, path: Path) -> Any:
    """JSON is YAML too, and much quicker to read."""
    if text.startswith("{"):
        import json

        try:
            return json.loads(text)
        except ValueError:
            pass  # it may still be YAML in flow style
    import yaml

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe loaders
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not a kubeconfig: {error}") from error
