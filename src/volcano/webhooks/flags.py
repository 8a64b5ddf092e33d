"""Arguments of job plugins, written like command-line flags: `--master=x`, `-master x`."""

from collections.abc import Collection, Sequence


def flag_value(arguments: Sequence[str], name: str, default: str, known: Collection[str]) -> str:
    """The value of one flag.

    Reading stops at the first argument that is no flag, or one that is not in `known`: what was
    read until then counts.
    """
    value = default
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        flag = argument.removeprefix("-").removeprefix("-")
        if flag == argument:
            break
        key, equals, text = flag.partition("=")
        if key not in known:
            break
        if not equals:
            if not rest:
                break
            text = rest.pop(0)
        if key == name:
            value = text
    return value
