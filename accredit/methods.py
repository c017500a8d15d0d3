"""Every method by name: what it divides, among whom, which axioms its credit keeps, what it costs, and how it is run.

This is the one list, and other packages add to it by entry points of the group "accredit.methods". Commands, page, arena and
library look methods up here with `find`, so a name that is listed is accepted wherever it applies. A method is named by its
address ("module:name") and imported when it is run.

How an address is called depends on the kind of the method:

- "game": `address(**parameters, budget=…, seed=…)` is a solver; `.solve(game)` gives the credit.
- "gradients", "attention": `address(subject, **parameters, **settings)` gives the credit of one input of one model; the
  settings are those of `takes` that were given.
- "learned": `address(subject, **parameters)` gives the credit of one input by an explainer that was fitted before and is read
  from a folder.
- "training rows": `address(table, game, budget, seed)` gives the credit of the rows, or groups of rows, of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal

from accredit import defaults
from accredit.checks import needs
from accredit.checks.numbers import a_type
from accredit.checks.suggestions import nearest
from accredit.core import plugins
from accredit.errors import InvalidInput

Kind = Literal["game", "gradients", "attention", "learned", "training rows"]
Place = Literal["game", "explain", "text", "image", "strings", "answer", "training data"]

EVERYWHERE = ("game", "text", "image", "strings", "answer", "training data")
NEEDS: Mapping[Kind, tuple[str, tuple[str, ...]]] = {  # kind -> what a method of it needs, and where that exists
    "game": ("a game", EVERYWHERE),
    "gradients": ("a model's gradients", ("text", "image", "answer")),
    "attention": ("a model's attention", ("text", "image", "answer")),
    "learned": ("an explainer fitted for one model", ("text", "image")),
    "training rows": ("training rows", ("training data",)),
}
SAID: Mapping[Place, str] = {
    "game": "for a game",
    "explain": "to explain an output",
    "text": "for a text",
    "image": "for an image",
    "strings": "for a model that reads strings",
    "answer": "for an answer to a prompt",
    "training data": "for training data",
}


@dataclass(frozen=True)
class Cost:
    """What a method asks: in words, and as the number of payoffs for some players and a budget."""

    words: str
    payoffs: Callable[[int, int | None], int] = lambda players, budget: 0


EXACT = Cost("2ⁿ payoffs, or the budget", lambda n, b: 2**n if defaults.affordable(n, b) else b or defaults.BUDGET)
BUDGET = Cost("the budget of payoffs", lambda n, b: b or defaults.BUDGET)
NESTED = Cost(
    "2ⁿ payoffs at most, or the budget; 2n at least", lambda n, b: min(2**n, max(b or defaults.BUDGET, 2 * n))
)  # two orders show an error
OPENED = Cost("128 payoffs, or the budget", lambda n, b: min(2**n, b or defaults.OPENING_BUDGET))
WHOLE = Cost("2ⁿ payoffs", lambda n, b: 2**n)
EACH_ONCE = Cost("n + 2 payoffs", lambda n, b: n + 2)


@dataclass(frozen=True)
class Parameters:
    """What may follow the colon: numbers by their names, one of some words, or a folder. `*weights` takes all numbers."""

    names: tuple[str, ...]
    example: str
    words: tuple[str, ...] = ()
    default: str = ""  # what is meant when nothing follows; empty: something must

    def read(self, spelled: str, text: str) -> tuple[tuple[str, object], ...]:
        """The parameters in `text`, by name; `spelled` is the whole method, for the error."""
        base = spelled.partition(":")[0]
        if self.names == ("folder",):
            if not text:
                raise InvalidInput(
                    f"method {spelled!r} needs a folder after the colon; write {base}:{self.example}", code="missing"
                )
            return (("folder", text),)
        if self.words:
            if text not in self.words:
                raise InvalidInput(
                    f"method {spelled!r} has the {self.names[0]} {text!r}; write one of "
                    + ", ".join(f"{base}:{word}" for word in self.words),
                    code="unknown",
                )
            return ((self.names[0], text),)
        try:
            numbers = tuple(float(word) for word in text.split(","))
        except ValueError:
            numbers = ()
        if self.names[0].startswith("*"):
            if numbers:
                return ((self.names[0][1:], numbers),)
        elif len(numbers) == len(self.names):
            return tuple(zip(self.names, numbers, strict=True))
        count = "numbers" if self.names[0].startswith("*") else {1: "one number", 2: "two numbers"}[len(self.names)]
        raise InvalidInput(
            f"method {spelled!r} needs {count} after the colon; write for example {base}:{self.example}", code="type"
        )

    def to_plain(self) -> dict[str, object]:
        """As JSON types."""
        per_player = self.names[0].startswith("*")
        return {"example": self.example, "default": self.default or None, "per_player": per_player}


@dataclass(frozen=True)
class Method:
    """One method. `axioms` names those that its result keeps exactly; for a value that is sampled where its 2ⁿ payoffs are
    not affordable, those of the value itself."""

    name: str
    kind: Kind
    run: str  # address of what runs it
    call: str  # the same from Python
    players: str
    divides: str
    axioms: tuple[str, ...]
    cost: Cost
    note: str = ""
    aliases: tuple[str, ...] = ()
    parameters: Parameters | None = None
    signed: bool = True  # its numbers say which way, not only how much
    estimates: str = ""  # the value of which it is one solver
    takes: tuple[str, ...] = (
        "budget",
        "seed",
    )  # settings of a solver, or of gradients; "groups" are those to divide inside, "order" says who comes before whom
    trains: bool = True  # of training rows: values them by training models, so that a number of trainings means something
    needs: tuple[str, tuple[str, ...]] | None = None  # where it needs more than its kind: what, and where that exists

    @property
    def applies(self) -> tuple[str, ...]:
        """Where it applies: game, text, image, strings, answer, training data."""
        return (self.needs or NEEDS[self.kind])[1]

    @property
    def is_sampled(self) -> bool:
        """Whether it is a value of games that asks as many payoffs as a budget allows."""
        return self.kind == "game" and "budget" in self.takes

    @property
    def spelled(self) -> str:
        """As it may be written: with an example of its parameters where it needs some."""
        needed = self.parameters is not None and not self.parameters.default
        return f"{self.name}:{self.parameters.example}" if self.parameters and needed else self.name

    def to_plain(self) -> dict[str, object]:
        """As JSON types."""
        return {
            "name": self.name,
            "aliases": list(self.aliases),
            "spelled": self.spelled,
            "players": self.players,
            "divides": self.divides,
            "axioms": list(self.axioms),
            "applies": list(self.applies),
            "cost": self.cost.words,
            "parameters": self.parameters.to_plain() if self.parameters else None,
            "groups": "groups" in self.takes,
            "order": "order" in self.takes,
            "signed": self.signed,
            "estimates": self.estimates,
            "call": self.call,
            "note": self.note,
            "trains": self.trains,
        }


@dataclass(frozen=True)
class ChosenMethod:
    """A method with its parameters, as somebody asked for it."""

    method: Method
    name: str  # in its usual spelling, for example "leave-one-out" for loo, "flow:agf", "beta:16,1"
    given: tuple[tuple[str, object], ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.given)

    def payoffs(self, players: int, budget: int | None) -> int:
        """How many payoffs it will ask."""
        return self.method.cost.payoffs(players, budget)

    def load(self) -> Callable[..., Any]:
        """Import what runs it."""
        module, _, attribute = self.method.run.partition(":")
        with needs("text", f"method {self.name!r}"):
            loaded: Callable[..., Any] = getattr(import_module(module), attribute)
        return loaded

    def solver(self, budget: int | None, seed: int, groups: object = None, order: object = None) -> Any:
        """The solver of a game's value. Without a budget, values are exact for few players, and sampled ones ask 2,000."""
        takes = self.method.takes
        if "groups" in takes and not groups:
            raise InvalidInput(
                f"method {self.name!r} needs groups to divide inside; give them with groups=… (of a game for example "
                "'stem=B+C,web=A', of training data a column)",
                argument="groups",
                code="missing",
            )
        if "order" in takes and order is None:
            raise InvalidInput(
                f"method {self.name!r} needs to know who comes before whom; give it with order='a, b < c'",
                argument="order",
                code="missing",
            )
        if "order" not in takes and order is not None:
            raise InvalidInput(
                f"order is {order!r:.40}, and method {self.name!r} takes none; write method 'asymmetric', or leave it out",
                argument="order",
                code="misplaced",
            )
        spend = budget or defaults.BUDGET if self.method.cost is BUDGET else budget
        settings = {"budget": spend, "seed": seed, "groups": groups, "order": order}
        return self.load()(**self.parameters, **{name: settings[name] for name in takes})


