"""The console scripts: run a program so that a call costs little beyond what it does.

A command line lives for a fraction of a second, most of which Python takes to load modules and to
take them down again. So the collector rests, and `vcctl` leaves without taking down what the system
frees anyway.
"""

import gc
import os
import sys
from typing import NoReturn

from volcano.base.limits import COMMAND_COLLECTOR_THRESHOLD


def vcctl() -> NoReturn:
    """Run `vcctl`."""
    gc.set_threshold(COMMAND_COLLECTOR_THRESHOLD)
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
    gc.set_threshold(COMMAND_COLLECTOR_THRESHOLD)
    from volcano.cli.main import main

    main()
