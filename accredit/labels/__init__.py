"""Finding wrong labels: a ranking, how many of it to believe, and what else is odd about the rows."""

from accredit.labels.find import wrong_labels
from accredit.labels.result import WrongLabels

__all__ = ["WrongLabels", "wrong_labels"]
