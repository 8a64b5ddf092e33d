"""The console scripts: sets the collector before anything is imported, then runs the program.

A command line lives for a fraction of a second, a fifth of which the collector took to look again
and again at modules that are still being loaded. Long commands (`logs -f`) still collect, seldom.
"""

import gc

from volcano.base.limits import COMMAND_COLLECTOR_THRESHOLD


def vcctl() -> None:
    """Run `vcctl`."""
    gc.set_threshold(COMMAND_COLLECTOR_THRESHOLD)
    from volcano.cli.vcctl import main

    main()


def volcano() -> None:
    """Run `volcano`."""
    gc.set_threshold(COMMAND_COLLECTOR_THRESHOLD)
    from volcano.cli.main import main

    main()
