"""Runs of containers as real processes: started once, adopted, ended, accounted for."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.waiting import wait_until
from volcano.base.errors import NodeError
from volcano.node import cgroups, launch, processes, records
from volcano.node.cgroups import Limits
from volcano.node.launch import Order
from volcano.node.records import Intent, PodFolder
from volcano.node.volumes import Mount

pytestmark = pytest.mark.process
ENV = {"PATH": os.environ["PATH"]}


@pytest.fixture(scope="module")
def here():
    return launch.find_machine()


@pytest.fixture
def folder(tmp_path, here):
    made = PodFolder(tmp_path, "uid-a")
    made.path.mkdir()
    yield made
    for name in made.containers():
        _, record = launch.adopt(made, name, here)
        if record is not None:
            launch.kill(record)
            ended(record, here)


def order(command, name="main", number=0, **fields):
    return Order(name, number, 0, ["sh", "-c", command], fields.pop("env", ENV), **fields)


def ended(record, here, within=10.0):
    wait_until(lambda: not processes.is_alive(record.process), within=within, about="shim ended")
    return launch.settle(record, here).ended


def run(folder, here, command, **fields):
    record = launch.launch(folder, order(command, **fields), here)
    result = ended(record, here)
    log = record.path / "log"
    return result, log.read_text() if log.exists() else ""


@pytest.mark.parametrize("code", [0, 1, 42, 255])
def test_exit_code(folder, here, code):
    result, _ = run(folder, here, f"exit {code}")
    assert (result.exit_code, result.reason) == (code, "Completed" if code == 0 else "Error")
    assert result.finished_at >= result.started_at


def test_killed_by_its_own_signal(folder, here):
    assert run(folder, here, "kill -9 $$")[0].exit_code == 137


def test_output_and_environment(folder, here):
    env = {**ENV, "A": "x y", "QUOTED": "'\"$A"}
    _, log = run(folder, here, 'echo "$A|$QUOTED"; echo err >&2; pwd; env | sort', env=env)
    lines = log.splitlines()
    assert lines[:3] == ["x y|'\"$A", "err", str(folder.path / "work" / "main")]
    names = {line.partition("=")[0] for line in lines[3:]}
    assert names <= {"A", "QUOTED", "PATH", "PWD", "_", "SHLVL"}


def test_a_variable_that_no_shell_knows(folder, here):
    env = {**ENV, "odd.name": "kept"}
    made = replace(order("", env=env), command=["/usr/bin/env"])
    record = launch.launch(folder, made, here)
    ended(record, here)
    assert "odd.name=kept" in (record.path / "log").read_text().splitlines()


def test_a_session_of_its_own_without_descriptors_of_ours(folder, here):
    with Path(os.devnull).open() as held:
        os.set_inheritable(held.fileno(), False)
        _, log = run(folder, here, "ls -l /proc/self/fd | sed -n 's/.*-> //p'; ps -o sid= -p $$")
    *files, sid = log.split()
    assert int(sid) != os.getsid(0)
    assert {name for name in files if not name.startswith("/proc/")} == {
        "/dev/null",
        str(folder.run_dir("main", 0) / "log"),
    } or any(name.startswith("pipe:") for name in files)


def test_signals_have_their_defaults(folder, here):
    _, log = run(folder, here, "grep -E '^Sig(Blk|Ign)' /proc/self/status")
    masks = {line.split(":")[0]: int(line.split()[1], 16) for line in log.splitlines()}
    background = {signal.SIGINT, signal.SIGQUIT}
    assert masks["SigBlk"] == 0
    standard = masks["SigIgn"] & 0x7FFFFFFF
    assert standard == sum(1 << (number - 1) for number in background), "as of any sh job"


def test_sigterm_is_passed_on(folder, here):
    script = "trap 'echo got it; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    record = launch.launch(folder, order(script), here)
    wait_until(lambda: "ready" in launch_log(record))
    launch.stop(record)
    assert ended(record, here).exit_code == 7
    assert "got it" in launch_log(record)


def launch_log(record):
    path = record.path / "log"
    return path.read_text() if path.exists() else ""


def test_sigterm_at_once_is_not_lost(folder, here):
    record = launch.launch(folder, order("sleep 60"), here)
    launch.stop(record)
    assert ended(record, here).exit_code == 143


def test_sigkill_takes_everything(folder, here):
    script = "trap '' TERM; sleep 987 & setsid sleep 987 & echo ready; wait; wait; sleep 987"
    record = launch.launch(folder, order(script), here)
    wait_until(lambda: "ready" in launch_log(record))
    launch.kill(record)
    result = ended(record, here)
    assert (result.exit_code, result.reason) == (137, "Error")
    wait_until(lambda: not sleeping("987"), about="no process left")


def sleeping(argument):
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cmdline").read_bytes().split(b"\0")[:2] == [
                b"sleep",
                argument.encode(),
            ]:
                found.append(entry.name)
        except OSError:
            continue
    return found


def test_what_it_leaves_behind_ends_with_it(folder, here):
    assert run(folder, here, "sleep 986 & echo done")[0].exit_code == 0
    wait_until(lambda: not sleeping("986"), about="no process left")


@pytest.mark.parametrize(
    ("command", "directory", "message"),
    [
        (["no-such-program"], "", 'exec: "no-such-program": executable file not found in $PATH'),
        (["/no/such"], "", 'exec: "/no/such": stat /no/such: no such file or directory'),
        (["/etc/passwd"], "", 'exec: "/etc/passwd": stat /etc/passwd: permission denied'),
        (["true"], "/no/where", "working directory '/no/where' does not exist on this machine"),
    ],
    ids=["name", "path", "permission", "directory"],
)
def test_what_cannot_start_ends_with_a_reason(folder, here, command, directory, message):
    if command == ["/etc/passwd"] and os.access("/etc/passwd", os.X_OK):
        pytest.skip("executable here")
    made = replace(order(""), command=command, directory=directory)
    record = launch.launch(folder, made, here)
    result = launch.settle(record, here).ended
    assert (result.exit_code, result.reason, result.message) == (128, "StartError", message)
    assert launch.adopt(folder, "main", here)[0].ended == result


# -- restarts of the node --------------------------------------------------------------------------


def test_what_runs_is_adopted(folder, here):
    first = launch.launch(folder, order("sleep 60"), here)
    run_, record = launch.adopt(folder, "main", here)
    assert run_.running
    assert record == first
    launch.stop(record)
    assert ended(record, here).exit_code == 143


def test_what_ended_meanwhile_is_read(folder, here):
    record = launch.launch(folder, order("exit 5"), here)
    wait_until(lambda: not processes.is_alive(record.process))
    run_, alive = launch.adopt(folder, "main", here)
    assert alive is None
    assert run_.ended.exit_code == 5


def test_an_intent_without_a_start_is_no_run_and_never_becomes_one(folder, here):
    run_dir = folder.write_intent("main", 0, Intent(0, 0, here.boot_id))
    run_, record = launch.adopt(folder, "main", here)
    assert (run_.has_started, record) == (False, None)
    marker = folder.path / "started"
    late = launch._spawn(run_dir, 0, "/", (), ["touch", str(marker)], ENV)
    os.waitpid(late, 0)
    assert not marker.exists(), "a shim that comes late starts nothing"
    result, _ = run(folder, here, f"touch {marker}")
    assert result.exit_code == 0
    assert marker.exists()


def test_a_run_is_never_started_twice(folder, here):
    record = launch.launch(folder, order("sleep 60"), here)
    with pytest.raises(NodeError, match="never started twice"):
        launch.launch(folder, order("sleep 60"), here)
    launch.kill(record)
    ended(record, here)
    with pytest.raises(NodeError, match="never started twice"):
        launch.launch(folder, order("true"), here)


def test_two_shims_of_one_attempt_start_it_once(folder, here):
    run_dir = folder.write_intent("main", 0, Intent(0, 0, here.boot_id))
    starts = folder.path / "starts"
    pids = [
        launch._spawn(run_dir, 0, "/", (), ["sh", "-c", f"echo x >> {starts}"], ENV)
        for _ in range(5)
    ]
    for pid in pids:
        os.waitpid(pid, 0)
    assert starts.read_text() == "x\n"


def test_killed_by_someone_else_is_reported_with_a_reason(folder, here):
    record = launch.launch(folder, order("sleep 60"), here)
    os.killpg(record.process.pid, signal.SIGKILL)
    result = ended(record, here)
    assert (result.exit_code, result.reason) == (137, "ContainerStatusUnknown")
    assert "cannot be accounted for" in result.message


def test_what_outlives_its_shim_is_killed_by_the_next_node(folder, here):
    limited(here)
    record = launch.launch(folder, order("setsid sleep 985; sleep 985"), here)
    wait_until(lambda: sleeping("985"))
    os.killpg(record.process.pid, signal.SIGKILL)
    wait_until(lambda: not processes.is_alive(record.process))
    run_, _ = launch.adopt(folder, "main", here)
    assert run_.ended.reason == "ContainerStatusUnknown"
    wait_until(lambda: not sleeping("985"), about="no process left")


def test_a_run_of_another_boot_is_over(folder, here):
    record = launch.launch(folder, order("sleep 60"), here)
    other = replace(here, boot_id="another")
    run_, alive = launch.adopt(folder, "main", other)
    assert alive is None
    assert run_.ended.reason == "ContainerStatusUnknown"
    assert "machine was started anew" in run_.ended.message
    launch.kill(record)
    ended(record, here)


def test_signals_only_go_to_the_very_process(folder, here):
    record = launch.launch(folder, order("sleep 60"), here)
    stranger = replace(record.process, start=record.process.start + 1)
    assert not processes.send_signal(stranger, signal.SIGKILL)
    processes.kill_tree(stranger)
    assert processes.is_alive(record.process)
    assert not processes.is_alive(stranger)


def test_the_run_before_is_remembered_and_older_ones_dropped(folder, here):
    for number in range(4):
        run(folder, here, f"exit {number + 1}", number=number)
    assert folder.run_numbers("main") == [2, 3]
    run_, _ = launch.adopt(folder, "main", here)
    assert (run_.restarts, run_.ended.exit_code, run_.last.exit_code) == (3, 4, 3)


# -- limits and volumes ----------------------------------------------------------------------------


def limited(here):
    if not here.cgroups.enforced:
        pytest.skip(here.cgroups.reason)


def test_beyond_its_memory_it_is_killed(folder, here):
    limited(here)
    limits = Limits(memory_bytes=32 << 20)
    result, _ = run(
        folder, here, "head -c 200m /dev/zero | tail -c 200m >/dev/null; exit $?", limits=limits
    )
    assert (result.exit_code, result.reason) == (137, "OOMKilled")


def test_limits_are_set_and_the_group_goes_away(folder, here):
    limited(here)
    limits = Limits(cpu_milli=1500, cpu_request_milli=500, memory_bytes=64 << 20)
    record = launch.launch(folder, order("sleep 60", limits=limits), here)
    groups = record.intent.cgroups
    wait_until(lambda: cgroups.pids_in(groups), about="command joined its group")
    files = {
        path.name: path.read_text().strip()
        for group in groups
        for path in Path(group).iterdir()
        if path.name in {"memory.limit_in_bytes", "memory.max", "cpu.cfs_quota_us", "cpu.max"}
    }
    assert str(64 << 20) in files.values()
    assert files.get("cpu.cfs_quota_us", "150000") == "150000"
    launch.kill(record)
    ended(record, here)
    assert not any(Path(group).exists() for group in groups)


def namespaced(here):
    if not here.mount_namespaces:
        pytest.skip("mount namespaces are not permitted")


@pytest.mark.parametrize(
    "target",
    ["/data-of-a-test", "/data-of-a-test/deep/er", "/etc/volcano-test", "/var/run/volcano-test/a"],
)
def test_volumes_appear_only_in_the_container(folder, here, target):
    namespaced(here)
    source = folder.path / "volumes" / "v"
    source.mkdir(parents=True)
    (source / "key").write_text("value")
    mounts = [Mount(source, target, read_only=True)]
    script = f"cat {target}/key; touch {target}/new; ls -d /etc/passwd /usr /proc/self/stat"
    _, log = run(folder, here, script, mounts=mounts)
    assert log.startswith("value")
    assert "Read-only file system" in log
    assert log.splitlines()[-3:] == ["/etc/passwd", "/proc/self/stat", "/usr"]
    assert not Path(target).exists()


def test_a_writable_volume_with_another_inside(folder, here):
    namespaced(here)
    outer, inner = folder.path / "volumes" / "outer", folder.path / "volumes" / "inner"
    outer.mkdir(parents=True)
    inner.mkdir()
    (inner / "key").write_text("value")
    mounts = [Mount(inner, "/data-of-a-test/conf"), Mount(outer, "/data-of-a-test")]
    script = "cat /data-of-a-test/conf/key; echo new > /data-of-a-test/file; exit 0"
    result, log = run(folder, here, script, mounts=mounts, directory="/data-of-a-test")
    assert (result.exit_code, log) == (0, "value")
    assert (outer / "file").read_text() == "new\n"


def test_a_program_missing_inside_the_namespace(folder, here):
    namespaced(here)
    source = folder.path / "v"
    source.mkdir()
    made = replace(
        order("", mounts=[Mount(source, "/tools-of-a-test")]), command=["/tools-of-a-test/run"]
    )
    record = launch.launch(folder, made, here)
    assert ended(record, here).exit_code == 127


def test_without_namespaces_volumes_are_links(folder, here):
    source = folder.path / "volumes" / "v"
    source.mkdir(parents=True)
    (source / "key").write_text("value")
    plain = replace(here, mount_namespaces=False)
    _, log = run(
        folder, plain, "cat $VOLCANO_MOUNTS/etc/conf/key", mounts=[Mount(source, "/etc/conf")]
    )
    assert log == "value"


def test_records_survive_half_written_files(folder, here):
    record = launch.launch(folder, order("exit 3"), here)
    ended(record, here)
    (record.path / "exit").write_text("")
    result = records.observe(record, here.boot_id, oom_killed=False).ended
    assert result.reason == "ContainerStatusUnknown"
