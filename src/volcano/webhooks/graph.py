"""Dependencies by name: is there an order in which everything comes after what it waits for?"""

from collections.abc import Mapping, Sequence


def undefined_target(graph: Mapping[str, Sequence[str]]) -> str | None:
    """The first dependency that is no vertex of the graph."""
    for targets in graph.values():
        for target in targets:
            if target not in graph:
                return target
    return None


def order(graph: Mapping[str, Sequence[str]]) -> list[str] | None:
    """The vertices, dependencies first, or None if there is a cycle or an undefined dependency."""
    if undefined_target(graph) is not None:
        return None
    waiting = {vertex: len(set(targets)) for vertex, targets in graph.items()}
    dependents: dict[str, list[str]] = {vertex: [] for vertex in graph}
    for vertex, targets in graph.items():
        for target in dict.fromkeys(targets):
            dependents[target].append(vertex)
    ready = [vertex for vertex, count in waiting.items() if count == 0]
    ordered: list[str] = []
    while ready:
        vertex = ready.pop(0)
        ordered.append(vertex)
        for dependent in dependents[vertex]:
            waiting[dependent] -= 1
            if waiting[dependent] == 0:
                ready.append(dependent)
    return ordered if len(ordered) == len(graph) else None
