"""Results compared as far as arithmetic allows: everything the same, and numbers within what rounding may have moved."""

from __future__ import annotations

from typing import Any

from accredit.core.rounding import SINGLE, blur


def assert_same_but_for_rounding(one: Any, other: Any, rounding: float, where: str = "") -> None:
    """Two pieces of JSON that say the same: keys, lengths, words and whole numbers alike; other numbers within `rounding`, or
    within what single precision blurs of themselves."""
    if isinstance(one, dict) and isinstance(other, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_same_but_for_rounding(one[key], other[key], rounding, f"{where}.{key}")
    elif isinstance(one, list) and isinstance(other, list):
        assert len(one) == len(other), where
        for place, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same_but_for_rounding(a, b, rounding, f"{where}[{place}]")
    elif isinstance(one, float) and isinstance(other, float):
        assert abs(one - other) <= max(rounding, blur(one, SINGLE)), f"{where}: {one!r} and {other!r}"
    else:
        assert one == other, where
