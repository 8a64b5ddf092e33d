"""The cluster's keys and certificates: one folder, made once, kept over restarts, renewed in time.

A generated certificate authority (ECDSA P-256) signs the server's certificate and the admin's
client certificate; a further key signs ServiceAccount tokens. `index.json` records until when each
certificate holds and for which hosts, so that a restart reads no certificate and does not import
`cryptography`. A certificate near its end is made anew with a new key; when the authority itself
nears its end, everything is. Whoever runs the server writes the kubeconfig from the same files
(`kubeconfig.py`).
"""

import ipaddress
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from volcano.base.errors import ConfigError
from volcano.base.identity import MASTERS

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

ADMIN = "kubernetes-admin"
SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    "::1",
)
"""Names and addresses that every server certificate holds."""

DAY = 86_400.0
CA_SECONDS = 3650 * DAY
LEAF_SECONDS = 365 * DAY
RENEW_CA_SECONDS = 366 * DAY
"""A CA with less life left is made anew: it must outlive the certificates it signs."""
RENEW_LEAF_SECONDS = 30 * DAY
BACKDATE_SECONDS = 300.0
"""Certificates hold from a little before now, for clients whose clock is behind."""

INDEX_VERSION = 1


@dataclass(frozen=True, slots=True)
class Pki:
    """Paths of the PEM files that `ensure` keeps in one folder."""

    folder: Path

    @property
    def ca_certificate(self) -> Path:
        """Certificate of the authority: what clients trust."""
        return self.folder / "ca.crt"

    @property
    def ca_key(self) -> Path:
        """Key of the authority."""
        return self.folder / "ca.key"

    @property
    def server_certificate(self) -> Path:
        """The server's certificate."""
        return self.folder / "server.crt"

    @property
    def server_key(self) -> Path:
        """Key of the server's certificate."""
        return self.folder / "server.key"

    @property
    def admin_certificate(self) -> Path:
        """Client certificate of the administrator (group system:masters)."""
        return self.folder / "admin.crt"

    @property
    def admin_key(self) -> Path:
        """Key of the administrator's certificate."""
        return self.folder / "admin.key"

    @property
    def service_account_key(self) -> Path:
        """Key that signs ServiceAccount tokens."""
        return self.folder / "service-account.key"

    @property
    def index(self) -> Path:
        """Until when each certificate holds, and for which hosts."""
        return self.folder / "index.json"


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate and its key, both PEM."""

    certificate: bytes
    key: bytes
    expires: float


def ensure(folder: Path, *, now: float, hosts: Sequence[str] = ()) -> Pki:
    """Create in `folder` what is missing or near expiry and keep the rest.

    Args:
        folder: made with mode 0700 if missing; its files have mode 0600.
        now: seconds since the epoch.
        hosts: names and addresses of the server beyond `SERVER_NAMES`; others than before lead to
            a new server certificate from the same authority.

    Raises:
        ConfigError: the folder cannot be used, or its index was written by a newer program.
    """
    pki = Pki(folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        return _ensure(pki, now, tuple(sorted({*SERVER_NAMES, *hosts})))
    except OSError as error:
        raise ConfigError(
            f"cannot keep certificates in {folder}: {error.strerror or error}; "
            "make the folder writable for this user or choose another with --data"
        ) from error


def client_certificate(
    pki: Pki, user: str, groups: Sequence[str], *, now: float, seconds: float = LEAF_SECONDS
) -> Issued:
    """A client certificate for a user and groups, signed by the folder's authority; not kept."""
    return _Authority.load(pki).issue(user, groups, client=True, hosts=(), now=now, seconds=seconds)


