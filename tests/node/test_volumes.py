"""Volumes: what must be read for them, which files they hold, and where they appear."""

import base64
import stat
from pathlib import Path

import pytest

from tests.node.worlds import container, pod
from volcano.node import volumes
from volcano.node.environment import CannotStartError, Surroundings
from volcano.node.fleet import NodeKind, NodeSpec
from volcano.node.status import Place
from volcano.node.volumes import TokenWish, VolumePlan

NODE = NodeSpec("node-1", NodeKind.PROCESS, {"cpu": "8"})
AROUND = Surroundings(NODE, Place("192.0.2.1", "192.0.2.2"), None, {}, "")
OBJECTS = {
    ("ConfigMap", "m"): {
        "data": {"a": "1", "b": "2"},
        "binaryData": {"c": base64.b64encode(b"\xff").decode()},
    },
    ("Secret", "s"): {"data": {"k": base64.b64encode(b"v").decode()}},
}


def files_of(volume, token="t0ken"):
    world = pod(volumes=[{"name": "v", **volume}], meta={"labels": {"b": "2", "a": 'x"'}})
    plans = volumes.plan_volumes(
        world, AROUND, lambda *key: OBJECTS.get(key), lambda audience, seconds: token
    )
    return {file.path: (file.content, file.mode) for file in plans["v"].files}


@pytest.mark.parametrize(
    ("volume", "files"),
    [
        ({"configMap": {"name": "m"}}, {"a": b"1", "b": b"2", "c": b"\xff"}),
        (
            {"configMap": {"name": "m", "items": [{"key": "a", "path": "x/y"}]}},
            {"x/y": b"1"},
        ),
        ({"configMap": {"name": "none", "optional": True}}, {}),
        ({"secret": {"secretName": "s"}}, {"k": b"v"}),
        ({"emptyDir": {}}, {}),
        (
            {
                "downwardAPI": {
                    "items": [
                        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
                        {"path": "ip", "fieldRef": {"fieldPath": "status.podIP"}},
                    ]
                }
            },
            {"labels": b'a="x\\""\nb="2"', "ip": b"192.0.2.2"},
        ),
        (
            {
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"path": "token"}},
                        {"configMap": {"name": "m", "items": [{"key": "a", "path": "a"}]}},
                        {"secret": {"name": "s"}},
                    ]
                }
            },
            {"token": b"t0ken", "a": b"1", "k": b"v"},
        ),
    ],
    ids=["map", "items", "optional", "secret", "emptyDir", "downward", "projected"],
)
def test_files(volume, files):
    assert {path: content for path, (content, _) in files_of(volume).items()} == files


def test_modes():
    items = [{"key": "a", "path": "a", "mode": 0o600}, {"key": "b", "path": "b"}]
    files = files_of({"configMap": {"name": "m", "defaultMode": 0o640, "items": items}})
    assert {path: mode for path, (_, mode) in files.items()} == {"a": 0o600, "b": 0o640}
    files = files_of({"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}})
    assert files["token"][1] == 0o600


@pytest.mark.parametrize(
    ("volume", "complaint"),
    [
        ({"persistentVolumeClaim": {"claimName": "c"}}, "of type persistentVolumeClaim, which"),
        ({"csi": {"driver": "d"}}, "of type csi, which process nodes cannot mount; they can:"),
        ({"configMap": {"name": "none"}}, 'configmap "none" not found'),
        (
            {"configMap": {"name": "m", "items": [{"key": "x", "path": "x"}]}},
            "configmap m has no key x",
        ),
        (
            {"projected": {"sources": [{"clusterTrustBundle": {"path": "p"}}]}},
            "clusterTrustBundle or podCertificate",
        ),
    ],
    ids=["claim", "csi", "no map", "no key", "trust bundle"],
)
def test_what_cannot_be_mounted(volume, complaint):
    with pytest.raises(CannotStartError) as refusal:
        files_of(volume)
    assert complaint in refusal.value.message


def test_what_must_be_read():
    world = pod(
        containers=[
            container(
                envFrom=[{"configMapRef": {"name": "one"}}, {"secretRef": {"name": "two"}}],
                env=[{"name": "X", "valueFrom": {"secretKeyRef": {"name": "three", "key": "k"}}}],
            )
        ],
        volumes=[
            {"name": "a", "configMap": {"name": "four"}},
            {
                "name": "b",
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"path": "t", "expirationSeconds": 600}},
                        {"secret": {"name": "five"}},
                    ]
                },
            },
        ],
    )
    wanted = volumes.wanted_by(world)
    assert wanted.config_maps == {"one", "four"}
    assert wanted.secrets == {"two", "three", "five"}
    assert wanted.tokens == {TokenWish("", 600)}


