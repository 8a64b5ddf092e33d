"""`vcctl job`: run, list, view, suspend, resume, delete, logs (spec cli, 2)."""

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from volcano.api import kinds
from volcano.api.objects import JsonObject, name_of, namespace_of, uid_of
from volcano.base.errors import ApiError, ConfigError
from volcano.cli.commands import (
    Group,
    Handler,
    chosen,
    completed_by,
    leaf,
    option,
    output_option,
)

if TYPE_CHECKING:
    from volcano.client.blocking import BlockingClient

job = Group(name="job", help="vcctl command line operation job")

JOB_LABEL = "volcano.sh/job-name"
_RESOURCES = "cpu=1000m,memory=100Mi"


def _job_names(client: "BlockingClient", ctx: click.Context) -> list[str]:
    namespace = ctx.params.get("namespace") or "default"
    return [name_of(item) for item in client.list(kinds.JOB, namespace)["items"]]


def _namespace() -> click.Option:
    return option("--namespace", "-n", default="default", help="the namespace of job")


def _name() -> click.Option:
    complete = completed_by(_job_names)
    return option("--name", "-N", help="the name of job", shell_complete=complete)


@leaf(
    job,
    "run",
    "run job by parameters from the command line",
    option("--filename", "-f", help="the yaml file of job"),
    option("--image", "-i", default="busybox", help="the container image of job"),
    option("--limits", "-L", default=_RESOURCES, help="the resource limit of the task"),
    option("--min", "-m", type=int, default=1, help="the minimal available tasks of job"),
    option("--name", "-N", help="the name of job"),
    _namespace(),
    option("--replicas", "-r", type=int, default=1, help="the total tasks of job"),
    option("--requests", "-R", default=_RESOURCES, help="the resource request of the task"),
    option("--scheduler", "-S", default="volcano", help="the scheduler for this job"),
)
def run_job(
    client: "BlockingClient", *, filename: str, name: str, namespace: str, **flags: Any
) -> None:
    """Create a job from a file or from flags."""
    if not name and not filename:
        raise ConfigError("job name cannot be left blank")
    # Flags that say something wrong are refused beside a file too; usual ones need no look.
    if not (filename and _is_default("limits") and _is_default("requests")):
        built = _build(name, namespace, flags)
    if filename:
        from volcano.cli.documents import read_manifest

        built = read_manifest(filename)
        _check_is_job(built, filename)
        if _is_default("namespace"):
            namespace = namespace_of(built) or namespace
    created = client.create(kinds.JOB, built, namespace)
    click.echo(f"run job {name_of(created)} successfully")


def _build(name: str, namespace: str, flags: Mapping[str, Any]) -> JsonObject:
    from volcano.cli.job_build import JobFlags, build_job

    return build_job(
        JobFlags(
            name=name,
            namespace=namespace,
            image=flags["image"],
            min_available=flags["min"],
            replicas=flags["replicas"],
            requests=flags["requests"],
            limits=flags["limits"],
            scheduler=flags["scheduler"],
        )
    )


def _is_default(parameter: str) -> bool:
    """Whether the user said nothing about a flag."""
    source = click.get_current_context().get_parameter_source(parameter)
    return source is click.core.ParameterSource.DEFAULT


def _check_is_job(manifest: JsonObject, filename: str) -> None:
    found = (manifest.get("apiVersion"), manifest.get("kind"))
    if found != (kinds.JOB.api_version, kinds.JOB.kind):
        raise ConfigError(
            f"{filename}: holds {found[1]} of {found[0]}, not {kinds.JOB.kind} of"
            f" {kinds.JOB.api_version}"
        )
    if not isinstance(manifest.get("metadata"), dict):
        raise ConfigError(f"{filename}: metadata is missing; it names the job")


@leaf(
    job,
    "list",
    "list job information",
    option("--all-namespaces", is_flag=True, help="list jobs in all namespaces"),
    _namespace(),
    option("--queue", "-q", help="list job with specified queue name"),
    option("--scheduler", "-S", help="list job with specified scheduler name"),
    option("--selector", help="fuzzy matching jobName"),
    output_option("json", "yaml", "wide"),
)
def list_jobs(
    client: "BlockingClient",
    *,
    all_namespaces: bool,
    namespace: str,
    output: str | None,
    words: tuple[str, ...],
    **filters: str,
) -> None:
    """Print the table of jobs, or the List object."""
    del words
    from volcano.cli import documents, tables
    from volcano.cli.job_table import job_table, matching

    found = client.list(kinds.JOB, "" if all_namespaces else namespace)
    jobs = matching(found["items"], **filters)
    if output in ("json", "yaml"):
        documents.show({**found, "items": jobs}, output)
        return
    if not jobs:
        click.echo(tables.NOTHING)
        return
    table = job_table(jobs, namespaces=all_namespaces, wide=output == "wide", now=time.time())
    tables.show(*table)


