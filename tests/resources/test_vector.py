"""Sums of amounts on numbered axes."""

import pytest

from volcano.resources.vector import CPU, MEMORY, PODS, add_to


@pytest.mark.parametrize(
    ("sums", "amounts", "times", "wanted"),
    [
        pytest.param({}, [(CPU, 100)], 1, {CPU: 100}, id="a new axis"),
        pytest.param({CPU: 100}, [(CPU, 50), (PODS, 1)], 3, {CPU: 250, PODS: 3}, id="three times"),
        pytest.param({CPU: 100}, [(CPU, 100)], -1, {CPU: 0}, id="taken away"),
        pytest.param({MEMORY: 1}, [], 2, {MEMORY: 1}, id="nothing"),
        pytest.param({}, [(MEMORY, 2**60 + 1)], 1, {MEMORY: 2**60 + 1}, id="exact"),
    ],
)
def test_add_to(
    sums: dict[int, int], amounts: list[tuple[int, int]], times: int, wanted: dict[int, int]
) -> None:
    add_to(sums, amounts, times)
    assert sums == wanted
