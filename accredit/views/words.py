"""Methods, their results and what is known about them, in a few words: one place for words that several views say."""

from __future__ import annotations

import re
import unicodedata

import numpy as np

from accredit.core import Attribution, Coalition, Holds, Interactions
from accredit.core.plain import rounded
from accredit.views.numbers import ROUNDING, between, percent

TIED = 3  # players who are named where several share the first place
ALL = 2e-3  # share of the whole that may be missing from what is called all of it
INITIALS = {"agf": "attention × gradient", "gf": "gradient", "af": "attention", "norm": "attention × value length"}
OWN = {"attn-lrp": "AttnLRP", "gradient-shap": "GradientSHAP"}  # names that are written in one way only
PAIRS = "interactions of pairs (positive: complements, negative: substitutes)"


def title(method: str) -> str:
    """A method's name for people.

    >>> title("leave-one-out"), title("flow-l2:agf")
    ('Leave one out', 'Flow l2 (attention × gradient)')
    """
    name, _, tensor = method.partition(":")
    shown = OWN.get(name) or (name[:1].upper() + name[1:]).replace("-", " ")
    return f"{shown} ({INITIALS.get(tensor, tensor)})" if tensor else shown


def spoken(method: str) -> str:
    """How a result was computed, for people: the method, then its settings.

    >>> spoken("shapley/Exact()"), spoken("shapley/PairedOrders(orders=500, seed=0)"), spoken("rollout/residual=0.5")
    ('Shapley, exact', 'Shapley, paired orders (orders 500, seed 0)', 'Rollout, residual 0.5')
    >>> spoken("mean |credit| over 9 rows, shapley/trees")
    'mean |credit| over 9 rows, Shapley, trees'
    """
    name, slash, how = method.partition("/")
    if " " in name:
        said, comma, last = method.partition(", ")
        return f"{said}, {spoken(last)}" if comma else method
    if not slash:
        return title(name)
    kept = re.sub(r",? ?\w+=None", "", how)
    inside = re.sub(r"(\w+)\((.*)\)", lambda m: _camel(m[1]) + (f" ({m[2]})" if m[2] else ""), kept)
    return f"{title(name)}, {inside.replace('=', ' ')}" if inside else title(name)