ALL_FOUR = ("efficiency", "symmetry", "null player", "linearity")
SEMIVALUE = ("symmetry", "null player", "linearity")
TENSOR = Parameters(("tensor",), "agf", words=("af", "norm", "gf", "agf"), default="af")
WEIGHTS = Parameters(("tensor",), "norm", words=("af", "norm"), default="af")  # rows of a tensor that is read as a walk
FOLDER = Parameters(("folder",), "FOLDER")
INPUTS = "tokens, patches"
PLACES = "tokens, patches, columns"
SLOPES = ("layer", "baseline", "tolerance", "most_steps")  # settings of gradients, in `explain` and in the command
READING = ("heads", "layers")  # settings of readings of attention
DRAWS = ("samples", "noise")  # settings of those that draw points
SETTINGS = (*SLOPES, *DRAWS, "points", *READING)
TABLES = ("a table of payoffs", ("game",))  # values for readers of game theory: every coalition is known
ORDERED = ("players of which some come before others", ("game",))  # also columns of rows, by `order`
IN_GROUPS = ("groups of many players", ("game", "text", "strings", "answer"))
IN_A_VOCABULARY = ("a vocabulary to walk through", ("text", "answer"))

METHODS = (
    Method("shapley", "game", "accredit.values.within:ShapleyWithin", "accredit.shapley(game)", "any", "v(N) − v(∅)",
           ALL_FOUR, EXACT, "exact, or estimated with intervals"),
    Method("leave-one-out", "game", "accredit.values.within:LeaveOneOut", "accredit.leave_one_out(game)", "any",
           "nothing: v(N) − v(N∖i)", SEMIVALUE, EACH_ONCE, "equals Shapley in additive games", aliases=("loo",), takes=()),
    Method("banzhaf", "game", "accredit.values.within:BanzhafWithin", "accredit.banzhaf(game)", "any",
           "nothing: averages marginals", SEMIVALUE, EXACT, "robust to noisy payoffs"),
    Method("normalised-banzhaf", "game", "accredit.values.within:NormalisedBanzhafWithin",
           "accredit.normalised_banzhaf(game)", "any", "v(N) − v(∅)", ("efficiency", "symmetry", "null player"), EXACT,
           "the Banzhaf index of a vote; scaled to add up", needs=TABLES),
    Method("beta", "game", "accredit.values.within:BetaWithin", "accredit.beta(game, α, β)", "any",
           "nothing: averages marginals", SEMIVALUE, EXACT, "beta:1,1 is Shapley, beta:16,1 listens to small coalitions",
           parameters=Parameters(("alpha", "beta"), "16,1")),
    Method("semivalue", "game", "accredit.values.within:SemivalueWithin", "accredit.semivalue(game, weights)", "any",
           "nothing: averages marginals", SEMIVALUE, EXACT, "by its weights p(0), …, p(n − 1)",
           parameters=Parameters(("*weights",), "0.25,0.75")),
    Method("owen", "game", "accredit.values.within:OwenWithin", "accredit.owen(game, groups)", "any, in nested groups",
           "v(N) − v(∅)", ("efficiency", "null player", "linearity"), NESTED, "symmetric inside groups",
           takes=("budget", "seed", "groups")),
    Method("hierarchy", "game", "accredit.values.within:HierarchyWithin", "accredit.values.hierarchy(game, groups)",
           "any, in nested groups", "v(N) − v(∅)", ("efficiency",), OPENED,
           "groups that earn most are opened; the others share evenly inside", takes=("budget", "groups"), needs=IN_GROUPS),
    Method("banzhaf-owen", "game", "accredit.values.within:BanzhafOwenWithin", "accredit.banzhaf_owen(game, groups)",
           "any, in nested groups", "nothing: averages marginals", ("null player", "linearity"), NESTED,
           "Banzhaf between groups and inside them", takes=("budget", "groups"), needs=TABLES),
    Method("asymmetric", "game", "accredit.values.within:AsymmetricWithin", "accredit.asymmetric(game, order)",
           "any, some before others", "v(N) − v(∅)", ("efficiency", "null player", "linearity"), NESTED,
           "Shapley over the orders that respect a given one", aliases=("asv",),
           takes=("budget", "seed", "order"), needs=ORDERED),
    Method("nucleolus", "game", "accredit.values.within:Nucleolus", "accredit.nucleolus(game)", "any", "v(N) − v(∅)",
           ("efficiency", "symmetry", "null player"), WHOLE, "the smallest complaints; in the core if there is one",
           takes=(), needs=TABLES),
    Method("lime", "game", "accredit.values.lime:Lime", "accredit.values.Lime().solve(game)", "any",
           "nothing: a local line", ("linearity",), BUDGET, "ridge fit near the whole input; its R² is reported"),
    Method("lasso", "game", "accredit.values.ablations:Lasso", "accredit.values.Lasso().solve(game)", "any",
           "nothing: a sparse line", (), BUDGET, "lasso over coalitions drawn by coins; its R² is reported",
           parameters=Parameters(("alpha",), "0.05", default="0.01")),
    Method("surrogate", "game", "accredit.values.surrogate:Surrogate", "accredit.values.Surrogate(budget).solve(game)",
           "any", "v(N) − v(∅)", ("efficiency",), BUDGET, "what shapley uses beyond its exact reach", estimates="shapley"),
    Method("permutations", "game", "accredit.values.orders:Permutations",
           "accredit.values.Permutations(budget=…).solve(game)", "any", "v(N) − v(∅)",
           ("efficiency", "null player", "linearity"), BUDGET, "random orders", estimates="shapley"),
    Method("antithetic", "game", "accredit.values.orders:Antithetic", "accredit.values.Antithetic(budget=…).solve(game)",
           "any", "v(N) − v(∅)", ("efficiency", "null player", "linearity"), BUDGET, "random orders and their reverses",
           estimates="shapley"),
    Method("differences", "game", "accredit.values.differences:Differences",
           "accredit.values.Differences(budget=…).solve(game)", "any", "v(N) − v(∅)", ("efficiency", "linearity"), BUDGET,
           "complementary pairs, an additive part taken out first", estimates="shapley"),
    Method("differences-hint", "game", "accredit.values.differences:DifferencesHint",
           "accredit.values.DifferencesHint(budget=…).solve(game)", "any", "v(N) − v(∅)", ("efficiency", "linearity"),
           BUDGET, "for teaching: differences to one player", estimates="shapley"),
    Method("kernel-shap", "game", "accredit.values.regression:KernelShap",
           "accredit.values.KernelShap(budget).solve(game)", "any", "v(N) − v(∅)", ("efficiency", "linearity"), BUDGET,
           "weighted least squares; no interval", aliases=("kernelshap",), estimates="shapley"),
    Method("leverage", "game", "accredit.values.regression:Leverage", "accredit.values.Leverage(budget).solve(game)", "any",
           "v(N) − v(∅)", ("efficiency", "linearity"), BUDGET, "least squares, sizes drawn by leverage; no interval",
           estimates="shapley"),
    Method("truncated", "game", "accredit.values.truncated:Truncated", "accredit.values.Truncated(budget).solve(game)",
           "any", "v(N) − v(∅), in part", ("null player",), BUDGET, "TMC: random orders that stop early; cheaper, biased",
           aliases=("tmc",), parameters=Parameters(("tolerance",), "0.05", default="0.01"), estimates="shapley"),
    Method("integrated-gradients", "gradients", "accredit.explanation.gradients:integrated",
           "accredit.gradients.integrated_gradients(model, text)", PLACES, "f(input) − f(baseline)",
           ("efficiency", "linearity"), Cost("tens of backward passes"),
           "of the integral; the gap of its sum is reported", aliases=("ig",), takes=SLOPES),
    Method("gradient-shap", "gradients", "accredit.explanation.gradients:expected",
           "accredit.gradients.gradient_shap(model, text)", PLACES, "f(input) − f(baseline)", ("efficiency", "linearity"),
           Cost("50 or more backward passes"), "integrated gradients by random points; several baselines",
           aliases=("expected-gradients",), estimates="integrated-gradients",
           takes=("layer", "baseline", "most_steps", *DRAWS)),
    Method("sequential-integrated-gradients", "gradients", "accredit.explanation.gradients:sequential",
           "accredit.gradients.sequential_integrated_gradients(model, text)", PLACES, "nothing: v(N) − v(N∖i)", SEMIVALUE,
           Cost("tens of backward passes per player"), "in the limit leave-one-out, at many times its cost",
           aliases=("sig",), estimates="leave-one-out", takes=("baseline", "tolerance", "most_steps")),
    Method("discretised-integrated-gradients", "gradients", "accredit.explanation.gradients:discretised",
           "accredit.gradients.discretised_integrated_gradients(model, text)", "tokens", "part of f(x) − f(baseline)",
           ("linearity",), Cost("29 backward passes"), "a path through words; the gap of its sum is reported",
           aliases=("dig", "discretized-integrated-gradients"), takes=("baseline", "points"), needs=IN_A_VOCABULARY),
    Method("deep-lift", "gradients", "accredit.explanation.gradients:lift", "accredit.gradients.deep_lift(model, text)",
           PLACES, "f(input) − f(baseline)", ("efficiency",), Cost("one backward pass over two rows"),
           "differences passed down by a rule for each operation; several baselines", aliases=("deeplift",),
           takes=("layer", "baseline")),
    Method("attn-lrp", "gradients", "accredit.explanation.gradients:rule", "accredit.gradients.attn_lrp(model, text)", PLACES,
           "nothing: scores", ("linearity",), Cost("one backward pass"),
           "relevance by a rule for each operation; how much is lost on the way is reported", aliases=("lrp", "attnlrp"),
           takes=("layer",)),
    Method("input-x-gradient", "gradients", "accredit.explanation.gradients:input_times_gradient",
           "accredit.gradients.input_x_gradient(model, text)", PLACES, "nothing: scores",
           ("linearity",), Cost("one backward pass"), aliases=("gradient-x-input",), takes=("layer",)),
    Method("saliency", "gradients", "accredit.explanation.gradients:steepness",
           "accredit.gradients.saliency(model, text)", PLACES, "nothing: scores", (),
           Cost("one backward pass"), signed=False, takes=("layer",)),
    Method("smoothgrad", "gradients", "accredit.explanation.gradients:smooth",
           "accredit.gradients.smoothgrad(model, text)", PLACES, "nothing: scores", (),
           Cost("50 backward passes"), signed=False, takes=("layer", *DRAWS)),
    Method("attention", "attention", "accredit.explanation.attention:last_layer",
           "accredit.attention.raw_attention(attention)", INPUTS, "nothing: scores", (), Cost("reading the attention"),
           "also :norm, weights times lengths of values", parameters=WEIGHTS, signed=False, takes=READING),
    Method("rollout", "attention", "accredit.explanation.attention:roll_out",
           "accredit.attention.rollout(attention)", INPUTS, "nothing: scores", (), Cost("reading the attention"),
           "also :norm, weights times lengths of values", parameters=WEIGHTS, signed=False, takes=READING),
    Method("value-zeroing", "attention", "accredit.explanation.attention:zero",
           "accredit.models.zeroing.context_mixing(model, forward)", INPUTS, "nothing: scores", (),
           Cost("T passes through every block"), "how far tokens move when one's value is not read, rolled out", signed=False),
    Method("flow", "attention", "accredit.explanation.attention:barrier_flow",
           "accredit.attention.joint_flow(attention)", "tokens of a layer", "the max flow", ("null player",),
           Cost("10–40 steps of O(L·T³)"), "analytic centre of all max flows, efficient to epsilon; also :norm, :gf and :agf",
           parameters=TENSOR, signed=False, takes=READING),
    Method("flow-l2", "attention", "accredit.explanation.attention:least_squares_flow",
           'accredit.attention.joint_flow(attention, rule="l2")', "tokens of a layer", "the max flow",
           ("efficiency", "null player"), Cost("20–80 steps of O(L·T³)"),
           "the max flow of least squares; also :norm, :gf and :agf", parameters=TENSOR, signed=False, takes=READING),
    Method("flow-shapley", "attention", "accredit.explanation.attention:shapley_flow",
           'accredit.attention.joint_flow(attention, rule="shapley")', "tokens of a layer", "the max flow", ALL_FOUR,
           Cost("up to T max flows per order"), "of the re-solved flow game; also :norm, :gf and :agf", parameters=TENSOR,
           signed=False, takes=READING),
    Method("pairwise-flow", "attention", "accredit.explanation.attention:pairwise",
           "accredit.attention.pairwise_flow(attention)", INPUTS, "nothing: one flow per pair", (),
           Cost("T max flows"), "also :norm, and :gf and :agf on gradients", parameters=TENSOR, signed=False, takes=READING),
    Method("fast-shapley", "learned", "accredit.learned.fast_results:credit",
           "accredit.learned.fit_fast_inputs(texts, model)", INPUTS, "v(N) − v(∅)", ("efficiency",),
           Cost("one pass and 2 payoffs"), "predicted by a network that `accredit learn fit` trained, with intervals",
           parameters=FOLDER, estimates="shapley"),
    Method("selector", "learned", "accredit.learned.tasks:score", "accredit.learned.recipe(name, inputs, classes, k)",
           INPUTS, "nothing: scores", (), Cost("one pass"),
           "L2X, VIBI, INVASE, REAL-X or CXPlain, as `accredit learn fit` trained it; may leak, see `accredit learn audit`",
           parameters=FOLDER, signed=False, needs=("a selector trained for one model", ("text", "image"))),
    Method("knn-shapley", "training rows", "accredit.training_data.rules:nearest_neighbours",
           "accredit.valuation.knn_shapley(data)", "training rows", "right neighbours", ALL_FOUR, Cost("no training"),
           "closed form for nearest neighbours", aliases=("knn",), trains=False),
    Method("data-oob", "training rows", "accredit.training_data.rules:out_of_bag", "accredit.valuation.data_oob(data)",
           "training rows", "nothing: votes of trees", (), Cost("one forest"),
           "right answers of trees that did not see the row", aliases=("oob",)),
    Method("influence", "training rows", "accredit.training_data.rules:influences", "accredit.influence.influence(objective)",
           "training rows", "nothing: slopes", ("symmetry",), Cost("one training"), 
           "first order of leave-one-out on the loss; of a fine-tuned model, too"),
    Method("datamodel", "training rows", "accredit.training_data.rules:linear_fit",
           "accredit.valuation.datamodels(game, subsets)", "training rows", "nothing: a linear fit", (), BUDGET,
           "lasso over random subsets", aliases=("datamodels",)),
)  # fmt: skip