@leaf(job, "view", "show job information", _namespace(), _name(), output_option("json", "yaml"))
def view_job(
    client: "BlockingClient",
    *,
    namespace: str,
    name: str,
    output: str | None,
    words: tuple[str, ...],
) -> None:
    """Print all of a job, its events, and why it waits."""
    found = client.get(
        kinds.JOB,
        chosen(
            name,
            words,
            "job name (specified by --name or -N) is mandatory to view a particular job",
        ),
        namespace,
    )
    if output:
        from volcano.cli import documents

        documents.show(documents.without_managed_fields(found), output)
        return
    from volcano.cli.job_view import job_text

    click.echo(job_text(found, _surroundings(client, found), time.time()), nl=False)


def _surroundings(client: "BlockingClient", found: JsonObject) -> Any:
    """Events, PodGroup and pods of a job; what may not be read becomes a remark."""
    from volcano.cli.job_view import Surroundings

    namespace, name = namespace_of(found), name_of(found)
    trouble: list[str] = []
    try:
        events = client.list(kinds.EVENT, namespace)["items"]
    except ApiError as error:
        click.echo(f"Failed to list events: {error.public}", err=True)
        events = []
    group = None
    for group_name in (f"{name}-{uid_of(found)}", name):
        try:
            group = client.get(kinds.POD_GROUP, group_name, namespace)
            break
        except ApiError as error:
            if error.reason != "NotFound":
                trouble.append(f"PodGroup cannot be read: {error.public}")
                break
    try:
        pods = client.list(kinds.POD, namespace, label_selector=f"{JOB_LABEL}={name}")["items"]
    except ApiError as error:
        trouble.append(f"pods cannot be read: {error.public}")
        pods = []
    return Surroundings(events, group, pods, trouble)


def _command(action: str, verb: str) -> Handler:
    def handler(
        client: "BlockingClient", *, namespace: str, name: str, words: tuple[str, ...]
    ) -> None:
        from volcano.cli.command_objects import command_for

        wanted = chosen(name, words, f"job name is mandatory to {verb} a particular job")
        target = client.get(kinds.JOB, wanted, namespace)
        client.create(kinds.COMMAND, command_for(kinds.JOB, target, action), namespace)
        click.echo(f"{verb} job {wanted} successfully")

    return handler


leaf(job, "suspend", "abort a job", _namespace(), _name())(_command("AbortJob", "suspend"))
leaf(job, "resume", "resume a job", _namespace(), _name())(_command("ResumeJob", "resume"))


@leaf(job, "delete", "delete a job", _namespace(), _name())
def delete_job(
    client: "BlockingClient", *, namespace: str, name: str, words: tuple[str, ...]
) -> None:
    """Delete a job with the server's default options."""
    wanted = chosen(name, words, "job name is mandatory to delete a particular job")
    client.delete(kinds.JOB, wanted, namespace)
    click.echo(f"delete job {wanted} successfully")


@leaf(
    job,
    "logs",
    "print the logs of a job: NAME [TASK]",
    _namespace(),
    _name(),
    option("--task", "-t", help="only pods of this task"),
    option("--container", "-c", help="only this container"),
    option("--follow", "-f", is_flag=True, help="wait for pods and print until the job has ended"),
)
def job_logs(
    client: "BlockingClient",
    *,
    namespace: str,
    name: str,
    task: str,
    container: str,
    follow: bool,
    words: tuple[str, ...],
) -> None:
    """Print the logs of a job's pods, each line with its pod where there are several."""
    from volcano.cli.logs import JobLogs, LogRequest

    rest = words
    if not name and rest:
        name, rest = rest[0], rest[1:]
    wanted = chosen(name, (), "job name is mandatory to print the logs of a particular job")
    request = LogRequest(namespace, wanted, task or (rest[0] if rest else ""), container)
    logs = JobLogs(request, client, lambda: connect_like(client), sys.stdout.buffer)
    if follow:
        logs.follow()
    else:
        logs.print_once()


def connect_like(client: "BlockingClient") -> "BlockingClient":
    """Another connection to the same server, for another thread."""
    from volcano.client.blocking import BlockingClient

    return BlockingClient(client.config)