def _camel(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def shared(result: Attribution) -> str:
    """What the method divides, in a few words."""
    return "scores; nothing is divided" if result.total is None else f"{rounded(result.total)} shared"


def leaders(result: Attribution, most: str = "earned most", least: str = "costs most", quoted: bool = False) -> str:
    """Who got most and, where somebody's credit is below zero, who least, with what is known of the error: one sentence.

    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> leaders(shapley(TableGame(("TV", "radio"), [0, 60, -20, 40])))
    'TV earned most: 60 of 40; radio costs most: −20.'
    >>> leaders(shapley(TableGame("ab", [0, 1, 1, 2])))
    'a and b earned most: 1 each of 2.'
    """
    of = "" if result.total is None else f" of {rounded(result.total, 3)}"
    parts = [f"{_first(result, 1, quoted, most)}{of}"] if result.credit.max() > 0 else []
    parts += [_first(result, -1, quoted, least)] if result.credit.min() < -ROUNDING * abs(result.credit).max() else []
    doubt = "" if result.interval is not None or result.exact else " The error of these numbers is not known."
    return f"{'; '.join(parts) or f'All credit is 0{of}'}.{doubt}"


def _first(result: Attribution, sign: int, quoted: bool, words: str) -> str:
    """Who is first at one end, all of them where several are, and with how much."""
    credit = sign * result.credit
    best = int(np.argmax(credit))
    names = [p for p, c in zip(result.players, credit, strict=True) if c >= credit[best] - ROUNDING * abs(credit).max()]
    shown = [f"“{name}”" if quoted else name for name in names]
    who = f"{', '.join(shown[:-1])} and {shown[-1]}" if 1 < len(shown) <= TIED else shown[0]
    who = f"{len(shown)} players" if len(shown) > TIED else who
    told = rounded(float(result.credit[best]), 3) + " each" * (len(names) > 1)
    if result.interval is not None and len(names) == 1:
        low, high = result.interval[best].tolist()
        told += f" ({interval_word(result)} {between(low, high, 3)})"
    return f"{who} {words}: {told}"


def credit_word(result: Attribution) -> str:
    """What the numbers are called."""
    return "score" if result.total is None else "credit"


def together(who: Coalition) -> str:
    """A coalition by its members.

    >>> together(("B", "C")), together(())
    ('B + C', 'nobody')
    """
    return " + ".join(who) or "nobody"


def interactions_headline(result: Interactions) -> str:
    """What the numbers of an interaction index are."""
    sizes = [k for k in result.sizes if k]
    kind = (
        {1: "player", 2: "pair", 3: "triple"}.get(sizes[-1], f"coalition of {sizes[-1]}")
        if len(sizes) == 1
        else "coalition"
    )
    count = sum(bool(who) for who, _ in result)
    return f"{result.index} of {count:,} {kind}{'s' * (count > 1)}: {result.means}"


def notes(result: Attribution | Interactions) -> str:
    """How well numbers are known, and what they cost."""
    known = str(result.precision or "")
    cost = f"{result.payoffs:,} payoffs" if result.payoffs is not None else ""
    cost += f", seed {result.seed}" if cost and result.seed is not None else ""
    return "; ".join(note for note in (known, cost) if note)


def interval_word(result: Attribution | Interactions) -> str:
    """What the numbers beside the credit are.

    >>> interval_word(Attribution(("a",), [1.0], 1.0, "m", interval=[[0.5, 1.5]], level=0.9))
    '90% interval'
    """
    return f"{percent(result.level or 0.95)} interval"


def error_bars(result: Attribution | Interactions) -> str:
    """What is known about the error of a credit: an interval, a standard error, that there is none, or nothing.

    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> error_bars(shapley(TableGame(("alice", "bob"), [0, 5, 3, 10])))
    'exact'
    >>> error_bars(Attribution(("a",), [1.0], 1.0, "by hand"))
    'no interval'
    """
    if result.interval is not None:
        return interval_word(result)
    return "± s.e." if result.stderr is not None else "exact" if result.exact else "no interval"


def in_words(result: Attribution) -> str:
    """What the numbers are, and whether they add up.

    >>> in_words(Attribution(("a", "b"), [6, 4], total=10, method="by hand"))
    'all 10 shared out'
    """
    if result.total is None or result.unshared is None:
        return "scores: they rank, they share nothing"
    credited, total = rounded(float(result.credit.sum()), 3), rounded(result.total, 3)
    if result.claim("efficiency").holds is Holds.NO:
        return f"adds up to {credited}; {total} was there to share"
    if abs(result.unshared) <= ALL * max(abs(result.total), float(abs(result.credit).sum())):
        return f"all {total} shared out"
    return f"{credited} of {total} shared out"


def costs(result: Attribution, seconds: float | None) -> list[str]:
    """What a result cost, as far as that is known."""
    paid = [f"{result.payoffs:,} payoffs"] if result.payoffs is not None else []
    return paid if seconds is None else [*paid, duration(seconds)]


def without_folders(words: str) -> str:
    """Words in which files and folders go by their last name: where they lie is nobody's business but the owner's.

    >>> without_folders("accredit explain x.csv --model /home/ada/models/film --html=~/out/a.html and/or")
    'accredit explain x.csv --model film --html=a.html and/or'
    """
    return re.sub(r"(?<![^\s'\"(=])(?:~|\.{1,2})?/(?:[^\s/'\"]+/)*(?=[^\s/'\"])", "", words)


def sentence(text: str) -> str:
    """What the library says, as a sentence.

    >>> sentence("half of the intervals are wide"), sentence("Done.")
    ('Half of the intervals are wide.', 'Done.')
    """
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def counted(number: int, noun: str) -> str:
    """So many of something.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def duration(seconds: float) -> str:
    """A time for people.

    >>> duration(0.0002), duration(0.254), duration(75.3)
    ('< 0.01 s', '0.25 s', '75 s')
    """
    return "< 0.01 s" if seconds < 0.005 else f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"


def layer_word(layer: int, last: int) -> str:
    """A layer of a flow by its name."""
    return "input" if layer == 0 else "output" if layer == last else f"layer {layer}"


def place_name(player: str) -> str:
    """A patch of a picture by its place, counted from one; other names stay.

    >>> place_name("r0c2"), place_name("segment 4")
    ('row 1, column 3', 'segment 4')
    """
    place = re.fullmatch(r"r(\d+)c(\d+)", player)
    return f"row {int(place[1]) + 1}, column {int(place[2]) + 1}" if place else player


def direction(text: str) -> str:
    """The direction in which a text is read: that of its first letter.

    >>> direction("(film)"), direction("1. فيلم"), direction("…")
    ('ltr', 'rtl', 'ltr')
    """
    strong = (unicodedata.bidirectional(c) for c in text)
    return "rtl" if next((kind for kind in strong if kind in ("L", "R", "AL")), "L") in ("R", "AL") else "ltr"