FOLDER = Path("/pods/volumes")
PLANS = {"own": VolumePlan("own"), "host": VolumePlan("host", Path("/srv"))}


@pytest.mark.parametrize(
    ("mount", "source"),
    [
        ({"name": "own"}, "/pods/volumes/own"),
        ({"name": "own", "subPath": "x/y"}, "/pods/volumes/own/x/y"),
        ({"name": "own", "subPathExpr": "$(POD)"}, "/pods/volumes/own/pod-1"),
        ({"name": "host"}, "/srv"),
    ],
)
def test_mount_sources(mount, source):
    spec = pod(containers=[container(volumeMounts=[{**mount, "mountPath": "/data/"}])])
    (made,) = volumes.mounts_of(spec.containers[0], FOLDER, PLANS, {"POD": "pod-1"})
    assert (str(made.source), made.target) == (source, "/data")


@pytest.mark.parametrize(
    ("mount", "complaint"),
    [
        ({"name": "none"}, "which is no volume of the pod"),
        ({"name": "own", "subPath": "../other"}, "leads out of volume own"),
        ({"name": "own", "subPathExpr": "$(UP)/x"}, "leads out of volume own"),
    ],
)
def test_wrong_mounts(mount, complaint):
    spec = pod(containers=[container(volumeMounts=[{**mount, "mountPath": "/d"}])])
    with pytest.raises(CannotStartError, match=complaint):
        volumes.mounts_of(spec.containers[0], FOLDER, PLANS, {"UP": ".."})


def test_files_are_put_in_place_and_replaced(tmp_path):
    plan = VolumePlan("v", files=(volumes.FileContent("a/b", b"1", 0o400),))
    volumes.write_volume(tmp_path, plan)
    path = tmp_path / "v/a/b"
    assert path.read_bytes() == b"1"
    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    volumes.write_volume(
        tmp_path, VolumePlan("v", files=(volumes.FileContent("a/b", b"2", 0o400),))
    )
    assert path.read_bytes() == b"2"


def test_no_file_is_put_outside(tmp_path):
    plan = VolumePlan("v", files=(volumes.FileContent("../x", b"1"),))
    with pytest.raises(CannotStartError, match="leads out"):
        volumes.write_volume(tmp_path, plan)


@pytest.mark.parametrize(
    ("type_", "name", "holds"),
    [
        ("", "dir", True),
        ("", "none", False),
        ("Directory", "dir", True),
        ("Directory", "file", False),
        ("DirectoryOrCreate", "new", True),
        ("File", "file", True),
        ("File", "dir", False),
        ("FileOrCreate", "new", True),
        ("Socket", "file", False),
    ],
)
def test_host_paths(tmp_path, type_, name, holds):
    (tmp_path / "dir").mkdir()
    (tmp_path / "file").touch()
    plan = VolumePlan("v", tmp_path / name, type_)
    if holds:
        volumes.write_volume(tmp_path, plan)
        return
    with pytest.raises(CannotStartError, match="hostPath volume v"):
        volumes.write_volume(tmp_path, plan)
