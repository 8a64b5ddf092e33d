"""Each manifest of examples/ is accepted as it is."""

import shutil
from pathlib import Path

import pytest

from tests.kubectl.shell import Shell

pytestmark = pytest.mark.process
FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.rglob("*.yaml"))


def test_there_are_examples() -> None:
    assert FOLDER / "example-job.yaml" in EXAMPLES


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_create(kubectl: Shell, file: Path) -> None:
    shutil.copy(file, kubectl.cluster.home / file.name)
    kubectl(f"create -f {file.name} --dry-run=server")
    kubectl(f"create -f {file.name}")
    kubectl.fails(f"create -f {file.name}")
    kubectl(f"apply -f {file.name}")
    kubectl(f"apply -f {file.name}")
    kubectl(f"get -f {file.name} -o jsonpath={{.spec}}")
    kubectl(f"delete -f {file.name}")