BY_NAME = {name: method for method in METHODS for name in (method.name, *method.aliases)}
DEFAULT = ("shapley", "leave-one-out", "integrated-gradients", "flow", "rollout", "attention")
FOR_STRINGS = ("shapley", "leave-one-out", "owen")  # the default where a model reads strings, and only games apply
FOR_ANSWERS = ("shapley", "leave-one-out")  # the default for answers
# The default of the arena: one solver of each value, flows also on gradients
GOOD_FOR: Mapping[str, tuple[str, ...]] = {  # what methods are good for -> their names; those of other packages are not here
    "The usual choice": ("shapley", "leave-one-out"),
    "Other values of a game": (
        "banzhaf", "normalised-banzhaf", "beta", "semivalue", "owen", "hierarchy", "banzhaf-owen", "asymmetric",
        "nucleolus",
    ),
    "Estimates of Shapley values within a budget": (
        "surrogate", "permutations", "antithetic", "differences", "differences-hint", "kernel-shap", "leverage", "truncated",
    ),
    "Local linear models": ("lime", "lasso"),
    "Gradients of a torch model": (
        "integrated-gradients", "gradient-shap", "sequential-integrated-gradients", "discretised-integrated-gradients",
        "deep-lift", "attn-lrp", "input-x-gradient", "saliency", "smoothgrad",
    ),
    "Attention: where it looks, which need not be why": (
        "attention", "rollout", "value-zeroing", "flow", "flow-l2", "flow-shapley", "pairwise-flow",
    ),
    "Trained explainers": ("fast-shapley", "selector"),
    "Training data": ("knn-shapley", "data-oob", "influence", "datamodel"),
}  # fmt: skip

