"""What golden entries ask about: games, models, rows and files, made here from fixed seeds. Nothing is read from elsewhere."""

from __future__ import annotations

import io
import logging
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tools.proof.golden import doors

logging.getLogger("transformers").setLevel(logging.ERROR)

# Games

PLAYERS = ("ann", "ben", "cas", "dot", "eve")
GROUPS = {"left": ["ann", "ben"], "right": ["cas", "dot"]}
MANY = tuple(f"p{k:02d}" for k in range(14))  # more than are exact without a budget
BUDGET = 400  # payoffs of a sampled value


def _dividends(n: int, seed: int) -> Any:
    """Payoffs of all coalitions whose dividends shrink with size, no two alike."""
    masks = np.arange(1 << n)
    dividends = np.random.default_rng(seed).normal(size=1 << n) * 0.6 ** np.bitwise_count(masks)
    dividends[0], dividends[-1] = 0.25, 3.0
    for k in range(n):
        has = masks >> k & 1 == 1
        dividends[has] += dividends[masks[has] ^ 1 << k]
    return dividends


def table_game() -> Any:
    return doors.TableGame(PLAYERS, _dividends(len(PLAYERS), 1))


def tables() -> Any:
    return doors.TableGames(PLAYERS, ("x", "y"), np.stack([_dividends(5, 1), _dividends(5, 2)], axis=1))


WEIGHT = np.random.default_rng(3).normal(size=len(MANY))


def _pays(coalitions: Any) -> Any:
    """A smooth function of who plays, with pairs that help and hinder each other."""
    inside = np.asarray(coalitions, dtype=np.float64)
    pairs = (inside[:, :-1] * inside[:, 1:]) @ np.linspace(-0.8, 0.9, len(MANY) - 1)
    return np.tanh(0.4 * (inside @ WEIGHT)) + 0.3 * pairs


def function_game() -> Any:
    return doors.FunctionGame(MANY, _pays)


def function_games() -> Any:
    return doors.FunctionGames(MANY, ("x", "y"), lambda s: np.stack([_pays(s), _pays(s) ** 2], axis=1))


def levels_game() -> Any:
    """Three players, of whom one has three levels."""
    return doors.ChoiceTable(("a", "b", "c"), np.random.default_rng(4).normal(size=(2, 3, 2)))


def alternatives_game() -> Any:
    return doors.ChoiceTable(("a", "b", "c"), np.random.default_rng(5).normal(size=(2, 2, 2)))


def weights_of(players: int) -> str:
    """Banzhaf's weights for so many players, as they follow `semivalue:`."""
    return ",".join([repr(2.0 ** (1 - players))] * players)


# Texts, pairs, pictures, answers, strings

TEXT = "A gripping, beautifully shot film that never lands."
WORDS = 10  # of it, with its marks
PLAIN_WORDS = ["a", "the", "film", "of", "in", "on", "at", "by", "to", "so", "as", "an"]
SHORT = "A gripping film"  # as long as what trained explainers have learned from
TWO_SENTENCES = "The acting is superb, but the story is dull. Not bad at all, in fact rather wonderful!"
TWO_TEXTS = ("the film is very good .", "it is not bad .")
ASKED = "where does anna live ?"
PROMPT = f"anna lives in rome . boris owns a dog . clara works as a baker . {ASKED}"
SAID = "anna lives in rome"
FACTS = ["Anna has the job of Boris .", "Clara owns a dog .", "Boris works as a baker .", "David lives in Oslo ."]
QUESTION = "What does Anna do ?"
VOCABULARY = sorted({word for text in (*TWO_TEXTS, PROMPT, SAID, "paris berlin cat loves hates") for word in text.split()})


@cache
def text_model() -> Any:
    return doors.load_text_model(doors.text_folder())


@cache
def image_model() -> Any:
    return doors.load_image_model(doors.vision_folder())


