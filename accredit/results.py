"""What every result of `explain` has, whatever was explained: one vocabulary."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from accredit.checks import needs, shown
from accredit.checks.files import check_writable, put
from accredit.checks.suggestions import did_you_mean
from accredit.core.display import Drawn, drawings
from accredit.errors import InvalidInput
from accredit.methods import find

if TYPE_CHECKING:
    import pandas
    import shap

    from accredit.core import Attribution

NAMED = 12  # names that a message lists


class Result(Drawn):
    """What some methods say about one question: `Explanation` (texts, pictures, answers) and `TableExplanation` (rows).

    | | |
    |---|---|
    | `methods`, `"shapley" in result`, `result["shapley"]`, `items()` | the methods, and what each of them says |
    | `outputs`, `target`, `of(output)` | the outputs that were explained, the one shown first, the same about another |
    | `top(count)` | the players that matter most, as an `Attribution` |
    | `show()`, `plot.bar()`, `to_html(path)` | to be looked at |
    | `to_json()`, `from_json(text)`, `to_pandas()`, `to_shap()`, `log_to_mlflow()` | in and out |

    Where no method is named, the first one that answered is meant. `in` asks for methods; iteration goes over the
    methods of an `Explanation` and over the rows of a `TableExplanation`, and `len` counts what iteration gives.

    >>> from accredit import explain
    >>> words = explain("A gripping film.", methods=["loo", "banzhaf"])
    >>> rows = explain([[3.0, 4.0]], lambda x: x @ [2.0, 1.0], background=[[1.0, 1.0]], methods=["loo", "banzhaf"])
    >>> [(result.methods, "loo" in result, result.top(1).players) for result in (words, rows)]
    [(('leave-one-out', 'banzhaf'), True, ('gripping',)), (('leave-one-out', 'banzhaf'), True, ('x0',))]
    """

    if TYPE_CHECKING:  # fields or properties of each kind

        @property
        def methods(self) -> tuple[str, ...]: ...
        @property
        def outputs(self) -> tuple[str, ...]: ...
        @property
        def target(self) -> str: ...
        def of(self, output: str) -> Result: ...
        def top(self, count: int) -> Attribution: ...
        def to_pandas(self) -> pandas.DataFrame: ...
        def to_shap(self) -> shap.Explanation: ...
        def to_plain(self) -> dict[str, Any]: ...
        def _answer(self) -> tuple[str, ...]: ...
        def _by_method(self, name: str) -> Any: ...

    if not TYPE_CHECKING:  # else every name would pass the type checker

        def __getattr__(self, name: str) -> Any:
            """Only asked for what is not there: a figure is a method of `plot`."""
            if (figure := name.removeprefix("plot_")) != name and hasattr(drawings().plots_of(self), figure):
                said = f"{type(self).__name__} has no {name!r}; it is .plot.{figure}() here"
                raise AttributeError(said, name=name, obj=self)
            super().__getattr__(name)

    # Methods

    def __contains__(self, method: object) -> bool:
        """Did this method answer? By its name or an alias."""
        return isinstance(method, str) and usual_name(method, self.methods) in self._answer()

    def items(self) -> Iterator[tuple[str, Any]]:
        """Every method that answered, in the order asked, and what it says."""
        return ((name, self._by_method(name)) for name in self._answer())

    def by_method(self, method: str | None = None) -> Any:
        """What one method says, as `result[method]`; of the first that answered where none is named."""
        return self._by_method(self._first_method() if method is None else self._method_named(method))

    def _method_named(self, method: object) -> str:
        """The usual name of a method that answered, from its name or an alias; or an error that lists those that did."""
        name = usual_name(method, self.methods) if isinstance(method, str) else ""
        if name in self._answer():
            return name
        raise InvalidInput(self._no_method(method), argument="method", code="unknown")

    def _no_method(self, method: object) -> str:
        there = self._answer()
        return f"method {shown(method)} did not run; there are {read_list(there)}{did_you_mean(method, there)}"

    def _first_method(self) -> str:
        """The method that is meant where none is named."""
        if not self._answer():
            raise InvalidInput("no method answered; see .refused for the reasons", argument="method", code="missing")
        return self._answer()[0]

    # Outputs

    def place(self, output: str | None = None) -> int:
        """The position of an output by name; of the target when None."""
        name = self.target if output is None else output
        if not isinstance(name, str) or name not in self.outputs:
            near = did_you_mean(name, self.outputs)
            raise InvalidInput(
                f"output {shown(name)} was not explained; write one of {read_list(self.outputs)}{near}",
                argument="output",
                code="unknown",
            )
        return self.outputs.index(name)

    # To be looked at

    @property
    def plot(self) -> Any:
        """Figures with matplotlib: `result.plot.bar()` and others; each takes Axes, or makes them, and returns them."""
        return drawings().plots_of(self)

    @overload
    def to_html(self) -> str: ...
    @overload
    def to_html(self, path: str | Path) -> None: ...
    def to_html(self, path: str | Path | None = None) -> str | None:
        """One self-contained page, without scripts from elsewhere and without requests: written to `path`, or returned."""
        page: str = drawings().to_page(self)
        if path is None:
            return page
        put(check_writable(path), page.encode())
        return None

    def log_to_mlflow(self, name: str = "explanation") -> None:
        """Log `name`.html, `name`.json and the settings, as parameters `name.…`, to the active run of MLflow; where there is
        none, MLflow begins one."""
        with needs("mlflow", "logging a result"):
            import mlflow
        plain = self.to_plain()
        said = {**plain, **plain.get("provenance", {})}
        mlflow.log_params(
            {f"{name}.{key}": one for key, one in said.items() if isinstance(one, str | int | float) and one != ""}
        )
        mlflow.log_text(self.to_json(), f"{name}.json")
        mlflow.log_text(self.to_html(), f"{name}.html")

    # In and out

    def to_json(self) -> str:
        """Everything, as JSON; `from_json` gives back an equal result to the last bit."""
        return json.dumps(self.to_plain(), ensure_ascii=False)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.to_plain() == other.to_plain()  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]


def usual_name(method: str, known: Sequence[str]) -> str:
    """A method's name in its usual spelling; as it is where it is already known, or nobody knows it."""
    if method not in known:
        with suppress(InvalidInput):
            return find(method, "explain").name
    return method


def read_list(names: Sequence[str]) -> str:
    """Names for a message, the first few of many.

    >>> read_list(("yes", "no")), read_list([f"x{k}" for k in range(14)])[-14:]
    ('yes, no', 'x11 and 2 more')
    """
    more = f" and {len(names) - NAMED} more" * (len(names) > NAMED)
    return ", ".join(names[:NAMED]) + more
