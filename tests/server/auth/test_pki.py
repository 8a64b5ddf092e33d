"""Certificates: made once, private, kept, renewed in time; the kubeconfig carries them."""

import base64
import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from volcano.base.errors import ConfigError
from volcano.server.auth import pki
from volcano.server.auth.kubeconfig import write_kubeconfig

NOW = 1_800_000_000.0
DAY = 86_400.0


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def loaded(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_folder_and_files_are_private(tmp_path: Path) -> None:
    made = pki.ensure(tmp_path / "pki", now=NOW)
    assert stat.S_IMODE(made.folder.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in made.folder.iterdir()}
    assert set(modes.values()) == {0o600}, modes


def test_server_certificate_names_this_machine_and_the_service(tmp_path: Path) -> None:
    made = pki.ensure(tmp_path, now=NOW, hosts=("10.0.0.5", "box.example"))
    names = loaded(made.server_certificate).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    texts = {str(name.value) for name in names.value}
    assert {"127.0.0.1", "::1", "localhost", "kubernetes.default.svc"} <= texts
    assert {"10.0.0.5", "box.example"} <= texts


def test_admin_is_in_system_masters_and_signed_by_the_authority(tmp_path: Path) -> None:
    made = pki.ensure(tmp_path, now=NOW)
    admin = loaded(made.admin_certificate)
    groups = admin.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert [group.value for group in groups] == ["system:masters"]
    admin.verify_directly_issued_by(loaded(made.ca_certificate))


def test_a_restart_keeps_everything_and_reads_no_certificate(tmp_path: Path) -> None:
    pki.ensure(tmp_path, now=NOW)
    before = contents(tmp_path)
    program = (
        "import sys; from pathlib import Path; from volcano.server.auth import pki;"
        f"pki.ensure(Path({str(tmp_path)!r}), now={NOW + DAY});"
        "print('cryptography' in sys.modules)"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "False"
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("days", "changed"),
    [
        pytest.param(300, set(), id="far_from_expiry"),
        pytest.param(340, {"server", "admin"}, id="leaves_near_expiry"),
        pytest.param(3650, {"ca", "server", "admin"}, id="authority_near_expiry"),
    ],
)
def test_renewal(tmp_path: Path, days: int, changed: set[str]) -> None:
    pki.ensure(tmp_path, now=NOW)
    before = contents(tmp_path)
    made = pki.ensure(tmp_path, now=NOW + days * DAY)
    after = contents(tmp_path)
    certificates = {name for name in before if name.endswith(".crt")}
    assert {name[:-4] for name in certificates if before[name] != after[name]} == changed
    assert before["service-account.key"] == after["service-account.key"]
    loaded(made.admin_certificate).verify_directly_issued_by(loaded(made.ca_certificate))


def test_other_hosts_renew_the_server_certificate_only(tmp_path: Path) -> None:
    pki.ensure(tmp_path, now=NOW)
    before = contents(tmp_path)
    pki.ensure(tmp_path, now=NOW, hosts=("10.1.1.1",))
    after = contents(tmp_path)
    assert {name for name in before if before[name] != after[name]} == {
        "server.crt",
        "server.key",
        "index.json",
    }


@pytest.mark.parametrize("name", ["server.key", "admin.crt", "service-account.key", "ca.key"])
def test_a_missing_file_is_made_again(tmp_path: Path, name: str) -> None:
    made = pki.ensure(tmp_path, now=NOW)
    (tmp_path / name).unlink()
    pki.ensure(tmp_path, now=NOW)
    assert (tmp_path / name).stat().st_size > 0
    loaded(made.server_certificate).verify_directly_issued_by(loaded(made.ca_certificate))


def test_a_damaged_authority_is_named_with_what_to_do(tmp_path: Path) -> None:
    made = pki.ensure(tmp_path, now=NOW)
    made.ca_key.write_bytes(b"rubbish")
    made.admin_key.unlink()
    with pytest.raises(ConfigError, match=r"ca\.key.*damaged.*remove"):
        pki.ensure(tmp_path, now=NOW)


def test_a_newer_index_is_refused(tmp_path: Path) -> None:
    made = pki.ensure(tmp_path, now=NOW)
    made.index.write_text(json.dumps({"version": 2}))
    with pytest.raises(ConfigError, match="version 2"):
        pki.ensure(tmp_path, now=NOW)


def test_a_folder_that_is_a_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "pki").write_text("")
    with pytest.raises(ConfigError, match="cannot keep certificates"):
        pki.ensure(tmp_path / "pki", now=NOW)


def test_kubeconfig_embeds_everything_and_is_private(tmp_path: Path) -> None:
    made = pki.ensure(tmp_path / "pki", now=NOW)
    path = tmp_path / "kubeconfig"
    write_kubeconfig(path, made, "https://127.0.0.1:7443")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    config = json.loads(path.read_bytes())
    assert config["current-context"] == "volcano"
    cluster = config["clusters"][0]["cluster"]
    assert cluster["server"] == "https://127.0.0.1:7443"
    ca = base64.b64decode(cluster["certificate-authority-data"])
    assert ca == made.ca_certificate.read_bytes()
    user = config["users"][0]["user"]
    assert base64.b64decode(user["client-key-data"]) == made.admin_key.read_bytes()