@cache
def picture() -> Any:
    """A shirt, more or less: 28 × 28 pixels."""
    y, x = np.mgrid[:28, :28]
    body = (np.abs(x - 13.5) < 6) & (y > 5) & (y < 24)
    sleeves = (np.abs(np.abs(x - 13.5) - 9) < 3) & (y > 5) & (y < 13)
    return np.where(body, 180 + 3 * (y % 5), np.where(sleeves, 120 + 2 * (x % 7), 0)).astype(np.uint8)


def _tokenizer(framed: bool) -> Any:
    """One token for each word; `framed` reads pairs as BERT does."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = Tokenizer(models.WordLevel({word: k for k, word in enumerate([*special, *VOCABULARY])}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if not framed:
        return PreTrainedTokenizerFast(
            tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", bos_token="[CLS]", eos_token="[SEP]"
        )
    words.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = ("pad", "unk", "cls", "sep", "mask")
    return PreTrainedTokenizerFast(
        tokenizer_object=words, **{f"{name}_token": mark for name, mark in zip(names, special, strict=True)}
    )


def _made(kind: Any, config: Any) -> Any:
    """A network with weights large enough that its answers differ."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        model = kind(config).eval()
        for weights in model.parameters():
            if weights.ndim > 1:
                weights.data.normal_(0.0, 0.3)
    return model


@cache
def pair_model() -> tuple[Any, Any]:
    """A BERT of two layers that reads two texts and has three labels, and its tokenizer."""
    from transformers import BertConfig, BertForSequenceClassification

    tokenizer = _tokenizer(framed=True)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        pad_token_id=0,
        id2label={0: "no", 1: "maybe", 2: "yes"},
        label2id={"no": 0, "maybe": 1, "yes": 2},
    )
    return _made(BertForSequenceClassification, config), tokenizer


@cache
def answering_model() -> tuple[Any, Any]:
    """A GPT-2 of two layers that writes, and its tokenizer."""
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = _tokenizer(framed=False)
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=64,
        n_embd=16,
        n_layer=2,
        n_head=2,
        bos_token_id=2,
        eos_token_id=3,
        pad_token_id=0,
    )
    return _made(GPT2LMHeadModel, config), tokenizer


@cache
def string_model() -> Any:
    """A function of strings that has probabilities of two labels."""
    weight = {"good": 1.5, "bad": -1.2, "not": -0.7, "very": 0.4}

    def chances(texts: Any) -> Any:
        scores = np.array([sum(weight.get(w, 0.05 * len(w)) for w in t.split()) * (0.5 + ("not bad" in t)) for t in texts])
        return np.stack([1 / (1 + np.exp(scores)), 1 / (1 + np.exp(-scores))], axis=1)

    return doors.as_string_model(chances, law="probability", labels=("low", "high"))


STRING = "it is not bad , it is very good ."


def prompts_function(prompts: Any, answer: str) -> Any:
    """A black box that answers: the log-probability that it gives an answer after each prompt."""
    return np.array([-3.0 + 1.1 * ("rome" in p) + 0.3 * ("anna" in p) - 0.01 * len(p) for p in prompts])


# Rows of tables

COLUMNS = ("age", "pay", "km", "rent", "size")
COLUMN_GROUPS = {"person": ["age", "pay"], "home": ["rent", "size"], "km": ["km"]}


@cache
def frame() -> Any:
    """Sixty rows of five columns, two of which go together."""
    import pandas

    rng = np.random.default_rng(11)
    values = rng.normal(size=(60, 5))
    values[:, 4] = 0.7 * values[:, 3] + 0.5 * values[:, 4]
    return pandas.DataFrame(values, columns=list(COLUMNS))


def rows() -> Any:
    return frame()[:4]


def background() -> Any:
    return frame()[20:50]


@cache
def number() -> Any:
    """What a regression predicts of each row."""
    x = frame()
    return (x.age * x.pay + np.abs(x.km) - 0.5 * x.rent).to_numpy()


@cache
def label() -> Any:
    """What a classifier predicts of each row: three classes."""
    return np.digitize(number(), [-0.5, 0.8])


def function_of_rows(given: Any) -> Any:
    x = np.asarray(given, dtype=np.float64)
    return x[:, 0] * x[:, 1] + np.abs(x[:, 2]) - 0.5 * x[:, 3] + 0.2 * x[:, 4]


