"""`vcctl`: the command line of the Volcano project, for any cluster (spec cli).

Only this file and the group asked for are imported, so that a call starts quickly.
"""

import os
import sys

import click

from volcano.cli.commands import Group, LeafCommand, commands_first, run

_SHELLS = ("bash", "zsh", "fish")

_BOOLEANS = frozenset({"-h", "--help", "--all-namespaces", "--follow"})

vcctl = Group(
    name="vcctl",
    lazy={"job": "volcano.cli.job:job", "queue": "volcano.cli.queue:queue"},
    summaries={
        "completion": "print the completion script of a shell: bash, zsh or fish",
        "help": "Help about any command",
        "job": "vcctl command line operation job",
        "queue": "Queue Operations",
        "version": "Print the version information",
    },
)


def version_lines() -> list[str]:
    """The six lines of `version`; build facts are those of the wheel."""
    import platform

    import volcano

    return [
        "API Version: v1alpha1",
        f"Version: {volcano.__version__}",
        "Git SHA: Not provided.",
        "Built At: Not provided.",
        f"Python Version: {platform.python_version()}",
        f"Python OS/Arch: {platform.system().lower()}/{platform.machine()}",
    ]


def _version(words: tuple[str, ...]) -> None:
    del words
    click.echo("\n".join(version_lines()))


def _help(words: tuple[str, ...]) -> None:
    """Help of the command that the words name."""
    root = click.get_current_context().find_root()
    context, command = root, root.command
    for word in words:
        found = command.get_command(context, word) if isinstance(command, Group) else None
        if found is None:
            click.echo(f"Unknown help topic [`{' '.join(words)}`]", err=True)
            click.echo(root.command.get_help(root), err=True)
            return
        context = click.Context(found, parent=context, info_name=word)
        command = found
    click.echo(command.get_help(context))


def completion_script(root: click.Command, program: str, shell: str) -> str:
    """What to put into the shell's start-up file."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, shell
    variable = f"_{program.upper().replace('-', '_')}_COMPLETE"
    return kind(root, {}, program, variable).source()


def completion_command(root: click.Command, program: str, *, log_flags: bool = True) -> LeafCommand:
    """The `completion` command of a program."""

    def callback(words: tuple[str, ...]) -> None:
        shell = words[0] if words else os.path.basename(os.environ.get("SHELL", ""))  # noqa: PTH119 - a name, not a file
        if shell not in _SHELLS:
            raise click.UsageError(f"unknown shell {shell!r}: choose {', '.join(_SHELLS)}")
        click.echo(completion_script(root, program, shell))

    return LeafCommand(
        name="completion",
        help=f'print the completion script of a shell: eval "$({program} completion bash)"',
        callback=callback,
        log_flags=log_flags,
    )


vcctl.add_command(
    LeafCommand(name="version", help="Print the version information", callback=_version)
)
vcctl.add_command(LeafCommand(name="help", help="Help about any command", callback=_help))
vcctl.add_command(completion_command(vcctl, "vcctl"))


def main() -> int:
    """Run the program to its exit code."""
    return run(vcctl, commands_first(sys.argv[1:], 2, _BOOLEANS), "vcctl")
