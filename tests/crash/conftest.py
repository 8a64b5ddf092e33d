"""Time for the rounds asked for, and a fleet."""

from pathlib import Path

import pytest

FLEET = """
nodes:
- name: worker-{index}
  count: 2
  kind: process
  capacity: {cpu: 8, memory: 16Gi, pods: 110}
"""
START_SECONDS_MAX = 300
ROUND_SECONDS_MAX = 15


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    rounds = config.getoption("--crash-rounds")
    for item in items:
        if "rounds" in getattr(item, "fixturenames", ()):
            limit = START_SECONDS_MAX + ROUND_SECONDS_MAX * rounds
            item.add_marker(pytest.mark.timeout(limit))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in terminalreporter.stats.get("passed", []):
        for name, text in report.user_properties:
            if name == "crash":
                terminalreporter.write_line(text)


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--crash-rounds"))


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--seed"))


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET)
    return path