@cache
def model_of_rows(name: str) -> Any:
    """A model of the frame, grown by one of the libraries that are read."""
    from sklearn import ensemble, linear_model, pipeline, preprocessing, tree

    x, few = frame(), {"n_estimators": 8, "max_depth": 3, "random_state": 0}
    if name == "forest":
        return ensemble.RandomForestRegressor(**few).fit(x, number())
    if name == "forest of classes":
        return ensemble.ExtraTreesClassifier(**few).fit(x, label())
    if name == "boosted":
        return ensemble.GradientBoostingClassifier(**few).fit(x, label() > 0)
    if name == "histogram":
        return ensemble.HistGradientBoostingClassifier(max_iter=8, max_depth=3, random_state=0).fit(x, label())
    if name == "isolation":
        return ensemble.IsolationForest(n_estimators=8, max_samples=32, random_state=0).fit(x)
    if name == "tree":
        return tree.DecisionTreeRegressor(max_depth=4, random_state=0).fit(x, number())
    if name == "linear":
        return linear_model.LinearRegression().fit(x, number())
    if name == "logistic":
        made = pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression())
        return made.fit(x, label())
    return _boosted(name, x)


def _boosted(name: str, x: Any) -> Any:
    few = {"n_estimators": 8, "max_depth": 3}
    if name == "xgboost":
        import xgboost

        return xgboost.XGBRegressor(**few, n_jobs=1, random_state=0).fit(x, number())
    if name == "xgboost of classes":
        import xgboost

        return xgboost.XGBClassifier(**few, n_jobs=1, random_state=0).fit(x, label())
    if name == "lightgbm":
        import lightgbm

        made = lightgbm.LGBMClassifier(**few, n_jobs=1, random_state=0, verbose=-1, min_child_samples=5, deterministic=True)
        return made.fit(x, label())
    import catboost

    made = catboost.CatBoostRegressor(
        iterations=8, depth=3, random_seed=0, thread_count=1, verbose=0, allow_writing_files=False
    )
    return made.fit(x, number())


# Attention and graphs


@cache
def attention(layers: int = 3, tokens: int = 6) -> Any:
    logits = np.random.default_rng(21).normal(0.0, 2.0, (layers, tokens, tokens))
    return np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)


@cache
def causal() -> Any:
    weights = np.tril(attention())
    return weights / weights.sum(axis=2, keepdims=True)


TOKENS = ("the", "film", "was", "not", "very", "good")
EDGES = [
    ("s", "a", 3.0, 0.0, 1.0),
    ("s", "b", 2.5, 0.0, 2.0),
    ("a", "b", 1.0, 0.0, 0.5),
    ("a", "t", 1.75, 0.0, 1.0),
    ("b", "t", 2.25, 0.5, 1.0),
    ("t", "s", 9.0, 0.0, -4.0),
]


def network() -> Any:
    return doors.LayeredNetwork.from_attention(attention())


# Training data


@cache
def classes() -> Any:
    """Thirty rows of two classes, three of them with a wrong label, and twenty to test on."""
    rng = np.random.default_rng(31)
    y = np.arange(50) % 2
    x = rng.normal(size=(50, 3)) + 1.2 * y[:, None]
    labels = y[:30].copy()
    labels[:3] = 1 - labels[:3]
    return doors.split(x[:30], labels, x[30:], y[30:])


@cache
def numbers() -> Any:
    rng = np.random.default_rng(32)
    x = rng.normal(size=(40, 3))
    y = x @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=40)
    return doors.split(x[:25], y[:25], x[25:], y[25:], regression=True)


@cache
def labelled() -> tuple[Any, Any]:
    """A hundred and twenty rows of features and labels, eight of the labels moved."""
    rng = np.random.default_rng(33)
    y = np.arange(120) % 2
    x = rng.normal(size=(120, 4)) + 2.5 * y[:, None]
    y[:8] = 1 - y[:8]
    return x, y


