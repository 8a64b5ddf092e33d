"""Shape of our commands on top of click: help layout, error boundary, flags that all leaves have.

Layout, flag rules and error texts are those of spec/cli (the original is built on cobra, and
people's scripts and tests look at them). Errors go to stderr with exit code 1.
"""

import importlib
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from volcano.base.errors import ConfigError, VolcanoError

if TYPE_CHECKING:
    from volcano.client.blocking import BlockingClient

EXIT_INTERRUPTED = 130


class Int32(click.ParamType[int]):
    """A 32-bit integer, as the API's int32 fields hold."""

    name = "int32"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number, or a usage error."""
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)
        if not -(2**31) <= number < 2**31:
            self.fail(f"{value} does not fit 32 bits", param, ctx)
        return number


class Option(click.Option):
    """An option whose help is one line: click's tidying of longer ones would load `inspect`."""

    def __init__(self, names: Sequence[str], *, help: str, **settings: Any) -> None:  # noqa: A002 - click's word for it
        super().__init__(names, **settings)
        self.help = help


def option(*names: str, **settings: Any) -> Option:
    """An option; texts default to empty, as the originals do."""
    if not settings.get("is_flag") and "default" not in settings and "type" not in settings:
        settings["default"] = ""
    return Option(names, **settings)


CONNECTION_OPTIONS = (
    option("--master", "-s", help="the address of apiserver"),
    option("--kubeconfig", "-k", help="(optional) absolute path to the kubeconfig file"),
)
"""Which cluster: on every command that talks to one."""

LOGGING_OPTIONS = (
    Option(
        ["--log-flush-frequency"],
        default="5s",
        expose_value=False,
        metavar="duration",
        help="Maximum number of seconds between log flushes",
    ),
    Option(
        ["--v", "-v"],
        type=int,
        default=0,
        expose_value=False,
        metavar="Level",
        help="number for the log level verbosity",
    ),
    Option(
        ["--vmodule"],
        default="",
        expose_value=False,
        metavar="moduleSpec",
        help="comma-separated list of pattern=N settings for file-filtered logging"
        " (only works for text log format)",
    ),
)
"""Accepted everywhere for the sake of scripts; these programs do not log."""


def output_option(*formats: str) -> click.Option:
    """`-o`: another form of the output than the table or text."""
    return Option(
        ["--output", "-o"],
        type=click.Choice(formats),
        default=None,
        metavar="string",
        help=f"output format, one of {', '.join(formats)}",
    )


def completed_by(list_names: Callable[["BlockingClient", click.Context], list[str]]) -> Any:
    """Shell completion of a name by asking the cluster; silent where there is none."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        try:
            with connect(ctx.params.get("master"), ctx.params.get("kubeconfig")) as client:
                names = list_names(client, ctx)
        except VolcanoError:
            return []
        return [name for name in names if name.startswith(incomplete)]

    return complete


def connect(master: str | None, kubeconfig: str | None) -> "BlockingClient":
    """A client of the cluster that the flags, files and environment name.

    Raises:
        ConfigError: there is none; the text says what was tried.
    """
    from volcano.client.blocking import BlockingClient
    from volcano.client.config import load_config

    config = load_config(
        kubeconfig or None, environ=os.environ, home=Path.home(), master=master or ""
    )
    return BlockingClient(config, on_warning=_print_warning)


def _print_warning(text: str) -> None:
    click.echo(f"Warning: {text}", err=True)


class _Helpful(click.Command):
    """A command with `-h` and `--help`."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """The flag, made once: click compares options by identity."""
        del ctx
        if self._help_option is None:
            self._help_option = Option(
                ["-h", "--help"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_print_help,
                help="Show this message and exit.",
            )
        return self._help_option


def _print_help(ctx: click.Context, _: click.Parameter, value: object) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(ctx.get_help())
        ctx.exit()


class LeafCommand(_Helpful):
    """A command that does something: its errors become one line and exit code 1.

    Args:
        log_flags: accept the logging flags of the original.
        words: take words beside the flags, as the original does, even if to ignore them.
    """

    def __init__(self, *, log_flags: bool = True, words: bool = True, **settings: Any) -> None:
        super().__init__(**settings)
        if words:
            self.params.append(click.Argument(["words"], nargs=-1))
        if log_flags:
            self.params += LOGGING_OPTIONS

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command behind the error boundary."""
        try:
            return super().invoke(ctx)
        except VolcanoError as error:
            group = ctx.parent
            if group is None or group.parent is None:
                raise
            click.echo(f"Failed to {self.name} {group.info_name}: {error.public}", err=True)
            ctx.exit(1)

    def get_help(self, ctx: click.Context) -> str:
        """The whole help text in the original's layout."""
        usage = f"Usage:\n  {ctx.command_path} [flags]"
        return _help_page(self, ctx, [usage])


