"""Which output is explained: a label by name, an index, or the largest."""

from __future__ import annotations

from accredit.checks import whole_number
from accredit.core import FloatArray
from accredit.errors import InvalidInput


def choose_output(target: str | int | None, outputs: FloatArray, labels: tuple[str, ...]) -> int:
    """The explained output: by name, by index, or the largest of `outputs` when None.

    >>> import numpy as np
    >>> choose_output("POSITIVE", np.array([0.1, 0.9]), ("NEGATIVE", "POSITIVE"))
    1
    """
    if target is None:
        return int(outputs.argmax())
    if isinstance(target, str):
        return label_index(target, labels)
    return check_index(target, len(outputs))


def check_index(target: object, outputs: int) -> int:
    """An output index, or an error that says which there are."""
    return whole_number(target, "target", 0, outputs - 1)


def label_index(name: str, labels: tuple[str, ...]) -> int:
    """The position of a label by its name, else by its name in any case, else as a written index."""
    if labels.count(name) == 1:
        return labels.index(name)
    folded = [i for i, label in enumerate(labels) if label.casefold() == name.casefold()]
    if len(folded) == 1:
        return folded[0]
    if name.isdecimal() and int(name) < len(labels):
        return int(name)
    some = ", ".join(labels[:12]) + (", …" if len(labels) > 12 else "")
    if len(folded) > 1:
        raise InvalidInput(
            f"target {name!r} is the name of {len(folded)} outputs; give an index: {folded}",
            argument="target",
            code="duplicate",
        )
    raise InvalidInput(
        f"target {name!r} is not a label of this model; its labels are {some}", argument="target", code="unknown"
    )
