"""What can go wrong, by kind. Every message names the argument, the value seen and the call that works."""

from __future__ import annotations

import re
from typing import ClassVar, Literal, get_args

Code = Literal[
    "",  # the sentence alone says it
    "ambiguous",  # it can be read in more than one way
    "conflict",  # two arguments do not fit one another
    "duplicate",  # the same thing is given twice
    "empty",  # there is nothing in it
    "failed",  # it ran, and ended with an error of its own
    "format",  # it is of a format that this version does not read
    "misplaced",  # it belongs to another kind of question or method
    "missing",  # it is needed and was not given, or is not there
    "not-converged",  # a solver did not reach its tolerance
    "not-finite",  # it holds NaN or infinity
    "not-fitted",  # it must be trained or fitted first
    "range",  # it is too small or too large
    "refuted",  # a claim about it does not hold
    "shape",  # it has the wrong size or number of entries
    "too-many",  # there are more than can be computed
    "type",  # it is another kind of thing than is needed
    "unavailable",  # a library, a process or a service that it needs cannot be had here
    "undefined",  # there is no such number here: nothing to compare, to rank or to learn from
    "unknown",  # it is not one of the names that are known
    "unreadable",  # it cannot be read, or is damaged
    "unsafe",  # it could run code of its own when it is read
    "unsupported",  # it is right in itself, and this cannot do it
    "unwritable",  # it cannot be written
]
CODES: frozenset[str] = frozenset(get_args(Code))


class AccreditError(Exception):
    """Base of every error that accredit raises on purpose.

    >>> from accredit import TableGame
    >>> try:
    ...     TableGame(("alice", "bob"), [0, 5, 3])
    ... except AccreditError as error:
    ...     print(type(error).__name__)
    InvalidInput
    """

    usual: ClassVar[Code] = ""  # the code of a kind of error that always means the same

    def __init__(self, *said: object, argument: str = "", code: Code = "") -> None:
        super().__init__(*said)
        if code not in CODES:
            raise ValueError(f"code is {code!r}, which is not in accredit.errors.Code: {', '.join(sorted(CODES))}")
        self.argument = _argument(argument)  # what is wrong, as Python spells it; the command and the page have their own names
        self.code: Code = code or self.usual  # what is wrong with it in a word or two, the same however the sentence is worded


def _argument(name: str) -> str:
    """The argument that a name belongs to: a part of one is that one, and a description is none.

    >>> [_argument(name) for name in ("budget", "groups['a']", "picture.runs", "black_box's answers", "the path")]
    ['budget', 'groups', 'picture', 'black_box', 'path']
    >>> _argument("rows of a table")
    ''
    """
    found = re.fullmatch(r"(?:the )?([^\W\d]\w*)(?:(?:[\[.]|'s ).*)?", name, re.DOTALL)
    return found[1] if found else ""


class InvalidInput(AccreditError, ValueError):
    """An argument cannot be used as it is.

    >>> from accredit import TableGame
    >>> TableGame(("alice", "alice"), [0, 5, 3, 10])
    Traceback (most recent call last):
        ...
    accredit.errors.InvalidInput: players holds 'alice' twice; names must differ, for example 'alice' and ...
    """


class TooManyPlayers(InvalidInput):
    """An exact computation would need more payoffs than fit.

    >>> from accredit import FunctionGame, shapley
    >>> from accredit.values import Exact
    >>> shapley(FunctionGame(range(40), lambda coalitions: coalitions.sum(axis=1)), Exact())
    Traceback (most recent call last):
        ...
    accredit.errors.TooManyPlayers: exact values of 40 players need 2^40 payoffs; the limit is 22 players. ...
    """

    usual = "too-many"


class TooManyOutputs(InvalidInput):
    """Payoffs in every output would need more memory than there is.

    >>> from accredit import TableGames
    >>> TableGames(range(20), range(100_000), [])
    Traceback (most recent call last):
        ...
    accredit.errors.TooManyOutputs: 1,048,576 coalitions in 100,000 outputs are 781.2 GB of payoffs; the limit ...
    """

    usual = "too-many"


class BadPayoff(AccreditError, ValueError):
    """A game returned a payoff that is not a finite number, or not one per coalition.

    >>> from accredit import FunctionGame, shapley
    >>> shapley(FunctionGame("ab", lambda coalitions: coalitions.sum(axis=1) * float("nan")))
    Traceback (most recent call last):
        ...
    accredit.errors.BadPayoff: payoff of coalition {} is nan; every payoff must be a finite number
    """


class NotConverged(AccreditError, ArithmeticError):
    """A solver did not reach its tolerance; it returns no numbers rather than wrong ones.

    >>> from accredit.influence import ConjugateGradients, Softmax, influence
    >>> from accredit.valuation import split
    >>> data = split([[-1.0], [1.0], [2.0], [1.5]], [0, 1, 1, 0], [[0.5]], [1])
    >>> influence(Softmax(data, weight_decay=0.1), ConjugateGradients(steps=1))
    Traceback (most recent call last):
        ...
    accredit.errors.NotConverged: conjugate gradients left a relative residual of 0.45 after 1 steps (wanted ...
    """

    usual = "not-converged"


class MissingExtra(AccreditError, ImportError):
    """An optional library is needed for this call.

    >>> str(MissingExtra("matplotlib", "plot", "a figure"))
    "a figure needs matplotlib, which is not installed: pip install 'accredit[plot]'"
    """

    usual = "unavailable"

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}, which is not installed: pip install 'accredit[{extra}]'")


class BrokenLibrary(AccreditError, ImportError):
    """An optional library is installed, and fails to load.

    >>> try:
    ...     raise BrokenLibrary("lightgbm is installed, and fails to load: libgomp.so.1 is missing")
    ... except ImportError as error:  # as for a library that is not there
    ...     print(error)
    lightgbm is installed, and fails to load: libgomp.so.1 is missing
    """

    usual = "unavailable"
