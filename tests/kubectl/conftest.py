"""One cluster per worker, one namespace and one golden file per test."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubectl.shell import GOLDEN, Shell, check_golden
from tests.running import RunningCluster, running_cluster

FLEET = """
nodes:
- name: worker-{index}
  count: 2
  capacity: {cpu: 8, memory: 16Gi}
- name: gpu
  capacity: {cpu: 8, memory: 16Gi}
  gpus: {model: T4, count: 2}
- name: apart                      # for tests that look at a node: only pods bound by hand
  capacity: {cpu: 4, memory: 8Gi}
  labels: {example.com/rack: r1}
  taints: [{key: example.com/apart, value: "yes", effect: NoSchedule}]
"""


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    folder = tmp_path_factory.mktemp("kubectl")
    fleet = folder / "fleet.yaml"
    fleet.write_text(FLEET)
    with running_cluster(folder, nodes=str(fleet)) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture
def namespace(cluster: RunningCluster, numbers: Iterator[int]) -> Iterator[str]:
    name = f"space-{next(numbers)}"
    made = cluster.kubectl("create", "namespace", name)
    assert made.returncode == 0, made.stderr
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def kubectl(
    cluster: RunningCluster, namespace: str, request: pytest.FixtureRequest
) -> Iterator[Shell]:
    """kubectl as a person would use it; at the end all of it is compared with the golden file."""
    shell = Shell(cluster, namespace)
    failed = request.session.testsfailed
    yield shell
    if request.session.testsfailed == failed:
        check_golden(golden_path(request.node), shell.transcript(), update=updating(request))


def golden_path(node: pytest.Item) -> Path:
    name = re.sub(r"[^a-z0-9]+", "-", node.name.removeprefix("test_").lower()).strip("-")
    return GOLDEN / node.path.stem.removeprefix("test_") / f"{name}.txt"


def updating(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update"))
