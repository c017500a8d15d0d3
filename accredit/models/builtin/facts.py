"""Contexts of facts with a question whose answer, and the passages that hold it, are known: what credit can be scored on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit.checks import check_seed, whole_number
from accredit.errors import InvalidInput

NAMES = (
    "Anna",
    "Boris",
    "Clara",
    "David",
    "Emma",
    "Felix",
    "Greta",
    "Hugo",
    "Irene",
    "Jonas",
    "Karin",
    "Louis",
    "Maria",
    "Nils",
    "Olga",
    "Peter",
    "Rosa",
    "Simon",
    "Tessa",
    "Viktor",
)


@dataclass(frozen=True)
class FactKind:
    """One thing to know about a person, and the words for it."""

    verbs: tuple[str, str]  # the usual one, which answers use, and another
    between: tuple[str, ...]  # words between verb and value
    asks: tuple[str, str]  # the first word and the verb of the question
    noun: str  # "Anna has the … of Boris ."
    values: tuple[str, ...]


RELATIONS = (
    FactKind(
        ("lives", "resides"), ("in",), ("Where", "live"), "home",
        ("Rome", "Oslo", "Paris", "Lima", "Cairo", "Delhi", "Tokyo", "Quito", "Dublin", "Prague", "Athens", "Seoul"),
    ),
    FactKind(
        ("works", "serves"), ("as", "a"), ("What", "do"), "job",
        ("baker", "tailor", "painter", "doctor", "pilot", "farmer", "teacher", "lawyer", "singer", "nurse", "cook", "judge"),
    ),
    FactKind(
        ("owns", "keeps"), ("a",), ("What", "own"), "pet",
        ("cat", "dog", "parrot", "horse", "rabbit", "turtle", "goat", "canary", "hamster", "pony", "snake", "duck"),
    ),
    FactKind(
        ("speaks", "knows"), (), ("What", "speak"), "language",
        ("French", "Greek", "Hindi", "Polish", "Arabic", "Danish", "Korean", "Spanish", "Dutch", "Turkish", "Welsh", "Finnish"),
    ),
)  # fmt: skip
KINDS = ("plain", "redundant", "joint", "contradicting")
PASSAGES_AT_MOST = 16  # passages of one context


@dataclass(frozen=True)
class Facts:
    """A context, a question about it, the answer, and which passages earn it.

    `enough` lists the smallest sets of passages from which the answer follows: one set of one passage (plain), two sets
    (redundant), one set of two (joint). `against` are passages that say something else and are overruled by a later one.
    """

    kind: str
    context: tuple[str, ...]
    query: str
    answer: str
    enough: tuple[tuple[int, ...], ...]
    against: tuple[int, ...] = ()

    @property
    def truth(self) -> tuple[int, ...]:
        """Every passage that takes part in the answer."""
        return tuple(sorted({i for group in self.enough for i in group}))


def facts(kind: str = "plain", passages: int = 6, seed: int = 0) -> Facts:
    """A fresh context of so many passages.

    >>> made = facts("joint", passages=4, seed=2)
    >>> for i in made.truth: print(made.context[i])
    Emma speaks Turkish .
    Clara has the language of Emma .
    >>> made.query, made.answer
    ('What does Clara speak ?', 'Clara speaks Turkish .')
    """
    if kind not in KINDS:
        raise InvalidInput(f"kind is {kind!r}; write one of {', '.join(KINDS)}", argument="kind", code="unknown")
    least = 1 if kind == "plain" else 2
    whole_number(passages, "passages", least, PASSAGES_AT_MOST)
    rng = np.random.default_rng(check_seed(seed))
    r = int(rng.integers(len(RELATIONS)))
    who, other = (NAMES[i] for i in rng.choice(len(NAMES), 2, replace=False))
    value, wrong = (RELATIONS[r].values[i] for i in rng.choice(len(RELATIONS[r].values), 2, replace=False))
    told = {
        "plain": [says(who, r, value, int(rng.integers(2)))],
        "redundant": [says(who, r, value, 0), says(who, r, value, 1)],
        "joint": [points(who, r, other), says(other, r, value, int(rng.integers(2)))],
        "contradicting": [says(who, r, wrong, int(rng.integers(2))), says(who, r, value, int(rng.integers(2)))],
    }[kind]
    places = rng.choice(passages, len(told), replace=False)
    if kind == "contradicting":
        places = np.sort(places)  # what is said later counts
    context = _others(rng, passages, {(who, r), (other, r)})
    for place, sentence in zip(places, told, strict=True):
        context[place] = sentence
    where = [int(p) for p in places]
    enough = {
        "plain": [where],
        "redundant": [[p] for p in where],
        "joint": [sorted(where)],
        "contradicting": [where[1:]],
    }[kind]
    against = tuple(where[:1]) if kind == "contradicting" else ()
    asked = f"{RELATIONS[r].asks[0]} does {who} {RELATIONS[r].asks[1]} ?"
    return Facts(kind, tuple(context), asked, says(who, r, value, 0), tuple(tuple(e) for e in enough), against)


def says(who: str, relation: int, value: str, verb: int = 0) -> str:
    """A fact as a sentence.

    >>> says("Anna", 1, "baker")
    'Anna works as a baker .'
    """
    known = RELATIONS[relation]
    return " ".join((who, known.verbs[verb], *known.between, value, "."))


def points(who: str, relation: int, other: str) -> str:
    """A fact that says where to look: one person has what another one has."""
    return f"{who} has the {RELATIONS[relation].noun} of {other} ."


def _others(rng: np.random.Generator, count: int, taken: set[tuple[str, int]]) -> list[str]:
    """Facts about other people or other things: each person and relation at most once."""
    free = [(name, r) for name in NAMES for r in range(len(RELATIONS)) if (name, r) not in taken]
    chosen = [free[i] for i in rng.choice(len(free), count, replace=False)]
    sentences = []
    for name, r in chosen:
        if rng.random() < 0.15:
            sentences.append(points(name, r, str(rng.choice([other for other in NAMES if other != name]))))
        else:
            sentences.append(says(name, r, str(rng.choice(RELATIONS[r].values)), int(rng.integers(2))))
    return sentences
