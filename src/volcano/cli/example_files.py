"""Where the example job is: beside the package in a wheel, in `examples/` of a source checkout."""

from pathlib import Path

import volcano
from volcano.base.errors import ConfigError


def examples_dir() -> Path:
    """The folder with `example-job.yaml` and `example-job/`.

    Raises:
        ConfigError: this installation has no examples.
    """
    package = Path(volcano.__file__).resolve().parent
    for folder in (package / "examples", package.parents[1] / "examples"):
        if (folder / "example-job.yaml").is_file():
            return folder
    raise ConfigError(f"the examples are missing beside {package}; install the package again")


def example_job() -> Path:
    """The manifest of the example job."""
    return examples_dir() / "example-job.yaml"


def example_scripts() -> Path:
    """The folder in which the example's containers run: what its image would hold."""
    return examples_dir() / "example-job"