IN_WORDS: Mapping[str, str] = {  # a method -> what it does, for who has not met it
    "shapley": "the fair share over all combinations",
    "leave-one-out": "what is lost without it",
    "banzhaf": "the average over all combinations, all alike",
    "normalised-banzhaf": "power in a vote",
    "beta": "weighs small or large groups more",
    "semivalue": "weighs group sizes as you say",
    "owen": "fair shares inside groups",
    "hierarchy": "long contexts: opens the groups that earn most",
    "banzhaf-owen": "Banzhaf inside groups",
    "asymmetric": "fair shares where some come first",
    "nucleolus": "the split that the worst-off complain about least",
    "surrogate": "fits a model of the combinations",
    "permutations": "random orders",
    "antithetic": "random orders and their reverses",
    "differences": "combinations in opposite pairs",
    "differences-hint": "differences to one player; for teaching",
    "kernel-shap": "a weighted fit, as in SHAP",
    "leverage": "a weighted fit, other samples",
    "truncated": "random orders that stop early; biased",
    "lime": "a straight line near this input",
    "lasso": "a straight line with few terms",
    "integrated-gradients": "slopes on the way from an empty input",
    "gradient-shap": "integrated gradients at random points",
    "sequential-integrated-gradients": "one word at a time",
    "discretised-integrated-gradients": "on a way through real words",
    "deep-lift": "differences passed back layer by layer",
    "attn-lrp": "relevance passed back layer by layer",
    "input-x-gradient": "slope times input",
    "saliency": "the slope alone",
    "smoothgrad": "slopes averaged under noise",
    "attention": "weights of the last layer",
    "rollout": "weights multiplied through the layers",
    "value-zeroing": "how far the others move without it",
    "flow": "weights as pipes, the flow in the middle",
    "flow-l2": "weights as pipes, the most even flow",
    "flow-shapley": "weights as pipes, fair shares",
    "pairwise-flow": "weights as pipes, one token at a time",
    "fast-shapley": "Shapley values guessed by a trained network",
    "selector": "a network trained to pick what matters",
    "knn-shapley": "fair shares for nearest neighbours",
    "data-oob": "how well other trees predict it",
    "influence": "what a small change of its weight does",
    "datamodel": "a straight line over random subsets",
}


