"""Credentials that change while a client lives: token files and exec plugins.

`ClusterConfig` says where they come from; a `CredentialSource` reads them when asked, caches them
until they expire, and reads them again after the server refused them.
"""

import base64
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from volcano.base.errors import ConfigError
from volcano.base.limits import EXEC_PLUGIN_SECONDS_MAX, TOKEN_FILE_READ_SECONDS
from volcano.client.config import ClusterConfig, ExecPlugin

_EXPIRY_MARGIN_SECONDS = 30.0


class Credentials(NamedTuple):
    """What to show the server now.

    Attributes:
        authorization: value of the Authorization header; empty for none.
        certificate: PEM of a client certificate that a plugin gave; empty for none.
        key: PEM of its key.
        expires_at: seconds since the epoch after which they are asked for again; None for never.
    """

    authorization: str = ""
    certificate: bytes = b""
    key: bytes = b""
    expires_at: float | None = None

    def __repr__(self) -> str:
        """Only until when they hold: the rest is secret."""
        return f"Credentials(expires_at={self.expires_at!r})"


class CredentialSource:
    """Gives the current credentials of one `ClusterConfig`; may run a program, so it may block."""

    def __init__(
        self, config: ClusterConfig, *, environ: Mapping[str, str], now: Callable[[], float]
    ) -> None:
        self._config = config
        self._environ = environ
        self._now = now
        self._cached: Credentials | None = None

    @property
    def refreshable(self) -> bool:
        """Whether asking again can give something else."""
        return bool(self._config.token_file or self._config.exec_plugin)

    def current(self) -> Credentials:
        """Cached or fresh credentials.

        Raises:
            ConfigError: a token file is missing, or the plugin failed; the text says how.
        """
        cached = self.cached()
        if cached is None:
            cached = self._cached = self._read()
        return cached

    def cached(self) -> Credentials | None:
        """The last credentials while they hold; None when `current` would have to read some."""
        cached = self._cached
        if cached is not None and (cached.expires_at is None or self._now() < cached.expires_at):
            return cached
        return None

    def forget(self) -> None:
        """Read again at the next call: the server refused what it was shown."""
        self._cached = None

    def _read(self) -> Credentials:
        config = self._config
        if config.token_file:
            return Credentials(
                f"Bearer {read_token(Path(config.token_file), config.source)}",
                expires_at=self._now() + TOKEN_FILE_READ_SECONDS,
            )
        if config.token:
            return Credentials(f"Bearer {config.token}")
        if config.username:
            pair = f"{config.username}:{config.password}".encode()
            return Credentials(f"Basic {base64.b64encode(pair).decode()}")
        if config.exec_plugin is not None and not config.client_certificate_data:
            return run_exec_plugin(config.exec_plugin, config, self._environ)
        return Credentials()


def read_token(path: Path, source: str) -> str:
    """The token in a file, without the space around it.

    Raises:
        ConfigError: the file cannot be read or is empty.
    """
    try:
        token = path.read_text().strip()
    except OSError as error:
        raise ConfigError(f"{source}: cannot read token file {path}: {error.strerror}") from error
    if not token:
        raise ConfigError(f"{source}: token file {path} is empty")
    return token


def run_exec_plugin(
    plugin: ExecPlugin, config: ClusterConfig, environ: Mapping[str, str]
) -> Credentials:
    """Run the command and read the `ExecCredential` it prints.

    Raises:
        ConfigError: it is missing, failed, took too long, or printed something else.
    """
    import json
    import subprocess

    request = {
        "apiVersion": plugin.api_version,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": config.server}},
    }
    where = f"{config.source}: exec plugin {plugin.command}"
    try:
        done = subprocess.run(
            [plugin.command, *plugin.args],
            env={**environ, **dict(plugin.env), "KUBERNETES_EXEC_INFO": json.dumps(request)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=EXEC_PLUGIN_SECONDS_MAX,
            check=False,
        )
    except FileNotFoundError as error:
        hint = f"\n{plugin.install_hint}" if plugin.install_hint else "; install it"
        raise ConfigError(f"{where}: executable not found{hint}") from error
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"{where}: no answer in {EXEC_PLUGIN_SECONDS_MAX} s") from error
    except OSError as error:
        raise ConfigError(f"{where}: {error.strerror}") from error
    if done.returncode != 0:
        text = done.stderr.decode("utf-8", "replace").strip()
        raise ConfigError(f"{where}: failed with exit code {done.returncode}: {text}")
    return _credentials_of(done.stdout, where)


def _credentials_of(output: bytes, where: str) -> Credentials:
    import json

    try:
        document: Any = json.loads(output)
        status = document["status"]
        expiry = status.get("expirationTimestamp")
        expires_at = datetime.fromisoformat(expiry).timestamp() if expiry else None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{where}: printed no ExecCredential with a status") from error
    token = str(status.get("token") or "")
    certificate = str(status.get("clientCertificateData") or "").encode()
    key = str(status.get("clientKeyData") or "").encode()
    if not token and not (certificate and key):
        raise ConfigError(f"{where}: the ExecCredential has neither a token nor a certificate")
    return Credentials(
        f"Bearer {token}" if token else "",
        certificate,
        key,
        expires_at - _EXPIRY_MARGIN_SECONDS if expires_at is not None else None,
    )
