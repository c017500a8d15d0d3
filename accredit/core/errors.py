"""What can go wrong, by kind. Every message names the argument, the value seen and the call that works."""

from __future__ import annotations


class AccreditError(Exception):
    """Base of every error that accredit raises on purpose."""


class InvalidInput(AccreditError, ValueError):
    """An argument cannot be used as it is."""


class TooManyPlayers(InvalidInput):
    """An exact computation would need more payoffs than fit."""


class TooManyOutputs(InvalidInput):
    """Payoffs in every output would need more memory than there is."""


class BadPayoff(AccreditError, ValueError):
    """A game returned a payoff that is not a finite number, or not one per coalition."""


class NotConverged(AccreditError, ArithmeticError):
    """A solver did not reach its tolerance; it returns no numbers rather than wrong ones."""


class MissingExtra(AccreditError, ImportError):
    """An optional library is needed for this call."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}, which is not installed: pip install 'accredit[{extra}]'")


class BrokenLibrary(AccreditError, ImportError):
    """An optional library is installed, and fails to load."""
