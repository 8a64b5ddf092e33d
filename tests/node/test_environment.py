"""Environment and command of containers: from the pod, the image rule and what they name."""

import base64

import pytest

from tests.node.worlds import container, pod
from volcano.node.environment import (
    CannotStartError,
    Surroundings,
    build_command,
    build_environment,
    device_variables,
    expand,
)
from volcano.node.fleet import Gpus, ImageRule, NodeKind, NodeSpec
from volcano.node.status import Place

NODE = NodeSpec("node-1", NodeKind.PROCESS, {"cpu": "8", "memory": "16Gi"})
RULE = ImageRule("busybox", path=("/opt/bin",), env={"MODE": "rule"}, command=("run", "it"))
OBJECTS = {
    ("ConfigMap", "settings"): {"data": {"COLOUR": "red", "odd.key": "1"}},
    ("Secret", "door"): {"data": {"KEY": base64.b64encode(b"s3").decode()}},
}


def environment(spec, *, rule=None, inherited=None, **fields):
    world = pod(containers=[spec], **fields)
    around = Surroundings(
        NODE,
        Place("192.0.2.1", "192.0.2.2"),
        rule,
        inherited or {"PATH": "/bin", "HOME": "/root", "LANG": "C", "AWS_SECRET": "no"},
        "https://127.0.0.1:7443",
    )
    return build_environment(
        world, world.containers[0], around, lambda kind, name: OBJECTS.get((kind, name))
    )


def test_nothing_else_of_the_server_is_seen():
    assert environment(container()) == {
        "PATH": "/bin",
        "HOME": "/root",
        "LANG": "C",
        "HOSTNAME": "a",
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": "7443",
        "KUBERNETES_SERVICE_PORT_HTTPS": "7443",
    }


def test_the_image_rule_comes_before_the_pod():
    env = environment(container(), rule=RULE)
    assert (env["PATH"], env["MODE"]) == ("/opt/bin:/bin", "rule")
    env = environment(container(env=[{"name": "MODE", "value": "pod"}]), rule=RULE)
    assert env["MODE"] == "pod"


def value_from(**origin):
    return container(env=[{"name": "X", "valueFrom": origin}])


LIMITED = {"limits": {"cpu": "1500m", "memory": "1Gi"}, "requests": {"cpu": "250m"}}


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        (value_from(configMapKeyRef={"name": "settings", "key": "COLOUR"}), "red"),
        (value_from(secretKeyRef={"name": "door", "key": "KEY"}), "s3"),
        (value_from(secretKeyRef={"name": "none", "key": "KEY", "optional": True}), None),
        (value_from(fieldRef={"fieldPath": "metadata.name"}), "a"),
        (value_from(fieldRef={"fieldPath": "metadata.uid"}), "uid-a"),
        (value_from(fieldRef={"fieldPath": "spec.nodeName"}), "node-1"),
        (value_from(fieldRef={"fieldPath": "status.podIP"}), "192.0.2.2"),
        (value_from(fieldRef={"fieldPath": "metadata.labels['app']"}), "web"),
        (value_from(fieldRef={"fieldPath": "metadata.annotations['none']"}), ""),
        ({**value_from(resourceFieldRef={"resource": "limits.cpu"}), "resources": LIMITED}, "2"),
        (
            {
                **value_from(resourceFieldRef={"resource": "requests.cpu", "divisor": "1m"}),
                "resources": LIMITED,
            },
            "250",
        ),
        (
            {
                **value_from(resourceFieldRef={"resource": "limits.memory", "divisor": "1Mi"}),
                "resources": LIMITED,
            },
            "1024",
        ),
        (value_from(resourceFieldRef={"resource": "limits.cpu"}), "8"),
    ],
    ids=lambda spec: str(spec.get("env", spec))[:60] if isinstance(spec, dict) else None,
)
def test_value_from(spec, value):
    env = environment(spec, meta={"labels": {"app": "web"}})
    assert env.get("X") == value


def test_env_from_with_a_prefix():
    sources = [
        {"configMapRef": {"name": "settings"}, "prefix": "P_"},
        {"secretRef": {"name": "door"}},
    ]
    env = environment(container(envFrom=sources))
    assert env.items() >= {("P_COLOUR", "red"), ("P_odd.key", "1"), ("KEY", "s3")}


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (container(envFrom=[{"configMapRef": {"name": "none"}}]), 'configmap "none" not found'),
        (value_from(secretKeyRef={"name": "none", "key": "k"}), 'secret "none" not found'),
        (
            value_from(secretKeyRef={"name": "door", "key": "k"}),
            "couldn't find key k in Secret door",
        ),
        (value_from(fieldRef={"fieldPath": "spec.colour"}), "no field 'spec.colour' in pods"),
    ],
    ids=["map", "secret", "key", "field"],
)
def test_what_is_missing_holds_the_container(spec, complaint):
    with pytest.raises(CannotStartError) as refusal:
        environment(spec)
    assert refusal.value.reason == "CreateContainerConfigError"
    assert complaint in refusal.value.message


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)/x", "1/x"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A ${A} $(", "$A ${A} $("),
    ],
)
def test_expansion(text, expanded):
    assert expand(text, {"A": "1"}) == expanded


def test_earlier_variables_are_put_into_later_ones():
    entries = [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(C)"}, {"name": "C"}]
    env = environment(container(env=entries))
    assert (env["B"], env["C"]) == ("1$(C)", "")


@pytest.mark.parametrize(
    ("spec", "rule", "command"),
    [
        (container(command=["a"], args=["$(X)"]), RULE, ["a", "1"]),
        ({"name": "main"}, RULE, ["run", "it"]),
        ({"name": "main", "args": ["more"]}, RULE, ["run", "it", "more"]),
    ],
    ids=["its own", "the rule's", "the rule's with args"],
)
def test_command(spec, rule, command):
    made = pod(containers=[spec]).containers[0]
    assert build_command(made, rule, {"X": "1"}) == command


def test_no_command_says_what_to_do():
    spec = pod(containers=[{"name": "main", "image": "nginx"}]).containers[0]
    with pytest.raises(CannotStartError, match="set command in the pod, or add a rule") as refusal:
        build_command(spec, None, {})
    assert refusal.value.reason == "CreateContainerError"


def test_devices_are_named_and_others_hidden():
    real = NodeSpec("r", NodeKind.PROCESS, {}, gpus=Gpus("T4", 1, (0, 1), real=True))
    assert device_variables(NODE, [0]) == {"NVIDIA_VISIBLE_DEVICES": "0"}
    assert device_variables(NODE, []) == {"NVIDIA_VISIBLE_DEVICES": "void"}
    assert device_variables(real, [0, 1])["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert device_variables(real, [])["CUDA_VISIBLE_DEVICES"] == ""