@cache
def torch_rows() -> tuple[Any, Any, Any]:
    """A network of two layers, rows that it learned from, and three of them as queries."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        x = torch.randn(60, 4)
        data = {"x": x, "labels": (x[:, 0] > 0).long()}
        model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2))
        steps = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(60):
            steps.zero_grad()
            torch.autograd.backward(torch.nn.functional.cross_entropy(model(x), data["labels"]))
            steps.step()
    return model, data, {name: value[:3] for name, value in data.items()}


# Trained explainers


@cache
def learned_rows() -> Any:
    return np.random.default_rng(41).normal(size=(300, 5)).astype(np.float32)


def black_box(x: Any) -> Any:
    high = 1 / (1 + np.exp(-3 * np.asarray(x, float)[:, 1] - 3 * np.asarray(x, float)[:, 3]))
    return np.stack([1 - high, high], axis=1)


@cache
def trained(name: str) -> Any:
    """An explainer of two columns, trained for two epochs."""
    inputs = doors.Tabular(5)
    if name == "cxplain":
        made = doors.recipe(name, inputs, 2, 2, epochs=3)
    else:
        made = doors.recipe(name, inputs, 2, 2, training=doors.Training(epochs=2, batch=64, optimiser="adam", rate=3e-3))
    return made.fit(learned_rows(), black_box, seed=3)


@cache
def fast() -> Any:
    return doors.fit_fast_rows(frame(), function_of_rows, background(), calibration=19, epochs=5, pairs=4)


# Files, in the folder where an entry runs


def samples() -> None:
    """The files of `accredit examples`, in the folder examples."""
    kept, sys.argv = sys.argv, ["accredit", "examples"]
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), suppress(SystemExit):
            doors.main()
    finally:
        sys.argv = kept


@cache
def picture_file() -> Path:
    from PIL import Image

    Image.fromarray(picture()).save("shirt.png")
    return Path("shirt.png")


@cache
def rows_files() -> tuple[Path, Path, Path]:
    """Rows, the rows that they are compared with, and a model of both."""
    rows().to_csv("rows.csv", index=False)
    background().to_csv("background.csv", index=False)
    model_of_rows("xgboost").save_model("model.json")
    return Path("rows.csv"), Path("background.csv"), Path("model.json")


@cache
def texts_file() -> Path:
    Path("texts.csv").write_text("text,label\ngood film,positive\nbad film,negative\na dull story,negative\n")
    return Path("texts.csv")


@cache
def reviews_file() -> Path:
    """The first rows of the example, so that a few trainings are quick."""
    lines = Path("examples/reviews.csv").read_text().splitlines()
    Path("reviews.csv").write_text("\n".join(lines[:41]) + "\n")
    return Path("reviews.csv")


@cache
def texts_to_learn() -> Path:
    """Forty short texts, made of the beginnings of the examples."""
    lines = Path("examples/sentences.txt").read_text().splitlines()
    starts = [" ".join(line.split()[:count]) for line in lines for count in (1, 2, 3)]
    Path("learn.txt").write_text("\n".join([f"{a} {b}" for a in starts for b in starts if a < b][:40]) + "\n")
    return Path("learn.txt")


@cache
def pictures_to_learn() -> Path:
    """Thirty shirts of other shades, each moved a little."""
    from PIL import Image

    Path("pictures").mkdir()
    for k in range(30):
        shade = picture() // 30 * (20 + k % 10)
        Image.fromarray(np.roll(shade, (k % 5, k % 3), axis=(0, 1)).astype(np.uint8)).save(f"pictures/{k:02d}.png")
    return Path("pictures")


@cache
def language_folder() -> Path:
    """The small answering model, saved as a folder."""
    with redirect_stderr(io.StringIO()):  # a bar of progress
        for part in answering_model():
            part.save_pretrained("language")
    return Path("language")


@cache
def training_texts() -> Path:
    parts = [f"{part.strip()} ." for part in PROMPT.split(".") if part.strip()]
    Path("train.txt").write_text("\n".join([*parts, "anna loves rome .", "boris hates paris .", "clara owns a cat ."]) + "\n")
    return Path("train.txt")
