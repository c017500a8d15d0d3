"""Finding wrong labels: a probability for each, which to believe, who gave them, and what else is odd about the rows."""

from accredit.labels.find import wrong_labels
from accredit.labels.result import WrongLabels
from accredit.labels.wrong_numbers import wrong_numbers
from accredit.labels.wrong_tags import wrong_tags
from accredit.labels.wrong_votes import wrong_votes

__all__ = ["WrongLabels", "wrong_labels", "wrong_numbers", "wrong_tags", "wrong_votes"]
