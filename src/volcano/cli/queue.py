"""`vcctl queue`: create, delete, operate, list, get (spec cli, 3).

Here `-n` is the queue's name.
"""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from volcano.api import kinds
from volcano.api.objects import JsonObject, name_of
from volcano.base.errors import ApiError, ConfigError
from volcano.cli.commands import (
    Group,
    Int32,
    chosen,
    completed_by,
    leaf,
    option,
    output_option,
)
from volcano.cli.tables import Column

if TYPE_CHECKING:
    from volcano.client.blocking import BlockingClient

queue = Group(name="queue", help="Queue Operations")

COMMAND_NAMESPACE = "default"
"""Where queue commands are created: queues have no namespace."""

_PHASES = ("Inqueue", "Pending", "Running", "Unknown", "Completed")
_COLUMNS = [
    Column("Name", 25),
    Column("Weight", 8),
    Column("State", 8),
    Column("Parent", 8),
    *(Column(phase, 8) for phase in _PHASES),
]
_ACTIONS = {"open": "OpenQueue", "close": "CloseQueue"}


def _queue_names(client: "BlockingClient", ctx: click.Context) -> list[str]:
    del ctx
    return [name_of(item) for item in client.list(kinds.QUEUE)["items"]]


def _name(default: str = "") -> click.Option:
    complete = completed_by(_queue_names)
    settings = {"default": default, "shell_complete": complete}
    return option("--name", "-n", help="the name of queue", **settings)


@leaf(
    queue,
    "create",
    "creates queue",
    _name("test"),
    option("--state", "-S", default="Open", help="the state of queue"),
    option("--weight", "-w", type=Int32(), default=1, help="the weight of the queue"),
)
def create_queue(
    client: "BlockingClient", *, name: str, state: str, weight: int, words: tuple[str, ...]
) -> None:
    """Create a queue; its state is the controller's to decide (spec cli, 3.1)."""
    del words
    body = {
        "apiVersion": kinds.QUEUE.api_version,
        "kind": kinds.QUEUE.kind,
        "metadata": {"name": name},
        "spec": {"weight": weight},
        "status": {"state": state},
    }
    created = client.create(kinds.QUEUE, body)
    click.echo(f"create queue {name_of(created)} successfully")


@leaf(queue, "delete", "delete queue", _name())
def delete_queue(client: "BlockingClient", *, name: str, words: tuple[str, ...]) -> None:
    """Delete a queue."""
    wanted = chosen(name, words, "queue name must be specified")
    client.delete(kinds.QUEUE, wanted)
    click.echo(f"delete queue {wanted} successfully")


@leaf(
    queue,
    "operate",
    "operate queue",
    _name(),
    option("--weight", "-w", type=Int32(), default=0, help="the weight of the queue"),
    option(
        "--action",
        "-a",
        help="operate action to queue, valid actions are open, close, update",
    ),
)
def operate_queue(
    client: "BlockingClient", *, name: str, weight: int, action: str, words: tuple[str, ...]
) -> None:
    """Open or close a queue, or change its weight."""
    from volcano.cli.command_objects import command_for

    wanted = chosen(name, words, "queue name must be specified")
    if action in _ACTIONS:
        target = client.get(kinds.QUEUE, wanted)
        command = command_for(kinds.QUEUE, target, _ACTIONS[action])
        client.create(kinds.COMMAND, command, COMMAND_NAMESPACE)
    elif action == "update":
        if weight == 0:
            raise ConfigError(
                f"when update queue {wanted}, weight must be specified,"
                " the value must be greater than 0"
            )
        client.patch(kinds.QUEUE, wanted, {"spec": {"weight": weight}})
    elif not action:
        raise ConfigError("action can not be null")
    else:
        raise ConfigError(f"action {action} invalid, valid actions are open, close and update")
    click.echo(f"{action} queue {wanted} successfully")


@leaf(queue, "list", "lists all the queue", output_option("json", "yaml", "wide"))
def list_queues(client: "BlockingClient", *, output: str | None, words: tuple[str, ...]) -> None:
    """Print the table of queues, or the List object."""
    del words
    found = client.list(kinds.QUEUE)
    if output in ("json", "yaml"):
        _show_document(found, output)
        return
    if not found["items"]:
        from volcano.cli import tables

        click.echo(tables.NOTHING)
        return
    try:
        groups = client.list(kinds.POD_GROUP)["items"]
    except ApiError as error:
        raise ConfigError(f"failed to list podgroups with err: {error.public}") from error
    _show_table(found["items"], groups, wide=output == "wide")


@leaf(queue, "get", "get a queue", _name(), output_option("json", "yaml", "wide"))
def get_queue(
    client: "BlockingClient", *, name: str, output: str | None, words: tuple[str, ...]
) -> None:
    """Print one queue."""
    wanted = chosen(name, words, "name is mandatory to get the particular queue details")
    found = client.get(kinds.QUEUE, wanted)
    if output in ("json", "yaml"):
        _show_document(found, output)
        return
    try:
        groups = client.list(kinds.POD_GROUP)["items"]
    except ApiError as error:
        raise ConfigError(
            f"failed to list podgroup for queue {wanted} with err: {error.public}"
        ) from error
    _show_table([found], groups, wide=output == "wide")


def _show_document(found: JsonObject, output: str) -> None:
    from volcano.cli import documents

    documents.show(found, output)


def _show_table(queues: Iterable[JsonObject], groups: Iterable[JsonObject], *, wide: bool) -> None:
    from volcano.cli import tables

    tables.show(*queue_table(queues, groups, wide=wide))


def queue_table(
    queues: Iterable[JsonObject], groups: Iterable[JsonObject], *, wide: bool = False
) -> tuple[list[Column], list[list[str]]]:
    """Columns and rows; PodGroups are counted by phase, those of unknown queues nowhere.

    Args:
        wide: with allocated and allowed amounts.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for group in groups:
        spec, status = group.get("spec") or {}, group.get("status") or {}
        counts[spec.get("queue", ""), status.get("phase", "")] += 1
    columns = list(_COLUMNS)
    if wide:
        columns[-1] = Column("Completed", 12)
        columns += [Column("Allocated", 45), Column("Capability", 30)]
    rows = []
    for item in queues:
        name, spec, status = name_of(item), item.get("spec") or {}, item.get("status") or {}
        row = [
            name,
            str(spec.get("weight", 0)),
            str(status.get("state", "")),
            str(spec.get("parent", "")),
            *(str(counts[name, phase]) for phase in _PHASES),
        ]
        if wide:
            row += [_amounts(status.get("allocated")), _amounts(spec.get("capability"))]
        rows.append(row)
    return columns, rows


def _amounts(resources: Any) -> str:
    pairs = sorted((resources or {}).items())
    return ",".join(f"{name}={amount}" for name, amount in pairs) or "<none>"
