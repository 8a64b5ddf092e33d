"""Quantities: read exactly, rounded up, written canonically, as Kubernetes does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano.resources.quantity import canonical, format_nano, parse_quantity


@pytest.mark.parametrize(
    ("text", "milli", "value", "written"),
    [
        pytest.param("1", 1000, 1, "1", id="whole"),
        pytest.param(4, 4000, 4, "4", id="json integer"),
        pytest.param(0.5, 500, 1, "500m", id="json number"),
        pytest.param("1500m", 1500, 2, "1500m", id="milli rounds up to two"),
        pytest.param("1000m", 1000, 1, "1", id="milli that is whole"),
        pytest.param("8Gi", 8 * 2**30 * 1000, 8 * 2**30, "8Gi", id="binary"),
        pytest.param("1.5Gi", 1536 * 2**20 * 1000, 1536 * 2**20, "1536Mi", id="binary fraction"),
        pytest.param("1024Ki", 2**20 * 1000, 2**20, "1Mi", id="binary carries"),
        pytest.param("1e3", 1_000_000, 1000, "1e3", id="exponent"),
        pytest.param("100u", 1, 1, "100u", id="micro rounds up to one milli"),
        pytest.param("0.1n", 1, 1, "1n", id="finer than nano rounds up"),
        pytest.param(".5", 500, 1, "500m", id="no leading digit"),
        pytest.param("5.", 5000, 5, "5", id="no digit after the point"),
        pytest.param("-1", -1000, -1, "-1", id="negative"),
        pytest.param("0", 0, 0, "0", id="zero"),
        pytest.param("1.5k", 1_500_000, 1500, "1500", id="decimal kilo"),
        pytest.param("2M", 2_000_000_000, 2_000_000, "2M", id="decimal mega"),
    ],
)
def test_read_and_write(text, milli, value, written):
    quantity = parse_quantity(text)
    assert (quantity.milli, quantity.value, str(quantity)) == (milli, value, written)


@pytest.mark.parametrize(
    "text", ["", "1 Gi", "Gi", "1.2.3", "1KiB", "one", "1e", "0x10", "1e99", "+-1", True]
)
def test_refused(text):
    with pytest.raises(ValueError, match="quantit"):
        parse_quantity(text)


@given(st.integers(-(2**70), 2**70), st.sampled_from(["decimal", "binary", "exponent"]))
def test_what_is_written_reads_back(nano, family):
    assert parse_quantity(format_nano(nano, family)).nano == nano


@given(st.integers(0, 2**60), st.sampled_from(["", "m", "k", "Ki", "Mi", "Gi", "e3"]))
def test_canonical_text_is_a_fixed_point(number, suffix):
    once = canonical(f"{number}{suffix}")
    assert canonical(once) == once