def good_for(name: str) -> str:
    """The group of a method: what it is good for.

    >>> good_for("lime"), good_for("flow")
    ('Local linear models', 'Attention: where it looks, which need not be why')
    """
    return next((group for group, names in GOOD_FOR.items() if name in names), "From other packages")


COMPARED = (
    *(m.name for m in METHODS if "text" in m.applies and not m.estimates and m.spelled == m.name),
    "flow:gf",
    "flow:agf",
)
# The default of the arena on answers: what divides, what ContextCite does, and what reads the model itself
COMPARED_ANSWERS = tuple(
    name
    for name in (
        "shapley", "banzhaf", "lasso", "leave-one-out", "attn-lrp", "deep-lift", "gradient-shap",
        "discretised-integrated-gradients", "input-x-gradient", "saliency", "value-zeroing", "flow", "flow:norm", "rollout",
        "attention",
    )
    if "answer" in BY_NAME[name.partition(":")[0]].applies
)  # fmt: skip


def methods_for(place: Place) -> list[Method]:
    """The methods that apply to a game, to a model's input or to training data."""
    wanted = ("text", "image", "strings", "answer") if place == "explain" else (place,)
    return [method for method in every_method() if set(wanted) & set(method.applies)]


def every_method() -> tuple[Method, ...]:
    """Those of accredit, and those that other packages add."""
    return (*METHODS, *(added.found for added in add_methods() if not added.problem))


