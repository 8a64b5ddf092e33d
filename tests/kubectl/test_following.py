"""get -w and logs: what comes over a connection that stays open."""

import pytest

from tests.kubectl.manifests import IDLE_POD, running_pod
from tests.kubectl.shell import Shell

pytestmark = pytest.mark.process
OTHER = IDLE_POD.replace("name: idle", "name: other")


@pytest.mark.parametrize("events", [False, True], ids=["plain", "with events"])
def test_watch_sees_add_change_and_delete(kubectl: Shell, events: bool) -> None:
    kubectl.quiet("create -f -", IDLE_POD)
    flags = " --output-watch-events" if events else ""
    watch = kubectl.start(f"get pods -w -L tier{flags}")
    watch.read_until(lambda line: "idle" in line)
    kubectl.quiet("create -f -", OTHER)
    watch.read_until(lambda line: "other" in line)
    kubectl.quiet("label pod other tier=front --overwrite")
    watch.read_until(lambda line: "front" in line)
    kubectl.quiet("delete pod other")
    watch.read_until(lambda line: "other" in line)
    watch.end(stop=True)


def test_watch_of_a_selection(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", IDLE_POD)
    watch = kubectl.start("get pods -w -l tier=back --output-watch-events --show-labels")
    watch.read_until(lambda line: "idle" in line)
    kubectl.quiet("create -f -", OTHER)
    watch.read_until(lambda line: "other" in line)
    kubectl.quiet("label pod idle tier=front --overwrite")
    watch.read_until(lambda line: "DELETED" in line)
    watch.end(stop=True)


def test_logs_of_a_running_pod_to_its_end(kubectl: Shell) -> None:
    script = (
        "for i in 1 2 3; do echo line $i; done; while [ ! -e go ]; do sleep 0.05; done; echo end"
    )
    kubectl.quiet("apply -f -", running_pod("talker", script))
    kubectl.quiet("wait --for=condition=Ready pod/talker --timeout=30s")
    follow = kubectl.start("logs -f talker")
    follow.read_until(lambda line: "line 3" in line)
    uid = kubectl.stored("pod", "talker")["metadata"]["uid"]
    (folder,) = kubectl.cluster.data.glob(f"nodes/pods/{uid}/work/main")
    (folder / "go").touch()
    follow.end()
    kubectl("get pod talker")
    kubectl("logs talker --tail=2")
    kubectl("logs talker --limit-bytes=6")
    kubectl("logs -l app=talker --prefix")
    kubectl.fails("logs talker -c other")
    kubectl.fails("logs nobody")
    kubectl.fails("logs talker --previous")


def test_exec_is_refused_plainly(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", running_pod("shell", "exec sleep 1000"))
    kubectl.quiet("wait --for=condition=Ready pod/shell --timeout=30s")
    kubectl.fails("exec shell -- true")
    kubectl.fails("port-forward pod/shell 8080:80")


def test_bare_pods_just_run(kubectl: Shell) -> None:
    once = "--image=x --restart=Never --command -- sh -c 'echo hi'"
    kubectl(f"run hello {once}")
    kubectl("wait --for=jsonpath='{.status.phase}'=Succeeded pod/hello --timeout=30s")
    kubectl("logs hello")
    kubectl("get pod hello")
    applied = running_pod("applied", "echo there").replace("schedulerName: volcano", "")
    kubectl("apply -f -", applied)
    kubectl("wait --for=jsonpath='{.status.phase}'=Succeeded pod/applied --timeout=30s")
    assert kubectl.stored("pod", "applied")["spec"]["schedulerName"] == "default-scheduler"
    kubectl("logs applied")
    kubectl(
        f"run stranger {once}".replace("x", """x --overrides='{"spec":{"schedulerName":"s"}}'""", 1)
    )
    kubectl("get pod stranger")
