"""Messages of the library in the words of the place where they are read: options in the command, fields on the page.

The library speaks of `most_background` and says to write `budget=100`. Which argument an error is about is a record that it
carries; what it says to write has the form of a Python argument. A place gives its own names for both, and nothing hangs on
how a sentence is worded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

VALUE = r"""'[^']*'|"[^"]*"|\[[^\]]*\]|\([^)]*\)|[^\s,;)]+"""
ABOUT = r"(?= (?:is|are|must|has|holds|needs|names|belongs)\b)"  # what follows the argument that a message begins with
OPEN = ("True", "…", "COLUMN")  # values that stand for what the reader chooses


def in_words_of(names: Mapping[str, str], write: Callable[[str, str], str], message: str, argument: str = "") -> str:
    """The message with the names of a place instead of arguments: the one that it is about, with which it begins, and those
    that it says to write, as `write` makes them of name and value. A word further on may be data, a column that happens to be
    called "text".

    >>> in_words_of({"budget": "Trainings to spend"}, as_field, "budget is 0; write budget=100", "budget")
    'Trainings to spend is 0; write “Trainings to spend: 100”'
    """
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    about = rf"{re.escape(argument)}(?![\w=-])" if argument in names else rf"(?:{known}){ABOUT}"
    message = re.sub(rf"^{about}", lambda found: names[found[0]], message)
    wanted = rf"(?<![\w'\"/-])(?<!\w\()({known})=({VALUE})"  # not inside a call
    return re.sub(wanted, lambda found: write(names[found[1]], found[2]), message)


def as_option(option: str, value: str) -> str:
    """An option with its value, as it is typed.

    >>> as_option("--methods", "('shapley',)"), as_option("--target", "'very good'"), as_option("--cut", "True")
    ('--methods shapley', "--target 'very good'", '--cut')
    """
    if value.strip("[]") in ("True", "…"):
        return option
    if value[0] in "[(":
        parts = [part.strip().strip("'\"") for part in value[1:-1].split(",")]
        return f"{option} {','.join(filter(None, parts))}"
    return f"{option} {value if ' ' in value else value.strip(chr(39) + chr(34))}"


def as_field(label: str, value: str) -> str:
    """A field of a form with its value, as it is chosen.

    >>> as_field("Its kind", "'class'"), as_field("Column of texts", "COLUMN")
    ('“Its kind: class”', '“Column of texts”')
    """
    return f"“{label}”" if value in OPEN else f"“{label}: {value.strip(chr(39) + chr(34))}”"
