"""Which cluster is found, and what is said when none is."""

import base64
import os
from pathlib import Path

import pytest
import yaml

from volcano.base.errors import ConfigError
from volcano.client.config import ClusterConfig, default_data_dir, load_config


def kubeconfig(
    server: str, *, user: dict | None = None, context: str = "main", current: bool = True, **cluster
) -> str:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": context, "context": {"cluster": "c", "user": "u"}}],
    }
    if current:
        document["current-context"] = context
    return yaml.safe_dump(document)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".kube").mkdir()
    return tmp_path


def find(home: Path, **arguments) -> ClusterConfig:
    arguments.setdefault("environ", {})
    return load_config(
        arguments.pop("kubeconfig", None),
        arguments.pop("context", None),
        home=home,
        data_dir=home / "data",
        service_account_dir=home / "account",
        **arguments,
    )


def test_order_of_places(home: Path) -> None:
    (home / "data").mkdir()
    (home / "data/kubeconfig").write_text(kubeconfig("https://local:1"))
    assert find(home).server == "https://local:1"
    assert find(home).local

    (home / "account").mkdir()
    (home / "account/token").write_text("t")
    in_pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    assert find(home, environ=in_pod).server == "https://10.0.0.1:443"

    (home / ".kube/config").write_text(kubeconfig("https://home:1"))
    assert find(home, environ=in_pod).server == "https://home:1"

    (home / "a").write_text(kubeconfig("https://env:1"))
    environ = in_pod | {"KUBECONFIG": str(home / "a")}
    assert find(home, environ=environ).server == "https://env:1"

    (home / "b").write_text(kubeconfig("https://flag:1"))
    assert find(home, kubeconfig=str(home / "b"), environ=environ).server == "https://flag:1"
    assert find(home, environ=environ, master="https://m:2").server == "https://m:2"


def test_nothing_found_says_what_was_tried(home: Path) -> None:
    with pytest.raises(ConfigError) as error:
        find(home)
    for part in (
        ".kube/config: no such file",
        "in-cluster account",
        "data/kubeconfig",
        "volcano up",
    ):
        assert part in error.value.public


def test_missing_chosen_file_is_an_error_and_not_another_cluster(home: Path) -> None:
    (home / ".kube/config").write_text(kubeconfig("https://home:1"))
    missing = str(home / "nope")
    for arguments in ({"kubeconfig": missing}, {"environ": {"KUBECONFIG": missing}}):
        with pytest.raises(ConfigError, match=r"stat .*nope: no such file or directory"):
            find(home, **arguments)


def test_first_file_wins_by_name_and_relative_paths_follow_their_file(home: Path) -> None:
    (home / "sub").mkdir()
    (home / "sub/ca.pem").write_bytes(b"PEM")
    first = kubeconfig("https://one:1", current=False)
    second = yaml.safe_load(kubeconfig("https://two:1"))
    second["clusters"].append(
        {"name": "d", "cluster": {"server": "https://d:1", "certificate-authority": "ca.pem"}}
    )
    second["contexts"].append({"name": "other", "context": {"cluster": "d", "namespace": "ns"}})
    (home / "1").write_text(first)
    (home / "sub/2").write_text(yaml.safe_dump(second))
    environ = {"KUBECONFIG": os.pathsep.join([str(home / "1"), str(home / "sub/2")])}
    assert find(home, environ=environ).server == "https://one:1"
    other = find(home, environ=environ, context="other")
    assert (other.server, other.ca_data, other.namespace) == ("https://d:1", b"PEM", "ns")


def test_credentials_of_a_user(home: Path) -> None:
    pem = base64.b64encode(b"cert").decode()
    user = {
        "client-certificate-data": pem,
        "client-key-data": pem,
        "token": "t",
        "tokenFile": "tok",
        "exec": {"command": "./get", "args": ["a"], "env": [{"name": "N", "value": "V"}]},
    }
    (home / "k").write_text(kubeconfig("https://x:1", user=user))
    config = find(home, kubeconfig=str(home / "k"))
    assert config.client_certificate_data == b"cert"
    assert config.token == "t"
    assert config.token_file == str(home / "tok")
    assert config.exec_plugin is not None
    assert config.exec_plugin.command == str(home / "get")
    assert config.exec_plugin.env == (("N", "V"),)
    assert "client_key_data" not in repr(config)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [", "not a kubeconfig", id="broken yaml"),
        pytest.param("[]", "expected a mapping", id="not a mapping"),
        pytest.param("current-context: x", "'x' is not among its contexts", id="unknown context"),
        pytest.param("contexts: [1]", "each entry needs a name", id="entry without a name"),
        pytest.param(kubeconfig("ftp://x"), "not a server URL", id="bad server"),
        pytest.param(
            kubeconfig("https://x:1", user={"client-key-data": "%"}), "is not base64", id="base64"
        ),
        pytest.param(
            kubeconfig("https://x:1", user={"client-key": "gone.pem"}), "cannot read", id="no file"
        ),
        pytest.param(
            kubeconfig("https://x:1", user={"exec": {"args": []}}), "exec.command", id="exec"
        ),
        pytest.param(
            kubeconfig("https://x:1", user={"auth-provider": {}}), "use exec", id="auth-provider"
        ),
    ],
)
def test_wrong_files_are_named(home: Path, text: str, message: str) -> None:
    (home / "k").write_text(text)
    with pytest.raises(ConfigError, match=message) as error:
        find(home, kubeconfig=str(home / "k"))
    assert str(home / "k") in error.value.public


def test_wrong_certificates_are_named() -> None:
    config = ClusterConfig("https://x:1", ca_data=b"nonsense", source="here")
    with pytest.raises(ConfigError, match="here: certificate-authority"):
        config.ssl_context()
    config = ClusterConfig(
        "https://x:1", client_certificate_data=b"x", client_key_data=b"y", source="here"
    )
    with pytest.raises(ConfigError, match="here: client-certificate"):
        config.ssl_context()
    assert ClusterConfig("http://x:1").ssl_context() is None


@pytest.mark.parametrize(
    ("environ", "want"),
    [
        pytest.param({"VOLCANO_HOME": "/v", "XDG_STATE_HOME": "/s"}, "/v", id="own variable"),
        pytest.param({"XDG_STATE_HOME": "/s"}, "/s/volcano", id="xdg"),
        pytest.param({}, "/h/.local/state/volcano", id="default"),
    ],
)
def test_data_dir(environ: dict[str, str], want: str) -> None:
    assert default_data_dir(environ, Path("/h")) == Path(want)
