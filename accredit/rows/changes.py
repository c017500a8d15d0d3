"""Has a model changed since it was read? Told by what a new fit leaves behind, in microseconds and without asking the model."""

from __future__ import annotations

Attribute = tuple[str, object, int | None]  # its name, value and length
PLAIN = (str, int, float, bool, type(None))


class Fit:
    """One fit of a model, by its attributes: those of a pipeline's steps and of the best of a search included.

    A new fit makes new attributes, or longer ones; a booster that is trained on has more rounds. What a caller changes inside
    of an array does not show here.

    >>> from sklearn.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])
    >>> before = Fit(model)
    >>> before.is_of(model), before.is_of(model.fit([[0.0], [1.0]], [1.0, 4.0]))
    (True, False)
    """

    def __init__(self, model: object) -> None:
        self._seen = _attributes(model)

    def is_of(self, model: object) -> bool:
        """Is the model still the same one, with the same fit?"""
        now = _attributes(model)
        return len(now) == len(self._seen) and all(map(_same, now, self._seen))


def _attributes(model: object) -> list[Attribute]:
    """Name, value and length of every attribute."""
    found: list[Attribute] = []
    for one in _parts(model):
        found.append(("", one, _rounds(one)))
        found += [(k, v, len(v) if isinstance(v, list | dict) else None) for k, v in getattr(one, "__dict__", {}).items()]
    return found


def _parts(model: object) -> list[object]:
    inside = getattr(model, "best_estimator_", None) if hasattr(model, "fit") else None
    steps = [step for _, step in model.steps] if hasattr(model, "steps") and hasattr(model, "fit") else []
    return [model, *(part for one in ([inside] if inside is not None else steps) for part in _parts(one))]


def _rounds(model: object) -> int | None:
    """How many rounds a booster has been trained."""
    for count in ("num_boosted_rounds", "current_iteration"):
        if hasattr(model, count):
            return int(getattr(model, count)())
    return getattr(model, "tree_count_", None)


def _same(now: Attribute, before: Attribute) -> bool:
    (name, value, size), (old_name, old, old_size) = now, before
    same = value is old or (type(value) is type(old) and isinstance(value, PLAIN) and value == old)
    return same and name == old_name and size == old_size
