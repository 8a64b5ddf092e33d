"""The console scripts: run a program so that a call costs little beyond what it does.

A command line lives for a fraction of a second, most of which Python takes to load modules and to
take them down again. So the collector rests, modules that others import and hardly use are loaded
at their first use, and `vcctl` leaves without taking down what the system frees anyway.
"""

import gc
import os
import sys
from importlib.util import find_spec, module_from_spec
from typing import Any, NoReturn

from volcano.base.limits import COMMAND_COLLECTOR_THRESHOLD

_RARELY_USED = ("inspect", "ipaddress", "ntpath", "selectors")
"""Standard modules that click, urllib, pathlib and socket import for corners we do not enter."""


def vcctl() -> NoReturn:
    """Run `vcctl`."""
    prepare()
    from volcano.cli.vcctl import main

    code = main()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            code = code or 1  # whoever read the output is gone
    # No handler waits for the interpreter's end: files and connections are closed by then.
    os._exit(code)


def volcano() -> None:
    """Run `volcano`."""
    prepare()
    from volcano.cli.main import main

    main()


def prepare() -> None:
    """Set the interpreter up for a short life; before anything else is imported."""
    gc.set_threshold(COMMAND_COLLECTOR_THRESHOLD)
    for name in _RARELY_USED:
        load_at_first_use(name)


def load_at_first_use(name: str) -> None:
    """Let `import name` give a module that runs its code when something is first asked of it.

    As `importlib.util.LazyLoader`, which in Python 3.11 already loads at the second import.
    """
    spec = None if name in sys.modules else find_spec(name)
    if spec is None or spec.loader is None:
        return
    module, loader = module_from_spec(spec), spec.loader

    def load(attribute: str) -> Any:
        loader.exec_module(module)
        if vars(module).get("__getattr__") is load:
            del vars(module)["__getattr__"]
        return getattr(module, attribute)

    vars(module)["__getattr__"] = load
    sys.modules[name] = module
