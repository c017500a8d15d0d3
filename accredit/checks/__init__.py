"""What may come in: numbers, arrays, texts, JSON, files, arguments. What cannot be taken as it is, is refused by name."""

from accredit.checks.lazy import needs
from accredit.checks.numbers import (
    BoolArray,
    FloatArray,
    IntArray,
    as_array,
    check_seed,
    check_text,
    optional_whole,
    real_number,
    real_numbers,
    shown,
    whole_number,
)

__all__ = [
    "BoolArray",
    "FloatArray",
    "IntArray",
    "as_array",
    "check_seed",
    "check_text",
    "needs",
    "optional_whole",
    "real_number",
    "real_numbers",
    "shown",
    "whole_number",
]
