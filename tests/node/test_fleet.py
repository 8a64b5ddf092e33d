"""Fleet files: what they give, and that every mistake is told with file, field and fix."""

import sys
from pathlib import Path

import pytest

from volcano.base.errors import ConfigError
from volcano.node.fleet import NodeKind, demo_fleet, host_fleet, load_fleet, parse_fleet
from volcano.node.machine import parse_gpus

PATH = Path("/fleets/mine.yaml")
GOOD = """
nodes:
- name: sim-{index}
  count: 3
  kind: simulated
  capacity: {cpu: 32, memory: 256Gi, pods: 64, example.com/dongle: 2}
  gpus: {model: V100, count: 4}
  labels: {zone: a}
  taints: [{key: gpu, value: "yes", effect: NoSchedule}]
- name: here
  capacity: {cpu: 500m, memory: 1Gi}
images:
- image: "python:*"
  path: [bin]
  env: {MODE: fast}
  command: [python3, -c, "print(1)"]
simulation:
  duration: 30s
"""


def test_a_whole_file():
    fleet = parse_fleet(GOOD, PATH)
    assert [node.name for node in fleet.nodes] == ["sim-1", "sim-2", "sim-3", "here"]
    sim = fleet.nodes[0]
    assert sim.kind is NodeKind.SIMULATED
    assert sim.capacity["nvidia.com/gpu"] == "4"
    assert sim.capacity["example.com/dongle"] == "2"
    assert sim.all_labels().items() >= {
        ("nvidia.com/gpu.product", "Tesla-V100-SXM2-16GB"),
        ("nvidia.com/gpu.count", "4"),
        ("nvidia.com/gpu.memory", "16384"),
        ("kubernetes.io/hostname", "sim-1"),
        ("zone", "a"),
    }
    assert sim.taints == ({"key": "gpu", "effect": "NoSchedule", "value": "yes"},)
    assert fleet.nodes[3].capacity["pods"] == "110"
    rule = fleet.rule_for("python:3.12")
    assert rule is not None
    assert rule.path == ("/fleets/bin",)
    assert rule.command == ("python3", "-c", "print(1)")
    assert fleet.rule_for("busybox") is None
    assert fleet.simulation == {"duration": "30s"}


def entry(text):
    return f"nodes:\n- {{name: n, capacity: {{cpu: 1, memory: 1Gi}}, {text}}}\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nodes: [", "not readable as YAML"),
        ("[]", "nodes: no nodes"),
        ("a text", "the document is a text; write key: value"),
        ("nodes: {}", "nodes: no nodes"),
        ("nodes: {a: b}", "nodes: is a mapping; write a list"),
        ("node: []", "node: unknown field; did you mean nodes?"),
        ("nodes: [{name: n}]", "nodes[0].capacity is empty"),
        ("nodes: [{name: n, capacity: {cpu: 1}}]", "capacity.memory: missing"),
        (
            "nodes: [{name: n, capacity: {cpu: 1x, memory: 1}}]",
            "capacity.cpu: '1x' is not a quantity",
        ),
        ("nodes: [{name: n, capacity: {cpu: -1, memory: 1}}]", "capacity.cpu: -1 is negative"),
        (entry("kind: virtual"), "kind: 'virtual' is not a kind of node; use process or simulated"),
        (entry("count: 2"), "name: 'n' for 2 nodes; put {index} into it"),
        (entry("count: none"), "count: 'none' is not a count"),
        (entry("lables: {}"), "nodes[0].lables: unknown field; did you mean labels?"),
        (entry("gpus: {model: X1}"), "gpus.memory: missing, and 'X1' is not a known model"),
        (
            entry("taints: [{key: a, effect: Never}]"),
            "taints[0].effect: 'Never' is not one; use NoSchedule",
        ),
        ("nodes: [{name: N_1, capacity: {cpu: 1, memory: 1}}]", "name: 'N_1' is not a node name"),
        (entry("") + "- {name: n, capacity: {cpu: 1, memory: 1}}", "the name 'n' appears twice"),
        (
            entry("") + "images: [{workingDir: nowhere, image: a}]",
            "images[0].workingDir: /fleets/now",
        ),
        (entry("") + "simulation: {duraton: 1}", "simulation.duraton: unknown field; did you mean"),
        (
            entry("") + "simulation: {duration: soon}",
            "simulation.duration: 'soon' is not a duration",
        ),
    ],
)
def test_mistakes(text, complaint):
    with pytest.raises(ConfigError) as refusal:
        parse_fleet(text, PATH)
    assert str(refusal.value).startswith(f"fleet file {PATH}: ")
    assert complaint in str(refusal.value)


def test_demo(tmp_path):
    fleet = demo_fleet(tmp_path)
    gpus = {node.name: node.gpus.product for node in fleet.nodes if node.gpus is not None}
    assert gpus == {"node-t4": "Tesla-T4", "node-v100": "Tesla-V100-SXM2-16GB"}
    assert len(fleet.nodes) == 4
    rule = fleet.rule_for("tensorflow/tensorflow:2.3.0-gpu")
    assert rule is not None
    assert rule.working_dir == str(tmp_path)
    assert rule.path == (str(Path(sys.executable).parent),)


def test_host_is_this_machine():
    (node,) = host_fleet().nodes
    assert int(node.capacity["cpu"]) > 0
    assert node.capacity["memory"].endswith("Ki")


def test_a_missing_file_says_what_is_possible():
    with pytest.raises(ConfigError, match="give a file, or one of demo, host"):
        load_fleet("/no/such/fleet.yaml")


def test_gpus_as_nvidia_smi_lists_them():
    found = parse_gpus("0, Tesla T4, 15360\n1, NVIDIA A10, 23028\nnonsense\n")
    assert [(g.index, g.product, g.memory_mib) for g in found] == [
        (0, "Tesla-T4", 15360),
        (1, "NVIDIA-A10", 23028),
    ]
