"""Entry of the server process: prepares the interpreter, then loads and runs `up`.

While modules load, the collector would look again and again at a hundred thousand new objects that
all stay; it waits until the cluster is ready (`up.settle_memory`).
"""

import gc


def main() -> None:
    """Run a cluster on this machine."""
    gc.disable()
    from volcano.apps.up import main as up

    up(prog_name="volcano up")


if __name__ == "__main__":
    main()
