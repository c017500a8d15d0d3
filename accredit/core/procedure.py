"""How the numbers of a result were made: which value or method, by which solver, with which settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace

from accredit.checks.json_data import Facts, made, plain_mapping
from accredit.checks.numbers import check_text, shown
from accredit.errors import InvalidInput


@dataclass(frozen=True)
class Procedure:
    """How a result was computed, enough to run it again. `str` writes it on one line; code asks its fields.

    >>> how = Procedure("shapley", "Permutations", {"orders": 500, "seed": 0})
    >>> print(how)
    shapley/Permutations(orders=500, seed=0)
    >>> how.name, how.settings["orders"], Procedure.from_plain(how.as_plain()) == how
    ('shapley', 500, True)
    >>> print(Procedure("knn-shapley", settings={"k": 5}, closed_form=True).then("summed"))
    summed, knn-shapley(k=5)
    """

    name: str  # of the value or method: "shapley", "integrated gradients"
    solver: str = ""  # what computed it, where there are several ways: "Permutations", "cubes"
    settings: Facts = field(default_factory=dict)  # plain values, by name
    closed_form: bool = False  # follows from the form of the model or of the game: no coalition had to be tried
    of: Procedure | None = None  # what the numbers were made from, where they are means, sums or ratios of others

    def __post_init__(self) -> None:
        check_text(self.name, "method")
        check_text(self.solver, "solver")
        object.__setattr__(self, "settings", plain_mapping(self.settings, "settings"))
        if not isinstance(self.closed_form, bool):
            raise InvalidInput(
                f"closed_form is {shown(self.closed_form)}; write True or False", argument="closed_form", code="type"
            )
        if self.of is not None and not isinstance(self.of, Procedure):
            raise InvalidInput(f"of is {shown(self.of)}; give a Procedure", argument="of", code="type")

    @classmethod
    def by(cls, name: str, solver: object) -> Procedure:
        """A value by a solver, with those of its settings that differ from their defaults, and the seed.

        >>> from accredit.values import Permutations
        >>> print(Procedure.by("shapley", Permutations(orders=500, seed=0)))
        shapley/Permutations(orders=500, seed=0)
        """
        given = fields(solver) if is_dataclass(solver) else ()
        settings = {
            f.name: getattr(solver, f.name)
            for f in given
            if f.name == "seed" or f.default is MISSING or getattr(solver, f.name) != f.default
        }
        return cls(name, type(solver).__name__, settings)

    def then(self, name: str, solver: str = "", **settings: object) -> Procedure:
        """What was made from these numbers afterwards: a mean, a sum, a ratio."""
        return Procedure(name, solver, settings, of=self)

    def with_settings(self, **further: object) -> Procedure:
        """The same, with further settings."""
        return replace(self, settings={**self.settings, **further})

    def __str__(self) -> str:
        said = f"{self.name}/{self.solver}" if self.solver else self.name
        inside = ", ".join(f"{name}={_written(value)}" for name, value in self.settings.items())
        if inside or self.solver[:1].isupper():  # a class is written as its call
            said += f"({inside})"
        return said if self.of is None else f"{said}, {self.of}"

    def __hash__(self) -> int:
        return hash(str(self))

    def as_plain(self) -> dict[str, object]:
        """As JSON types."""
        said = {f.name: getattr(self, f.name) for f in fields(self)}
        return said | {"of": None if self.of is None else self.of.as_plain()}

    @classmethod
    def from_plain(cls, data: object) -> Procedure:
        """From the object that `as_plain` gives."""
        if not isinstance(data, Mapping):
            raise InvalidInput(f"method is {shown(data)}; it must hold name, solver, settings, closed_form and of", code="type")
        inner = data.get("of")
        found: Procedure = made(cls, {**data, "of": None if inner is None else cls.from_plain(inner)}, "method")
        return found


def check_procedure(given: object, name: str = "method") -> Procedure:
    """A procedure, or a text that names one."""
    if isinstance(given, Procedure):
        return given
    return Procedure(check_text(given, name))


def read_procedure(data: object, *, is_line: bool) -> Procedure:
    """A procedure from JSON; results of the format before kept no more than its line."""
    if not is_line:
        return Procedure.from_plain(data)
    if not isinstance(data, str):
        raise InvalidInput(f"method is {shown(data)}; in this format it is a line of text", argument="method", code="type")
    return Procedure(data)


def _written(value: object) -> str:
    """A setting as Python writes it; a list stands for the tuple that it was."""
    return repr(tuple(value)) if isinstance(value, list) else repr(value)
