"""Which nodes there are and what stands in for their images: a fleet file, `demo` or `host`.

    nodes:
    - name: gpu-{index}            # a template when count is given; counted from 1
      count: 2
      kind: process                # runs commands on this machine; or simulated
      capacity: {cpu: 8, memory: 16Gi, pods: 110, example.com/dongle: 2}
      gpus: {model: T4, count: 1}  # memory: 16Gi for a model that is not in the table below
      labels: {zone: a}
      taints: [{key: gpu, value: "yes", effect: NoSchedule}]
    images:
    - image: tensorflow/tensorflow:*   # glob of image names; the first rule that matches holds
      workingDir: ./scripts            # relative to the file
      path: [/opt/venv/bin]            # put first in PATH
      env: {MODE: fast}
      command: [python, main.py]       # for containers without one
    simulation:                        # defaults of simulated pods, see `simulated`
      duration: 30s

Capacities are nominal: nothing checks them against the machine, except in `host`.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from volcano.base.errors import ConfigError
from volcano.base.limits import FLEET_NODES_MAX
from volcano.node import machine, rules
from volcano.resources.quantity import parse_quantity

GPU_RESOURCE = "nvidia.com/gpu"
PODS_DEFAULT = "110"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MIB = 2**20

GPU_MODELS: Mapping[str, tuple[str, int]] = {
    "T4": ("Tesla-T4", 15360),
    "P100": ("Tesla-P100-PCIE-16GB", 16384),
    "V100": ("Tesla-V100-SXM2-16GB", 16384),
    "A10": ("NVIDIA-A10", 23028),
    "L4": ("NVIDIA-L4", 23034),
    "L40S": ("NVIDIA-L40S", 46068),
    "A100": ("NVIDIA-A100-SXM4-80GB", 81920),
    "H100": ("NVIDIA-H100-80GB-HBM3", 81559),
    "H200": ("NVIDIA-H200", 143771),
    "B200": ("NVIDIA-B200", 183359),
}
"""Model → product label and memory in MiB, as GPU Feature Discovery reports them."""


class NodeKind(StrEnum):
    """How a node runs its pods."""

    PROCESS = "process"
    SIMULATED = "simulated"


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of one node.

    Attributes:
        product: the model as the product label names it.
        indices: device indices handed to containers.
        real: found on this machine; nominal ones exist only in the API.
    """

    product: str
    memory_mib: int
    indices: tuple[int, ...]
    real: bool = False


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One node: capacity as quantities in text, labels and taints as on the Node object."""

    name: str
    kind: NodeKind
    capacity: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    gpus: Gpus | None = None

    def all_labels(self) -> dict[str, str]:
        """The node's labels: the well-known ones, GPU Feature Discovery's, then its own."""
        arch = machine.architecture()
        labels = {
            "kubernetes.io/hostname": self.name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": arch,
            "beta.kubernetes.io/os": "linux",
            "beta.kubernetes.io/arch": arch,
            "volcano.sh/node-kind": self.kind.value,
        }
        if self.gpus is not None:
            labels["nvidia.com/gpu.product"] = self.gpus.product
            labels["nvidia.com/gpu.count"] = str(len(self.gpus.indices))
            labels["nvidia.com/gpu.memory"] = str(self.gpus.memory_mib)
        return {**labels, **self.labels}


@dataclass(frozen=True, slots=True)
class ImageRule:
    """What a process node uses in place of an image whose name matches the glob."""

    image: str
    working_dir: str = ""
    path: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fleet:
    """All nodes of one runner, the image rules and the defaults of simulated pods."""

    nodes: tuple[NodeSpec, ...]
    images: tuple[ImageRule, ...] = ()
    simulation: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""

    def rule_for(self, image: str) -> ImageRule | None:
        """The first rule whose glob matches the image name (case matters)."""
        return next((rule for rule in self.images if fnmatchcase(image, rule.image)), None)


def load_fleet(what: str, example_dir: Path | None = None) -> Fleet:
    """The fleet named `demo` or `host`, or the one in the file of that path.

    Args:
        example_dir: directory that the demo's image rule uses.

    Raises:
        ConfigError: no such file, or something in it is wrong; names file, field and fix.
    """
    if what == "demo":
        return demo_fleet(example_dir)
    if what == "host":
        return host_fleet()
    path = Path(what).expanduser()
    try:
        text = path.read_text()
    except OSError as error:
        raise ConfigError(
            f"fleet file {what}: {error.strerror}; give a file, or one of demo, host"
        ) from error
    return parse_fleet(text, path)


def demo_fleet(example_dir: Path | None = None) -> Fleet:
    """Four nodes of 8 CPU and 16 GiB, one with one T4 and one with one V100; all nominal.

    The image rule gives `tensorflow/tensorflow:*` the example's directory and the running
    interpreter, so that `python` in the container is this one, with numpy.
    """

    def node(name: str, model: str = "") -> NodeSpec:
        return _node(name, NodeKind.PROCESS, {"cpu": "8", "memory": "16Gi"}, gpus=_model(model))

    rule = ImageRule(
        image="tensorflow/tensorflow:*",
        working_dir=str(example_dir.resolve()) if example_dir else "",
        path=(str(Path(sys.executable).parent),),
    )
    nodes = (node("node-1"), node("node-2"), node("node-t4", "T4"), node("node-v100", "V100"))
    return Fleet(nodes, (rule,), origin="demo")


def host_fleet() -> Fleet:
    """One node that is this machine: its cores, memory, and the GPUs nvidia-smi finds."""
    facts = machine.facts()
    gpus = None
    if facts.gpus:
        first = facts.gpus[0]
        gpus = Gpus(
            first.product, first.memory_mib, tuple(gpu.index for gpu in facts.gpus), real=True
        )
    capacity = {"cpu": str(facts.cpus), "memory": f"{facts.memory_bytes // 1024}Ki"}
    return Fleet((_node(facts.host_name, NodeKind.PROCESS, capacity, gpus=gpus),), origin="host")


def _node(
    name: str,
    kind: NodeKind,
    capacity: Mapping[str, str],
    *,
    labels: Mapping[str, str] | None = None,
    taints: tuple[Mapping[str, str], ...] = (),
    gpus: Gpus | None = None,
) -> NodeSpec:
    full = {"pods": PODS_DEFAULT, "ephemeral-storage": "100Gi", **capacity}
    if gpus is not None:
        full[GPU_RESOURCE] = str(len(gpus.indices))
    return NodeSpec(name, kind, full, labels or {}, taints, gpus)


def _model(model: str) -> Gpus | None:
    if not model:
        return None
    product, memory_mib = GPU_MODELS[model]
    return Gpus(product, memory_mib, (0,))


def parse_fleet(text: str, path: Path) -> Fleet:
    """Read a fleet file.

    Raises:
        ConfigError: with file, field, what is wrong and what to write instead.
    """
    try:
        document = yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise ConfigError(f"fleet file {path}: not readable as YAML: {error}") from error
    top = _Fields(path, "", document or {})
    top.only("nodes", "images", "simulation")
    nodes = tuple(node for entry in top.entries("nodes") for node in _read_nodes(entry))
    if not nodes:
        raise top.error("nodes", "no nodes", "list at least one, e.g. {name: n1, capacity: …}")
    if len(nodes) > FLEET_NODES_MAX:
        raise top.error("nodes", f"{len(nodes)} nodes", f"at most {FLEET_NODES_MAX} are possible")
    seen: set[str] = set()
    for node in nodes:
        if node.name in seen:
            raise top.error("nodes", f"the name {node.name!r} appears twice", "make it unique")
        seen.add(node.name)
    images = tuple(_read_rule(entry, path) for entry in top.entries("images"))
    return Fleet(nodes, images, _read_simulation(top), origin=str(path))


def _read_simulation(top: "_Fields") -> dict[str, str]:
    if top.value.get("simulation") is None:
        return {}
    fields = top.mapping("simulation")
    fields.only(*rules.KEYS)
    values = top.texts("simulation")
    try:
        rules.read_rules(values)
    except ValueError as error:
        raise ConfigError(f"fleet file {top.path}: simulation.{error}") from error
    return values


def _read_nodes(fields: "_Fields") -> Iterator[NodeSpec]:
    fields.only("name", "count", "kind", "capacity", "labels", "taints", "gpus")
    template = fields.text("name")
    count = fields.number("count", default=1)
    kinds = [kind.value for kind in NodeKind]
    kind = fields.text("kind", default=NodeKind.PROCESS)
    if kind not in kinds:
        raise fields.error("kind", f"{kind!r} is not a kind of node", f"use {' or '.join(kinds)}")
    if count > FLEET_NODES_MAX:
        raise fields.error("count", str(count), f"at most {FLEET_NODES_MAX} are possible")
    capacity = fields.quantities("capacity")
    for needed in ("cpu", "memory"):
        if needed not in capacity:
            raise fields.error(f"capacity.{needed}", "missing", "e.g. {cpu: 8, memory: 16Gi}")
    if count > 1 and "{index}" not in template:
        raise fields.error("name", f"{template!r} for {count} nodes", "put {index} into it")
    gpus = _read_gpus(fields)
    labels = fields.texts("labels")
    taints = tuple(_read_taint(entry) for entry in fields.entries("taints"))
    for index in range(1, count + 1):
        name = template.replace("{index}", str(index))
        if not _NAME.fullmatch(name):
            raise fields.error(
                "name",
                f"{name!r} is not a node name",
                "use lower-case letters, digits, '-' and '.'",
            )
        yield _node(name, NodeKind(kind), capacity, labels=labels, taints=taints, gpus=gpus)


def _read_gpus(fields: "_Fields") -> Gpus | None:
    if "gpus" not in fields.value:
        return None
    gpus = fields.mapping("gpus")
    gpus.only("model", "count", "memory")
    model = gpus.text("model")
    product, memory_mib = GPU_MODELS.get(model, (model.replace(" ", "-"), 0))
    memory = gpus.quantity("memory", default="0")
    if memory:
        memory_mib = parse_quantity(memory).value // _MIB or memory_mib
    if not memory_mib:
        raise gpus.error(
            "memory",
            f"missing, and {model!r} is not a known model",
            f"give it, e.g. 16Gi, or use one of {', '.join(GPU_MODELS)}",
        )
    count = gpus.number("count", default=1)
    return Gpus(product, memory_mib, tuple(range(count)))


def _read_taint(fields: "_Fields") -> Mapping[str, str]:
    fields.only("key", "value", "effect")
    effect = fields.text("effect")
    if effect not in _EFFECTS:
        raise fields.error("effect", f"{effect!r} is not one", f"use {', '.join(_EFFECTS)}")
    taint = {"key": fields.text("key"), "effect": effect}
    value = fields.text("value", default="")
    return {**taint, "value": value} if value else taint


def _read_rule(fields: "_Fields", path: Path) -> ImageRule:
    fields.only("image", "workingDir", "path", "env", "command")
    working_dir = fields.text("workingDir", default="")
    if working_dir:
        resolved = (path.parent / Path(working_dir).expanduser()).resolve()
        if not resolved.is_dir():
            raise fields.error("workingDir", f"{resolved} is not a directory", "create it")
        working_dir = str(resolved)
    return ImageRule(
        image=fields.text("image"),
        working_dir=working_dir,
        path=tuple(str(path.parent / Path(p).expanduser()) for p in fields.text_list("path")),
        env=fields.texts("env"),
        command=tuple(fields.text_list("command")),
    )


@dataclass(frozen=True, slots=True)
class _Fields:
    """A mapping of the file with its place in it, so that every complaint says where."""

    path: Path
    place: str
    value: Any

    def __post_init__(self) -> None:
        if not isinstance(self.value, dict):
            where = self.place or "the document"
            raise ConfigError(
                f"fleet file {self.path}: {where} is {_type(self.value)}; write key: value"
            )

    def error(self, name: str, wrong: str, fix: str) -> ConfigError:
        """The complaint about a field."""
        return ConfigError(f"fleet file {self.path}: {self._at(name)}: {wrong}; {fix}")

    def only(self, *names: str) -> None:
        """Refuse other fields than these."""
        for name in self.value:
            if name not in names:
                near = get_close_matches(str(name), names, 1)
                fix = f"did you mean {near[0]}?" if near else f"possible are {', '.join(names)}"
                raise self.error(str(name), "unknown field", fix)

    def text(self, name: str, default: str | None = None) -> str:
        """A text; numbers are taken as written, an absent one without default is an error."""
        value = self.value.get(name, default)
        if value is None:
            raise self.error(name, "missing", "give it a value")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.error(name, f"is {_type(value)}", "write a text; quote it if in doubt")
        return str(value)

    def number(self, name: str, default: int) -> int:
        """A whole number of at least 1."""
        value = self.value.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.error(name, f"{value!r} is not a count", "write a whole number from 1")
        return value

    def quantity(self, name: str, default: str) -> str:
        """A Kubernetes quantity as text."""
        value = self.value.get(name, default)
        try:
            amount = parse_quantity(value)
        except (ValueError, TypeError) as error:
            raise self.error(
                name, f"{value!r} is not a quantity", "write e.g. 8, 500m or 16Gi"
            ) from error
        if amount.nano < 0:
            raise self.error(name, f"{value!r} is negative", "write an amount from 0")
        return str(amount)

    def quantities(self, name: str) -> dict[str, str]:
        """A mapping of resource names to quantities."""
        fields = self.mapping(name)
        return {str(key): fields.quantity(key, "0") for key in fields.value}

    def texts(self, name: str) -> dict[str, str]:
        """A mapping of texts to texts."""
        if self.value.get(name) is None:
            return {}
        fields = self.mapping(name)
        return {str(key): fields.text(key) for key in fields.value}

    def text_list(self, name: str) -> list[str]:
        """A list of texts."""
        value = self.value.get(name) or []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(name, f"is {_type(value)}", "write a list of texts, ['a', 'b']")
        return value

    def mapping(self, name: str) -> "_Fields":
        """The mapping under a field."""
        return _Fields(self.path, self._at(name), self.value.get(name))

    def entries(self, name: str) -> "list[_Fields]":
        """The mappings in the list under a field; none when it is absent."""
        value = self.value.get(name) or []
        if not isinstance(value, list):
            raise self.error(name, f"is {_type(value)}", "write a list, each entry after '- '")
        at = self._at(name)
        return [_Fields(self.path, f"{at}[{index}]", entry) for index, entry in enumerate(value)]

    def _at(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name


def _type(value: object) -> str:
    names = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false"}
    return "empty" if value is None else names.get(type(value), f"{value!r}")
