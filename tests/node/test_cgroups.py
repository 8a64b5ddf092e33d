"""Which cgroups a process may use, from what the kernel shows; paths only, nothing is mounted."""

import pytest

from tests.node.worlds import container
from volcano.node.cgroups import Limits, _settings, find_cgroups, limits_of, oom_killed, pids_in


def mounts(kind, path, options="rw"):
    return f"30 20 0:26 / {path} rw,nosuid - {kind} {kind} {options}\n"


def version_1(root):
    for name in ("memory", "cpu,cpuacct"):
        (root / name / "mine").mkdir(parents=True)
    return mounts("cgroup", root / "memory", "rw,memory") + mounts(
        "cgroup", root / "cpu,cpuacct", "rw,cpu,cpuacct"
    )


def test_version_1_is_used_below_the_own_group(tmp_path):
    found = find_cgroups(version_1(tmp_path), "4:memory:/mine\n1:cpu,cpuacct:/\n0::/\n")
    assert found.version == 1
    assert found.parents == {
        "memory": tmp_path / "memory/mine/volcano",
        "cpu": tmp_path / "cpu,cpuacct/volcano",
    }


def version_2(root, controllers="cpu memory pids", own="user.slice/a.scope"):
    (root / own).mkdir(parents=True)
    parent = (root / own).parent
    for folder in (parent, parent / "volcano"):
        folder.mkdir(exist_ok=True)
        (folder / "cgroup.controllers").write_text(controllers)
        (folder / "cgroup.subtree_control").write_text("")
    return mounts("cgroup2", root), f"0::/{own}\n"


def test_version_2_is_used_beside_the_own_group(tmp_path):
    found = find_cgroups(*version_2(tmp_path))
    assert found.version == 2
    assert found.parents == {"": tmp_path / "user.slice/volcano"}
    assert (tmp_path / "user.slice/cgroup.subtree_control").read_text() == "+memory +cpu"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda root: ("", ""), "no cgroup file system with the cpu and memory controllers"),
        (lambda root: version_2(root, "pids"), "does not have the controllers memory, cpu"),
        (lambda root: (mounts("cgroup", root / "none", "memory,cpu"), ""), "no group can be made"),
    ],
    ids=["nothing mounted", "controllers missing", "not permitted"],
)
def test_why_not(tmp_path, make, reason):
    found = find_cgroups(*make(tmp_path))
    assert not found.enforced
    assert reason in found.reason


def test_limits_of_a_container():
    resources = {"limits": {"cpu": "1500m", "memory": "1Gi"}, "requests": {"cpu": 1}}
    assert limits_of(container(resources=resources)) == Limits(1500, 1000, 1 << 30)
    assert limits_of(container()) == Limits()


@pytest.mark.parametrize(
    ("version", "controller", "limits", "settings"),
    [
        (1, "memory", Limits(), {}),
        (1, "memory", Limits(memory_bytes=5), {"memory.limit_in_bytes": "5"}),
        (1, "cpu", Limits(), {"cpu.shares": "2"}),
        (
            1,
            "cpu",
            Limits(1500, 500),
            {"cpu.shares": "512", "cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000"},
        ),
        (
            2,
            "",
            Limits(1, 1000, 7),
            {
                "cpu.weight": "39",
                "cpu.max": "1000 100000",
                "memory.max": "7",
                "memory.oom.group": "1",
            },
        ),
    ],
)
def test_settings(version, controller, limits, settings):
    assert dict(_settings(version, controller, limits)) == settings


@pytest.mark.parametrize(
    ("file", "text", "killed"),
    [
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", True),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", False),
        ("memory.events", "low 0\noom 2\noom_kill 2\n", True),
        ("memory.events", "low 0\noom 2\noom_kill 0\n", False),
    ],
)
def test_what_the_kernel_killed(tmp_path, file, text, killed):
    (tmp_path / file).write_text(text)
    assert oom_killed((str(tmp_path),)) is killed
    assert not oom_killed((str(tmp_path / "gone"),))


def test_processes_of_a_group(tmp_path):
    (tmp_path / "cgroup.procs").write_text("12\n7\n")
    assert pids_in((str(tmp_path), str(tmp_path))) == [7, 12]
