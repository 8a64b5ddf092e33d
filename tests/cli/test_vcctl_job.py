"""vcctl job: what is asked of the API and what is printed."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import JOBS, FakeApi, call, ok, status

PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/{}/commands"


def job(
    name: str, namespace: str = "default", *, phase: str = "Running", created: str = "", **spec
) -> dict:
    spec.setdefault("queue", "default")
    spec.setdefault("schedulerName", "volcano")
    spec.setdefault("tasks", [{"name": "t", "replicas": 2, "template": {"spec": {}}}])
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "creationTimestamp": created or "2026-01-02T12:00:00Z",
        },
        "spec": spec,
        "status": {"state": {"phase": phase}, "minAvailable": 2, "running": 2},
    }


def add(api: FakeApi, name: str, namespace: str = "default", **rest) -> dict:
    return api.add(JOBS.format(namespace), job(name, namespace, **rest))


HEADER = (
    "Name       Creation       Phase       JobType     Replicas    Min   Pending   Running   "
    "Succeeded   Failed    Unknown     RetryCount\n"
)


class TestList:
    def test_table_is_padded_as_in_the_original(self, api: FakeApi) -> None:
        add(api, "test-job")
        row = (
            "test-job   2026-01-02     Running     Batch       2           2     0         "
            "2         0           0         0           0         \n"
        )
        assert ok(api, "job", "list") == HEADER + row

    def test_nothing(self, api: FakeApi) -> None:
        assert ok(api, "job", "list") == "No resources found\n"

    @pytest.mark.parametrize(
        ("flags", "want"),
        [
            pytest.param([], ["one", "two"], id="namespace default"),
            pytest.param(["-n", "other"], ["three"], id="namespace flag"),
            pytest.param(["--all-namespaces"], ["one", "two", "three"], id="all namespaces"),
            pytest.param(["-q", "gold"], ["two"], id="queue"),
            pytest.param(["-S", "mine"], ["two"], id="scheduler"),
            pytest.param(["--selector", "ne"], ["one"], id="substring"),
            pytest.param(["-q", "gold", "--selector", "one"], [], id="filters are and-ed"),
            pytest.param(["ignored", "words"], ["one", "two"], id="words are ignored"),
        ],
    )
    def test_filters(self, api: FakeApi, flags: list[str], want: list[str]) -> None:
        add(api, "one")
        add(api, "two", queue="gold", schedulerName="mine")
        add(api, "three", "other")
        found = json.loads(ok(api, "job", "list", *flags, "-o", "json"))
        assert [item["metadata"]["name"] for item in found["items"]] == want
        text = ok(api, "job", "list", *flags)
        assert all(name in text for name in want)
        assert text.startswith("Namespace") is ("--all-namespaces" in flags)

    def test_wide_adds_columns(self, api: FakeApi) -> None:
        add(api, "one", queue="gold")
        header, row = ok(api, "job", "list", "-o", "wide").splitlines()
        assert header.split()[-3:] == ["Queue", "Scheduler", "Age"]
        assert row.split()[-3:-1] == ["gold", "volcano"]

    def test_flags_may_come_first_and_use_underscores(self, api: FakeApi) -> None:
        add(api, "one")
        assert "one" in ok(api, "-v", "3", "--kubeconfig=", "job", "list")
        assert "one" in ok(api, "job", "--all_namespaces", "list")


class TestRun:
    def test_by_flags(self, api: FakeApi) -> None:
        out = ok(api, "job", "run", "-N", "j", "-r", "3", "-m", "2", "-L", "cpu=1000m,x/y=2")
        assert out == "run job j successfully\n"
        ((path, body),) = api.created()
        assert path == JOBS.format("default")
        (task,) = body["spec"]["tasks"]
        assert (task["replicas"], body["spec"]["minAvailable"]) == (3, 2)
        assert task["template"]["metadata"] == {"name": "j", "labels": {"job.volcano.sh": "j"}}
        (container,) = task["template"]["spec"]["containers"]
        assert container["image"] == "busybox"
        assert container["resources"] == {
            "limits": {"cpu": "1", "x/y": "2"},
            "requests": {"cpu": "1", "memory": "100Mi"},
        }
        assert "queue" not in body["spec"]

    def test_by_file_keeps_the_object_and_its_namespace(self, api: FakeApi, tmp_path: Path) -> None:
        file = tmp_path / "job.yaml"
        manifest = job("from-file", "team", extra="kept", at="22:22", day="2026-01-02")
        file.write_text(
            yaml.safe_dump(manifest)
            .replace("'22:22'", "22:22")
            .replace("'2026-01-02'", "2026-01-02")
        )
        assert ok(api, "job", "run", "-f", str(file)) == "run job from-file successfully\n"
        ((path, body),) = api.created()
        assert path == JOBS.format("team")
        assert body["spec"] == manifest["spec"]

    def test_namespace_flag_wins(self, api: FakeApi, tmp_path: Path) -> None:
        file = tmp_path / "job.yaml"
        file.write_text(yaml.safe_dump(job("j", "team")))
        ok(api, "job", "run", "-f", str(file), "-n", "default")
        assert api.created()[0][0] == JOBS.format("default")

    @pytest.mark.parametrize(
        ("flags", "message"),
        [
            pytest.param([], "job name cannot be left blank", id="no name"),
            pytest.param(
                ["-N", "j", "-L", "cpu"],
                "invalid argument syntax cpu, expected <resource>=<value>",
                id="resource without value",
            ),
            pytest.param(
                ["-N", "j", "-R", "cpu=x"], "quantities must match the regular", id="quantity"
            ),
            pytest.param(["-f", "a.json"], "only support yaml file", id="not yaml"),
            pytest.param(["-f", "none.yaml"], "failed to read file, err: ", id="missing file"),
        ],
    )
    def test_wrong_flags(self, api: FakeApi, flags: list[str], message: str) -> None:
        result = call(api, "job", "run", *flags)
        assert result.exit_code == 1
        assert result.stdout == ""
        assert result.stderr.startswith(f"Failed to run job: {message}")
        assert not api.created()

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            pytest.param("a: [", "failed to unmarshal file, err:  ", id="broken"),
            pytest.param("a: !!binary YQ==", "failed to unmarshal file, err:  ", id="no JSON"),
            pytest.param("a: 1\n---\nb: 2\n", "holds 2 documents", id="two documents"),
            pytest.param("- 1\n", "does not hold an object", id="list"),
            pytest.param("kind: Pod\napiVersion: v1\n", "holds Pod of v1", id="another kind"),
        ],
    )
    def test_wrong_files(self, api: FakeApi, tmp_path: Path, text: str, message: str) -> None:
        file = tmp_path / "job.yml"
        file.write_text(text)
        result = call(api, "job", "run", "-f", str(file))
        assert result.exit_code == 1
        assert message in result.stderr

    def test_refusal_and_warnings_go_to_stderr(self, api: FakeApi) -> None:
        api.warning = "task t: restartPolicy Always never completes"
        add(api, "j")
        result = call(api, "job", "run", "-N", "j")
        assert result.exit_code == 1
        assert result.stderr == (
            "Warning: task t: restartPolicy Always never completes\n"
            'Failed to run job: "j" already exists\n'
        )


class TestCommands:
    @pytest.mark.parametrize(("verb", "action"), [("suspend", "AbortJob"), ("resume", "ResumeJob")])
    def test_creates_a_command_that_goes_with_the_job(
        self, api: FakeApi, verb: str, action: str
    ) -> None:
        add(api, "j", "team")
        assert ok(api, "job", verb, "-N", "j", "-n", "team") == f"{verb} job j successfully\n"
        ((path, body),) = api.created()
        reference = {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "name": "j",
            "uid": "uid-j",
            "controller": True,
            "blockOwnerDeletion": True,
        }
        assert path == COMMANDS.format("team")
        assert body["metadata"]["generateName"] == f"j-{action.lower()}-"
        assert body["metadata"]["ownerReferences"] == [reference]
        assert body["target"] == reference
        assert body["action"] == action

    def test_delete(self, api: FakeApi) -> None:
        add(api, "j")
        assert ok(api, "job", "delete", "-N", "j") == "delete job j successfully\n"
        assert not api.objects

    @pytest.mark.parametrize(
        ("verb", "message"),
        [
            ("suspend", "job name is mandatory to suspend a particular job"),
            ("resume", "job name is mandatory to resume a particular job"),
            ("delete", "job name is mandatory to delete a particular job"),
            (
                "view",
                "job name (specified by --name or -N) is mandatory to view a particular job",
            ),
        ],
    )
    def test_needs_a_name(self, api: FakeApi, verb: str, message: str) -> None:
        result = call(api, "job", verb)
        assert result.exit_code == 1
        assert result.stderr == f"Failed to {verb} job: {message}\n"

    def test_unknown_job(self, api: FakeApi) -> None:
        result = call(api, "job", "delete", "nope")
        assert result.exit_code == 1
        assert result.stderr == 'Failed to delete job: jobs.batch.volcano.sh "nope" not found\n'


class TestView:
    def test_says_why_the_job_waits(self, api: FakeApi) -> None:
        waiting = add(api, "j", phase="Pending", maxRetry=5)
        waiting["status"] = {"state": {"phase": "Pending"}, "pending": 1, "retryCount": 2}
        message = "2/2 tasks in gang unschedulable: 0/4 nodes have nvidia.com/gpu"
        condition = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources"}
        api.add(
            GROUPS,
            {
                "metadata": {"name": "j-uid-j"},
                "spec": {"minMember": 2, "queue": "gold"},
                "status": {"phase": "Pending", "conditions": [condition | {"message": message}]},
            },
        )
        scheduled = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "no room",
        }
        api.add(
            PODS,
            {
                "metadata": {"name": "j-t-0", "labels": {"volcano.sh/job-name": "j"}},
                "spec": {},
                "status": {"phase": "Pending", "conditions": [scheduled]},
            },
        )
        event = {
            "metadata": {"name": "j-t-0.1"},
            "type": "Warning",
            "reason": "FailedScheduling",
            "message": "tried",
            "involvedObject": {"kind": "Pod", "name": "j-t-0"},
            "firstTimestamp": "2026-01-02T12:00:00Z",
        }
        api.add(EVENTS, event)
        text = ok(api, "job", "view", "-N", "j")
        waiting_part = text[text.index("Waiting:") : text.index("Events:")]
        for part in (
            "Retries:    \t2 of 5",
            "j-uid-j (Pending, 2 members needed)",
            f"Unschedulable (NotEnoughResources, <unknown>): {message}",
            "j-t-0: Unschedulable: no room",
            "pod/j-t-0 FailedScheduling: tried",
        ):
            assert part in waiting_part
        assert text.endswith("Events: \t<none>\n")

    def test_a_running_job_has_no_waiting_section(self, api: FakeApi) -> None:
        add(api, "j")
        event = {
            "metadata": {"name": "j.1"},
            "type": "Normal",
            "reason": "Started",
            "message": " go \n",
            "count": 3,
            "source": {"component": "vc-controller-manager", "host": "h"},
            "firstTimestamp": "2026-01-02T12:00:00Z",
            "lastTimestamp": "2026-01-02T12:00:05Z",
        }
        api.add(EVENTS, event)
        api.add(EVENTS, {"metadata": {"name": "j2.1"}, "reason": "Other"})
        text = ok(api, "job", "view", "j")
        assert "Waiting:" not in text
        assert "\nEvents:\nType           \tReason" in text
        assert "vc-controller-manager, h" in text
        assert "(x3 over " in text
        assert text.endswith("\tgo\n")
        assert "Other" not in text

    def test_events_that_cannot_be_listed(self, api: FakeApi) -> None:
        found = add(api, "j")
        forbidden = status(403, "Forbidden", "no events for you")
        api.refusals = [(200, {}, found), (403, {}, forbidden)]
        result = call(api, "job", "view", "j")
        assert result.exit_code == 0
        assert result.stderr == "Failed to list events: no events for you\n"
        assert result.stdout.endswith("Events: \t<none>\n")

    @pytest.mark.parametrize("form", ["json", "yaml"])
    def test_documents(self, api: FakeApi, form: str) -> None:
        add(api, "j")["metadata"]["managedFields"] = [{}]
        found = yaml.safe_load(ok(api, "job", "view", "j", "-o", form))
        assert found["kind"] == "Job"
        assert "managedFields" not in found["metadata"]


class TestLogs:
    def pod(self, api: FakeApi, name: str, task: str, phase: str, *containers: str) -> None:
        labels = {"volcano.sh/job-name": "j", "volcano.sh/task-spec": task}
        spec = {"nodeName": "n", "containers": [{"name": c} for c in containers or ("main",)]}
        meta = {"name": name, "labels": labels}
        api.add(PODS, {"metadata": meta, "spec": spec, "status": {"phase": phase}})

    def test_one_pod_is_printed_as_it_is(self, api: FakeApi) -> None:
        add(api, "j")
        self.pod(api, "j-t-0", "t", "Running")
        api.logs["j-t-0"] = [b"a\nb", b"c\nd"]
        assert ok(api, "job", "logs", "j") == "a\nbc\nd\n"

    def test_several_are_labelled_and_task_selects(self, api: FakeApi) -> None:
        add(api, "j")
        self.pod(api, "j-t-0", "t", "Succeeded", "x", "y")
        self.pod(api, "j-u-0", "u", "Succeeded")
        self.pod(api, "j-u-1", "u", "Pending")
        api.logs |= {"j-t-0": [b"1\n"], "j-u-0": [b"2\n"]}
        result = call(api, "job", "logs", "j")
        assert result.stdout == "[t-0/x] 1\n[t-0/y] 1\n[u-0] 2\n"
        assert result.stderr == "j-u-1: starting on node n\n"
        assert ok(api, "job", "logs", "j", "u") == "2\n"
        assert ok(api, "job", "logs", "j", "-t", "t", "-c", "y") == "1\n"

    def test_follow_reads_to_the_end_of_the_job(self, api: FakeApi) -> None:
        add(api, "j", phase="Completed")
        self.pod(api, "j-t-0", "t", "Succeeded")
        self.pod(api, "j-t-1", "t", "Succeeded")
        api.logs |= {"j-t-0": [b"1\n"], "j-t-1": [b"2\n"]}
        assert sorted(ok(api, "job", "logs", "-f", "j").splitlines()) == ["[t-0] 1", "[t-1] 2"]

    def test_nothing_started(self, api: FakeApi) -> None:
        add(api, "j")
        result = call(api, "job", "logs", "j", "t")
        assert result.exit_code == 1
        assert result.stderr == "Failed to logs job: task 't' of job j has no pods\n"