def write_private(path: Path, content: bytes) -> None:
    """Put a file with mode 0600 in place whole: after a crash it is the old one or the new one."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _ensure(pki: Pki, now: float, hosts: tuple[str, ...]) -> Pki:
    index = _read_index(pki.index)
    if not _holds(index, "ca", (pki.ca_certificate, pki.ca_key), now + RENEW_CA_SECONDS):
        index = {"version": INDEX_VERSION}
        authority = _Authority.create(now)
        write_private(pki.ca_certificate, authority.certificate_pem)
        write_private(pki.ca_key, authority.key_pem)
        index["ca"] = {"expires": now + CA_SECONDS}
    server_files = (pki.server_certificate, pki.server_key)
    admin_files = (pki.admin_certificate, pki.admin_key)
    deadline = now + RENEW_LEAF_SECONDS
    server_holds = _holds(index, "server", server_files, deadline)
    if not server_holds or tuple(index["server"].get("hosts", ())) != hosts:
        authority = _Authority.load(pki)
        issued = authority.issue("kube-apiserver", (), client=False, hosts=hosts, now=now)
        _write_pair(server_files, issued)
        index["server"] = {"expires": issued.expires, "hosts": list(hosts)}
    if not _holds(index, "admin", admin_files, deadline):
        authority = _Authority.load(pki)
        issued = authority.issue(ADMIN, (MASTERS,), client=True, hosts=(), now=now)
        _write_pair(admin_files, issued)
        index["admin"] = {"expires": issued.expires}
    if not _has_content(pki.service_account_key):
        write_private(pki.service_account_key, _private_pem(_new_key()))
    encoded = json.dumps(index, indent=2, sort_keys=True).encode()
    if not pki.index.exists() or pki.index.read_bytes() != encoded:
        write_private(pki.index, encoded)
    return pki


def _read_index(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {"version": INDEX_VERSION}
    try:
        index = json.loads(path.read_bytes())
    except ValueError:
        index = {}  # half a file cannot be (write_private), but a hand may have been here
    if not isinstance(index, dict):
        return {"version": INDEX_VERSION}
    version = index.get("version", INDEX_VERSION)
    if version != INDEX_VERSION:
        raise ConfigError(
            f"{path} has version {version}, this program knows {INDEX_VERSION}; "
            "use the program that wrote it, or remove the folder to have new certificates made"
        )
    return {"version": INDEX_VERSION, **index}


def _holds(index: Mapping[str, Any], name: str, files: Sequence[Path], deadline: float) -> bool:
    entry = index.get(name)
    if not isinstance(entry, dict) or not isinstance(entry.get("expires"), int | float):
        return False
    return entry["expires"] > deadline and all(_has_content(path) for path in files)


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _write_pair(files: tuple[Path, Path], issued: Issued) -> None:
    certificate, key = files
    certificate.unlink(missing_ok=True)  # never an old certificate beside a new key
    write_private(key, issued.key)
    write_private(certificate, issued.certificate)


@dataclass(frozen=True, slots=True)
class _Authority:
    """The certificate authority, loaded: signs certificates."""

    certificate: "x509.Certificate"
    key: "ec.EllipticCurvePrivateKey"

    @classmethod
    def create(cls, now: float) -> "_Authority":
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes

        key = _new_key()
        name = _subject("volcano-ca", ())
        identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        builder = (
            _builder(now, CA_SECONDS)
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(authority=True), critical=True)
            .add_extension(identifier, critical=False)
        )
        return cls(builder.sign(key, hashes.SHA256()), key)

    @classmethod
    def load(cls, pki: Pki) -> "_Authority":
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            key = load_pem_private_key(pki.ca_key.read_bytes(), password=None)
            certificate = x509.load_pem_x509_certificate(pki.ca_certificate.read_bytes())
        except ValueError as error:
            raise ConfigError(
                f"{pki.ca_key} or {pki.ca_certificate} is damaged: {error}; remove {pki.folder} "
                "to have new ones made (kubeconfig files written before stop working)"
            ) from error
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ConfigError(f"{pki.ca_key} holds no elliptic-curve key; remove {pki.folder}")
        return cls(certificate, key)

    @property
    def certificate_pem(self) -> bytes:
        from cryptography.hazmat.primitives.serialization import Encoding

        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return _private_pem(self.key)

    def issue(
        self,
        common_name: str,
        organisations: Sequence[str],
        *,
        client: bool,
        hosts: Sequence[str],
        now: float,
        seconds: float = LEAF_SECONDS,
    ) -> Issued:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.serialization import Encoding
        from cryptography.x509.oid import ExtendedKeyUsageOID

        key = _new_key()
        usage = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
        authority_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        own_id = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        builder = (
            _builder(now, seconds)
            .subject_name(_subject(common_name, organisations))
            .issuer_name(self.certificate.subject)
            .public_key(key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(authority_id, critical=False)
            .add_extension(own_id, critical=False)
        )
        if hosts:
            names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        return Issued(certificate.public_bytes(Encoding.PEM), _private_pem(key), now + seconds)


def _new_key() -> "ec.EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _private_pem(key: "ec.EllipticCurvePrivateKey") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _builder(now: float, seconds: float) -> "x509.CertificateBuilder":
    from cryptography import x509

    moment = datetime.fromtimestamp(int(now), UTC)
    return (
        x509.CertificateBuilder()
        .serial_number(x509.random_serial_number())
        .not_valid_before(moment - timedelta(seconds=BACKDATE_SECONDS))
        .not_valid_after(moment + timedelta(seconds=seconds))
    )


def _subject(common_name: str, organisations: Sequence[str]) -> "x509.Name":
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organisations]
    return x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _key_usage(*, authority: bool) -> "x509.KeyUsage":
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> "x509.GeneralName":
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
