"""Some twenty tables that need no download: scikit-learn's own, and generated ones of the kinds that people have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

FEW = 500  # rows of a generated table


@dataclass(frozen=True, eq=False)
class Table:
    """Rows and what is to be predicted from them."""

    name: str
    x: Any  # a frame
    y: Any  # (rows,) or (rows, targets)
    groups: Any = None  # (rows,) which query a row belongs to, in order
    upper: Any = None  # (rows,) where a survival time ends at the latest; infinite where it is censored

    @property
    def weight(self) -> Any:
        """Sample weights as people set them: some rows count three times."""
        return np.where(np.arange(len(self.x)) % 5 == 0, 3.0, 1.0)


def _numbers(rng: np.random.Generator, columns: int, rows: int = FEW) -> Any:
    import pandas

    return pandas.DataFrame(rng.normal(size=(rows, columns)), columns=[f"c{i}" for i in range(columns)])


def _signal(x: Any) -> Any:
    c = x.to_numpy(dtype=np.float64)
    return np.sin(2 * c[:, 0]) + c[:, 1] * (c[:, 2] > 0) + 0.5 * c[:, 3]


def _diabetes() -> Table:
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True, as_frame=True)
    return Table("diabetes", x, y.to_numpy())


def _wine() -> Table:
    from sklearn.datasets import load_wine

    x, y = load_wine(return_X_y=True, as_frame=True)
    return Table("wine", x.iloc[:, :8], y.to_numpy())


def _cancer() -> Table:
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return Table("cancer", x, y.to_numpy())


def _iris() -> Table:
    from sklearn.datasets import load_iris

    x, y = load_iris(return_X_y=True, as_frame=True)
    return Table("iris", x, y.to_numpy())


def _prices() -> Table:
    """Large numbers, as prices of houses are."""
    rng = np.random.default_rng(1)
    x = _numbers(rng, 7, 800)
    x["c0"], x["c1"] = (x["c0"] * 40 + 120).round(), (x["c1"] * 12 + 1970).round()
    y = 2000 * x["c0"] + 300 * (x["c1"] - 1900) + 9000 * np.abs(x["c2"]) + 20_000 * rng.normal(size=len(x))
    return Table("prices", x, y.to_numpy())


def _counts() -> Table:
    rng = np.random.default_rng(2)
    x = _numbers(rng, 6)
    return Table("counts", x, rng.poisson(np.exp(0.5 * _signal(x) + 0.5)).astype(np.float64))


def _amounts() -> Table:
    rng = np.random.default_rng(3)
    x = _numbers(rng, 6)
    return Table("amounts", x, rng.gamma(2.0, np.exp(0.4 * _signal(x) + 4.0)) + 0.01)


def _claims() -> Table:
    """Amounts that are often zero, as insurance claims are."""
    rng = np.random.default_rng(4)
    x = _numbers(rng, 6)
    paid = rng.random(len(x)) < 0.4
    return Table("claims", x, np.where(paid, rng.gamma(2.0, np.exp(0.4 * _signal(x) + 1.0)), 0.0))


def _rare() -> Table:
    """One row in twenty-five is of the second class."""
    rng = np.random.default_rng(5)
    x = _numbers(rng, 8, 800)
    score = _signal(x) + 0.5 * rng.normal(size=len(x))
    return Table("rare", x, (score > np.quantile(score, 0.96)).astype(np.int64))


def _gaps() -> Table:
    """Numbers with missing values, and a yes or no."""
    rng = np.random.default_rng(6)
    x = _numbers(rng, 7)
    y = (_signal(x) + 0.3 * rng.normal(size=len(x)) > 0).astype(np.int64)
    return Table("gaps", x.mask(rng.random(x.shape) < 0.12), y)


def _mixed() -> Table:
    """Words, whole numbers, amounts and gaps in one frame."""
    import pandas

    rng = np.random.default_rng(7)
    x = _numbers(rng, 4)
    y = _signal(x)
    x = x.mask(rng.random(x.shape) < 0.1)
    town, plan = rng.choice(["Bern", "Oslo", "Lima", "Kyiv", "Rome"], FEW), rng.choice(["basic", "plus", "pro"], FEW)
    x["town"], x["plan"] = pandas.Categorical(town), pandas.Categorical(plan)
    x["years"] = rng.integers(0, 40, FEW)
    y = y + np.isin(town, ["Oslo", "Rome"]) * 1.5 + (plan == "pro") * (x["years"] > 20)
    return Table("mixed", x, np.asarray(y) + 0.2 * rng.normal(size=FEW))


def _queries() -> Table:
    """Results of forty searches, graded from 0 to 3."""
    rng = np.random.default_rng(8)
    x = _numbers(rng, 6, 480)
    grade = np.digitize(_signal(x) + 0.5 * rng.normal(size=len(x)), [-0.5, 0.5, 1.5])
    return Table("queries", x, grade, groups=np.repeat(np.arange(40), 12))


def _survival() -> Table:
    """Times until an event, a third of them censored."""
    rng = np.random.default_rng(9)
    x = _numbers(rng, 6)
    time = rng.exponential(np.exp(0.5 * _signal(x) + 2)) + 0.01
    return Table("survival", x, time, upper=np.where(rng.random(len(x)) < 0.33, np.inf, time))


def _several() -> Table:
    """Three numbers to predict at once."""
    rng = np.random.default_rng(10)
    x = _numbers(rng, 5)
    s = _signal(x)
    return Table("several", x, np.stack([s, np.abs(s), x["c4"] * s], axis=1) + 0.1 * rng.normal(size=(FEW, 3)))


def _kinds() -> Table:
    """Columns of every kind that a database gives: small and unsigned, yes or no, days, single precision, nullable."""
    import pandas

    rng = np.random.default_rng(11)
    base = _signal(x := _numbers(rng, 5))
    flag, day = rng.random(FEW) < 0.3, 738_000 + rng.integers(0, 900, FEW)
    frame = pandas.DataFrame(
        {
            "id": np.arange(FEW, dtype=np.uint32) + 4_000_000_000 - FEW,
            "day": day,
            "flag": flag,
            "small": rng.integers(-128, 127, FEW).astype(np.int8),
            "amount": x["c0"].to_numpy(dtype=np.float32),
            "always": np.full(FEW, 7.0),
            "maybe": pandas.array(rng.integers(0, 50, FEW), dtype="Int64"),
            "sure": pandas.array(rng.random(FEW) < 0.5, dtype="boolean"),
        }
    )
    frame.loc[rng.random(FEW) < 0.1, "maybe"] = pandas.NA
    return Table("kinds", frame, base + flag * 2.0 + (day - 738_450) / 300 + 0.1 * rng.normal(size=FEW))


def _scales() -> Table:
    """Columns from 1e-25 to 1e25, and a target of 1e9."""
    rng = np.random.default_rng(12)
    x = _numbers(rng, 5)
    y = _signal(x)
    for column, scale in zip(x, (1e-25, 1e25, 1.0, 1e-7, 1e9), strict=True):
        x[column] = x[column] * scale
    x["c2"] = x["c2"] + 1e8
    return Table("scales", x, y * 1e9)


def _steps() -> Table:
    """Two columns of words, one of forty kinds with most of them rare, and a number."""
    import pandas

    rng = np.random.default_rng(13)
    shop = np.minimum(rng.geometric(0.12, FEW), 40)
    kind = rng.choice(["a b", "b,c", "d=e", "é"], FEW)
    x = pandas.DataFrame({"size": rng.normal(size=FEW).round(1), "rank": rng.integers(0, 4, FEW)})
    x["shop"], x["kind"] = pandas.Categorical([f"shop {s}" for s in shop]), pandas.Categorical(kind)
    return Table("steps", x, np.sin(shop) + (kind == "é") * x["size"].to_numpy() + 0.1 * rng.normal(size=FEW))


def _sparse() -> Table:
    """Mostly zeros."""
    rng = np.random.default_rng(14)
    x = _numbers(rng, 9)
    x = x.where(rng.random(x.shape) < 0.15, 0.0)
    return Table("sparse", x, _signal(x) + 0.1 * rng.normal(size=FEW))


def _words() -> Table:
    """Short texts as weights of their words."""
    import pandas
    from sklearn.feature_extraction.text import TfidfVectorizer

    rng = np.random.default_rng(15)
    known = np.array(["good", "bad", "fine", "poor", "warm", "cold", "long", "short", "new", "old"])
    texts = [" ".join(rng.choice(known, 6)) for _ in range(FEW)]
    vectors = TfidfVectorizer(norm="l2").fit(texts)
    x = pandas.DataFrame(vectors.transform(texts).toarray(), columns=vectors.get_feature_names_out())
    return Table("words", x, ((x["good"] + x["warm"] > x["bad"] + x["cold"]).to_numpy()).astype(np.int64))


def _edges() -> Table:
    """Decimals that single precision does not have: nearly every row lies on a threshold."""
    rng = np.random.default_rng(16)
    x = _numbers(rng, 5).round(1)
    x["c4"] = 16_777_216 + rng.integers(0, 6, FEW)  # where single precision knows only even numbers
    return Table("edges", x, _signal(x) + (x["c4"].to_numpy() % 3) + 0.1 * rng.normal(size=FEW))


def _labels() -> Table:
    """Seven classes, one of them rare."""
    rng = np.random.default_rng(17)
    x = _numbers(rng, 6, 700)
    return Table("labels", x, np.digitize(_signal(x) + 0.4 * rng.normal(size=700), [-2.5, -1.2, -0.5, 0.3, 1.0, 1.8]))


def _wild() -> Table:
    """Gaps in every column, one column of hardly anything but gaps, one that says which rows have some."""
    rng = np.random.default_rng(18)
    x = _numbers(rng, 6)
    y = _signal(x) + 0.1 * rng.normal(size=FEW)
    x = x.mask(rng.random(x.shape) < 0.3)
    x["c5"] = x["c5"].where(np.arange(FEW) % 100 == 0)
    x["gaps"] = x["c0"].isna().to_numpy()
    return Table("wild", x, y)


NAMED = (
    "a b",
    "größe",
    "x;y",
    " lead",
    "-",
    "a=b",
    "100%",
    "a/b",
    "名前",
    "q'uote",
    "x.1",
    "Total (EUR)",
    "None",
    "nan",
    "1",
    "target",
)
KINDS: dict[str, Callable[[np.random.Generator, Any], Any]] = {  # of a column, from what it is worth
    "number": lambda rng, z: z,
    "float32": lambda rng, z: z.astype(np.float32),
    "int8": lambda rng, z: np.clip(40 * z, -128, 127).astype(np.int8),
    "uint8": lambda rng, z: np.clip(40 * z + 100, 0, 255).astype(np.uint8),
    "few": lambda rng, z: np.digitize(z, [-1, 0, 1]),
    "flag": lambda rng, z: z > 0.5,
    "constant": lambda rng, z: np.full(len(z), 3.5),
    "rare": lambda rng, z: (z > 2).astype(np.int64),
    "large": lambda rng, z: (2.0**52 + 2.0**50 * z).astype(np.int64),
}


def _drawn(name: str) -> Table:
    """One to six columns of any kind, some of them twice, under names that are easily mangled; "kinds" have words as well."""
    import pandas

    _, kind, seed = name.split()
    rng = np.random.default_rng([19, ("numbers", "classes", "kinds", "amounts").index(kind), int(seed)])
    columns: dict[str, Any] = {}
    worth = 0.3 * rng.normal(size=FEW)
    for called in rng.choice(NAMED, rng.integers(1, 7), replace=False):
        z = rng.normal(size=FEW)
        worth += z * rng.normal()
        columns[str(called)] = KINDS[str(rng.choice([*KINDS]))](rng, z)
    if rng.random() < 0.5:
        columns["the same"] = next(iter(columns.values()))
    if kind == "kinds":
        shade = rng.choice(["rot", "grün", "sea blue"], FEW)
        columns["shade"] = pandas.Categorical(shade)
        worth += 2.0 * (shade == "rot") * (1 + (worth > 0))
    x = pandas.DataFrame(columns)
    if kind == "classes":
        return Table(name, x, np.digitize(worth, np.quantile(worth, [0.4, 0.75])[: 1 + int(seed) % 2]))
    return Table(name, x, np.round(np.exp(worth / worth.std())) + 1 if kind == "amounts" else worth)


DRAWN = tuple(f"drawn {kind} {seed}" for kind in ("numbers", "classes", "kinds", "amounts") for seed in range(4))
_MADE: tuple[Callable[[], Table], ...] = (
    *(_diabetes, _wine, _cancer, _iris, _prices, _counts, _amounts, _claims),
    *(_rare, _gaps, _mixed, _queries, _survival, _several),
    *(_kinds, _scales, _steps, _sparse, _words, _edges, _labels, _wild),
)
NAMES = tuple(made.__name__[1:] for made in _MADE)


@cache
def table(name: str) -> Table:
    """The table of this name, made once.

    >>> table("counts").x.shape, float(table("counts").y.min())
    ((500, 6), 0.0)
    """
    return _drawn(name) if name in DRAWN else _MADE[NAMES.index(name)]()