class Group(_Helpful, click.Group):
    """A command of commands, each imported when it is asked for.

    Args:
        lazy: subcommand name → `module:attribute`.
        summaries: subcommand name → help text, so that help imports nothing.
        log_flags: accept the logging flags of the original.
    """

    def __init__(
        self,
        *,
        lazy: dict[str, str] | None = None,
        summaries: dict[str, str] | None = None,
        log_flags: bool = True,
        **settings: Any,
    ) -> None:
        settings.setdefault("context_settings", {"token_normalize_func": hyphens})
        super().__init__(**settings, no_args_is_help=False)
        self._lazy = lazy or {}
        self._summaries = summaries or {}
        if log_flags:
            self.params += LOGGING_OPTIONS

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in alphabetical order."""
        return sorted({*super().list_commands(ctx), *self._lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand, imported now if need be."""
        if cmd_name in self._lazy:
            module, _, attribute = self._lazy[cmd_name].partition(":")
            command: click.Command = getattr(importlib.import_module(module), attribute)
            return command
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand, or say which names are close."""
        name = args[0]
        command = self.get_command(ctx, name)
        if command is not None:
            return name, command, args[1:]
        message = f'unknown command "{name}" for "{ctx.command_path}"'
        import difflib

        close = difflib.get_close_matches(name, self.list_commands(ctx))
        if close:
            message += "\n\nDid you mean this?\n" + "".join(f"\t{item}\n" for item in close)
        raise click.UsageError(message, ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without a subcommand print the help."""
        if not args:
            click.echo(self.get_help(ctx))
            ctx.exit(0)
        return super().parse_args(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        """The whole help text in the original's layout."""
        lines = []
        for name in self.list_commands(ctx):
            text = self._summaries.get(name)
            if text is None:
                command = self.get_command(ctx, name)
                text = (command.help or "") if command is not None else ""
            lines.append(f"  {name.ljust(11)} {text}".rstrip())
        path = ctx.command_path
        return _help_page(
            self,
            ctx,
            [f"Usage:\n  {path} [command]", "Available Commands:\n" + "\n".join(lines)],
            f'Use "{path} [command] --help" for more information about a command.',
        )


Handler = Callable[..., None]


def leaf(
    group: click.Group, name: str, text: str, *options: click.Option
) -> Callable[[Handler], Handler]:
    """Register a handler as `<group> <name>`.

    It is called with a connected client and its options by keyword, `words` being what stands
    beside the flags.
    """

    def register(handler: Handler) -> Handler:
        def callback(master: str, kubeconfig: str, **values: Any) -> None:
            with connect(master, kubeconfig) as client:
                handler(client, **values)

        params: list[click.Parameter] = [*options, *CONNECTION_OPTIONS]
        group.add_command(LeafCommand(name=name, help=text, callback=callback, params=params))
        return handler

    return register


def chosen(name: str, words: Sequence[str], complaint: str) -> str:
    """The object meant: by flag, else the first word.

    Raises:
        ConfigError: neither names one; the text is `complaint`.
    """
    found = name or (words[0] if words else "")
    if not found:
        raise ConfigError(complaint)
    return found


def hyphens(token: str) -> str:
    """Flag names may be written with underscores."""
    return token.replace("_", "-")


def _help_page(
    command: click.Command, ctx: click.Context, blocks: Sequence[str], hint: str = ""
) -> str:
    logging_names = {param.name for param in LOGGING_OPTIONS}
    own: list[click.Option] = []
    shared: list[click.Option] = []
    for param in command.get_params(ctx):
        if isinstance(param, click.Option) and not param.hidden:
            (shared if param.name in logging_names else own).append(param)
    pages = [command.help] if command.help else []
    pages += blocks
    if ctx.parent is None:
        pages.append("Flags:\n" + _flag_lines(own + shared, ctx))
    else:
        pages.append("Flags:\n" + _flag_lines(own, ctx))
        if shared:
            pages.append("Global Flags:\n" + _flag_lines(shared, ctx))
    if hint:
        pages.append(hint)
    return "\n\n".join(pages)


def _flag_lines(options: Iterable[click.Option], ctx: click.Context) -> str:
    rows = []
    for item in options:
        long = next(name for name in item.opts if name.startswith("--"))
        short = next((name for name in item.opts if not name.startswith("--")), "")
        left = f"  {short}, {long}" if short else f"      {long}"
        word = "" if item.is_flag else f" {item.metavar or _type_word(item.type)}"
        text = f"help for {ctx.info_name}" if long == "--help" else item.help or ""
        rows.append((long, left + word, text + _default_note(item)))
    rows.sort()
    width = max(len(left) for _, left, _ in rows) + 3
    return "\n".join(f"{left.ljust(width)}{text}" for _, left, text in rows)


def _type_word(kind: object) -> str:
    if isinstance(kind, Int32):
        return "int32"
    return "int" if kind is click.INT else "string"


def _default_note(item: click.Option) -> str:
    value = item.default
    if item.is_flag or not isinstance(value, str | int) or not value:
        return ""
    quoted = isinstance(value, str) and item.metavar != "duration"
    return f' (default "{value}")' if quoted else f" (default {value})"


def commands_first(arguments: Sequence[str], depth: int, booleans: frozenset[str]) -> list[str]:
    """Move the first `depth` command words before the flags: the original lets flags come first.

    Args:
        arguments: as typed, without the program's name.
        depth: how many words name the command, e.g. 2 for `job list`.
        booleans: flags that take no value; any other flag without `=` takes the next argument.
    """
    words: list[str] = []
    rest: list[str] = []
    index = 0
    while index < len(arguments) and len(words) < depth:
        argument = arguments[index]
        if argument == "--":
            break
        if not argument.startswith("-") or argument == "-":
            words.append(argument)
            index += 1
            continue
        attached = "=" in argument or (not argument.startswith("--") and len(argument) > 2)
        take = 1 if attached or hyphens(argument) in booleans else 2
        rest += arguments[index : index + take]
        index += take
    return [*words, *rest, *arguments[index:]]


def run(root: click.Command, arguments: Sequence[str], program: str) -> int:
    """Run a program's root command to its exit code; usage errors are 1, as the original's."""
    try:
        result = root.main(args=list(arguments), prog_name=program, standalone_mode=False)
    except click.UsageError as error:
        message = error.format_message()
        click.echo(f"Error: {message[0].lower()}{message[1:]}", err=True)
        return 1
    except click.ClickException as error:
        click.echo(f"Error: {error.format_message()}", err=True)
        return 1
    except VolcanoError as error:
        click.echo(f"Error: {error.public}", err=True)
        return 1
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    return result if isinstance(result, int) else 0