@lru_cache(maxsize=1)
def add_methods() -> tuple[plugins.Addition, ...]:
    """What packages add; also what is not used, with the reason."""
    return plugins.additions(plugins.METHODS, _names_of, BY_NAME)


def _names_of(entry: str, method: object) -> tuple[str, ...]:
    if not isinstance(method, Method):
        raise InvalidInput(f"it leads to {a_type(method)}; an accredit.methods.Method is needed", code="type")
    if method.kind not in NEEDS:
        raise InvalidInput(f"the method's kind is {method.kind!r}; write one of {', '.join(NEEDS)}", code="unknown")
    return (method.name, *method.aliases)


def named(name: str) -> Method | None:
    """The method of that name or alias, without parameters; None where there is none."""
    if name in BY_NAME:
        return BY_NAME[name]
    return next((method for method in every_method() if name in (method.name, *method.aliases)), None)


def find(spelled: str, place: Place) -> ChosenMethod:
    """The method of that name or alias, with the parameters after its colon, if it applies at that place.

    >>> find("loo", "game").name, find("flow:agf", "explain").parameters
    ('leave-one-out', {'tensor': 'agf'})
    >>> find("shapely", "game")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    accredit.errors.InvalidInput: method 'shapely' is unknown; did you mean shapley? For a game there are shapley, ...
    """
    base, colon, text = str(spelled).strip().partition(":")
    there = methods_for(place)
    listed = f"{SAID[place]} there are {', '.join(method.spelled for method in there)}"
    method = named(base)
    if method is None:
        known = [name for method in every_method() for name in (method.name, *method.aliases)]
        near = nearest(base.lower().replace("_", "-"), known, cutoff=0.7)
        meant = f"did you mean {near}? " if near else ""
        raise InvalidInput(
            f"method {spelled!r} is unknown; {meant}{listed[0].upper() + listed[1:] if near else listed}", code="unknown"
        )
    if method not in there:
        raise InvalidInput(f"method {spelled!r} needs {(method.needs or NEEDS[method.kind])[0]}; {listed}", code="misplaced")
    parameters = method.parameters
    if parameters is None:
        if colon:
            raise InvalidInput(
                f"method {spelled!r} has {text!r} after the colon, but takes no parameters; write {base}", code="misplaced"
            )
        return ChosenMethod(method, method.name)
    given = parameters.read(spelled, text if colon else parameters.default)
    usual = ",".join(_write(x) for _, value in given for x in (value if isinstance(value, tuple) else (value,)))
    return ChosenMethod(method, method.name if usual == parameters.default else f"{method.name}:{usual}", given)


