"""How simulated pods behave: rules from annotations of the pod, then from the fleet file.

    simulation.volcano.sh/duration           how long containers run; else until deleted
    simulation.volcano.sh/startup            from being bound to running (0 s)
    simulation.volcano.sh/exit-code          exit code of a run that does not fail (0)
    simulation.volcano.sh/failure-odds       share of runs that fail, 0 to 1 (0)
    simulation.volcano.sh/failure-exit-code  exit code of a failed run (1)

The fleet file gives defaults under `simulation:`, with the same names without the prefix. Times are
seconds or like 1h30m, 45s, 500ms. Whether a run fails is drawn from the pod's uid, the container
and the restart count, so a repeated simulation with the same uids has the same failures.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

PREFIX = "simulation.volcano.sh/"
KEYS = ("duration", "startup", "exit-code", "failure-odds", "failure-exit-code")
_PARTS = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_EXIT_CODE_MAX = 255


@dataclass(frozen=True, slots=True)
class Rules:
    """The behaviour of one simulated pod; times in seconds, no duration is until deleted."""

    duration: float | None = None
    startup: float = 0.0
    exit_code: int = 0
    failure_odds: float = 0.0
    failure_exit_code: int = 1

    def exit_code_of(self, uid: str, container: str, restarts: int) -> int:
        """How this run ends."""
        if not self.failure_odds:
            return self.exit_code
        digest = hashlib.blake2b(f"{uid}/{container}/{restarts}".encode(), digest_size=8).digest()
        drawn = int.from_bytes(digest, "big") / 2**64
        return self.failure_exit_code if drawn < self.failure_odds else self.exit_code


def read_rules(values: Mapping[str, str], where: str = "") -> Rules:
    """Read rules from texts by key.

    Args:
        where: put before the key in complaints.

    Raises:
        ValueError: a value is not what its key needs; names key, value and what to write.
    """
    texts = {key: values[key] for key in KEYS if key in values}
    rules: dict[str, float | int] = {}
    for key, text in texts.items():
        try:
            rules[key.replace("-", "_")] = _value(key, text)
        except ValueError as error:
            raise ValueError(f"{where}{key}: {text!r} is not {error}") from error
    return Rules(**rules)  # type: ignore[arg-type]  # _value gives the type of its key


def of_annotations(annotations: Mapping[str, str], defaults: Mapping[str, str]) -> Rules:
    """The rules of a pod: its annotations, then the defaults; ValueError as `read_rules`."""
    own = {
        key.removeprefix(PREFIX): value
        for key, value in annotations.items()
        if key.startswith(PREFIX)
    }
    return read_rules({**defaults, **own}, "annotation " + PREFIX)


def _value(key: str, text: str) -> float | int:
    if key in {"duration", "startup"}:
        return seconds_of(text)
    if key == "failure-odds":
        try:
            odds = float(text)
        except ValueError:
            odds = -1.0
        if not 0 <= odds <= 1:
            raise ValueError("a share; write a number from 0 to 1")
        return odds
    if not text.isdigit() or int(text) > _EXIT_CODE_MAX:
        raise ValueError(f"an exit code; write a whole number from 0 to {_EXIT_CODE_MAX}")
    return int(text)


def seconds_of(text: str) -> float:
    """Seconds of a text like 90, 1.5s or 1h30m.

    Raises:
        ValueError: it is no duration.
    """
    text = text.strip()
    parts = _PARTS.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    raise ValueError("a duration; write seconds, or like 1h30m, 45s, 500ms")
