"""How every benchmark ends: a table for people, then one line of JSON with the machine's facts."""

import importlib.metadata
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path


def machine() -> dict[str, str | int | float]:
    """What the figures were measured on."""
    cpu_info, memory_info = Path("/proc/cpuinfo"), Path("/proc/meminfo")
    models = [
        line.split(":", 1)[1].strip()
        for line in (cpu_info.read_text().splitlines() if cpu_info.exists() else ())
        if line.startswith("model name")
    ]
    total = memory_info.read_text().split(maxsplit=2)[1] if memory_info.exists() else "0"
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mb": int(total) // 1024,
        "system": platform.system() + " " + platform.release(),
        "load_1m": round(os.getloadavg()[0], 2),
    }


def versions(*distributions: str) -> dict[str, str]:
    """Python's version, ours, and those of some distributions."""
    return {"python": platform.python_version()} | {
        name: importlib.metadata.version(name) for name in ("pyvolcano", *distributions)
    }


def finish(
    bench: str,
    figures: Mapping[str, float],
    *,
    limits: Mapping[str, float] | None = None,
    distributions: tuple[str, ...] = (),
) -> None:
    """Print the table and the line. `limits` are the largest values that are fine."""
    width = max(len(name) for name in figures)
    for name, value in figures.items():
        limit = (limits or {}).get(name)
        verdict = "" if limit is None else f"  (limit {limit:g}: {_word(value <= limit)})"
        print(f"  {name:<{width}}  {value:>12.4f}{verdict}")
    print(
        json.dumps(
            {
                "bench": bench,
                "machine": machine(),
                "versions": versions(*distributions),
                "figures": dict(figures),
            }
        )
    )


def _word(good: bool) -> str:  # noqa: FBT001  # the one thing it says
    return "met" if good else "MISSED"