def _write(x: float | str) -> str:
    """A parameter as people write it, without loss."""
    return str(x) if isinstance(x, str) else f"{x:g}" if float(f"{x:g}") == x else repr(x)


def find_all(spelled: Sequence[str] | str, place: Place) -> list[ChosenMethod]:
    """Several methods, each once, from a list of names or from one string with commas between them.

    >>> [chosen.name for chosen in find_all("loo, leave-one-out, beta:16,1, shapley", "explain")]
    ['leave-one-out', 'beta:16,1', 'shapley']
    """
    if not isinstance(spelled, Iterable) or isinstance(spelled, Mapping | Iterator):
        raise InvalidInput(
            f"methods is {spelled!r:.60}; write a name or a list of names, for example {list(DEFAULT[:2])}",
            argument="methods",
            code="type",
        )
    names = _split(spelled) if isinstance(spelled, str) else [str(name) for name in spelled]
    if not names:
        raise InvalidInput(
            f"methods is empty; name at least one, for example methods={list(DEFAULT[:2])}", argument="methods", code="empty"
        )
    try:
        found = [find(name, place) for name in names]
    except InvalidInput as error:
        error.argument = "methods"
        raise
    return list({chosen.name: chosen for chosen in found}.values())


def _split(names: str) -> list[str]:
    """Names between commas; a number after a comma belongs to the parameters of the name before it."""
    parts: list[str] = []
    for part in (word.strip() for word in names.split(",")):
        if parts and ":" in parts[-1] and _is_number(part):
            parts[-1] += f",{part}"
        elif part:
            parts.append(part)
    return parts


def settings_for(asked: Sequence[ChosenMethod], given: Mapping[str, object]) -> dict[str, object]:
    """The settings of gradients and of attention that were given, by name; refused where none of the methods asked takes one.

    >>> settings_for(find_all("ig", "explain"), {"layer": 2, "baseline": None})
    {'layer': 2}
    """
    for name in (name for name, value in given.items() if value is not None):
        taking = [method.name for method in every_method() if name in method.takes]
        if not any(name in each.method.takes for each in asked):
            raise InvalidInput(
                f"{name} is {given[name]!r:.40}, and no requested method accepts it; it applies to {', '.join(taking)}",
                argument=name,
                code="misplaced",
            )
    return {name: value for name, value in given.items() if value is not None}


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
