"""Which training texts made the language model say this? Projected gradients of every text, searched for one answer."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.checks.files import LIMIT, put, read_json_object
from accredit.checks.json_data import plain
from accredit.checks.numbers import shown
from accredit.core import Attribution, Claim, FloatArray, Holds, Precision, Procedure
from accredit.errors import InvalidInput
from accredit.influence.bm25 import bm25, tells
from accredit.influence.functions import Stationarity, moving
from accredit.influence.gradient_store import PROJECTED_SIDE, GradientStore
from accredit.influence.layers import check_module
from accredit.influence.losses import IGNORED, NextTokens
from accredit.influence.network import MEMORY_BYTES, Network, NetworkFacts, network
from accredit.influence.projections import RANDOM

if TYPE_CHECKING:
    import torch
    import transformers

SATURATED = 0.99  # probability of the answer, above which hardly any gradient is left of the text that taught it
UNSAID = 0.001  # probability of the answer, below which the model cannot be said to say it
TEXT_DAMPING = 0.1  # of a layer's mean eigenvalue; with this and random sides the questions of benchmarks/trace.py were asked
CHARACTERS_KEPT = 2000  # characters of a text that are kept beside its gradient
BYTES_PER_TEXT = 48_000  # of the store, where the caller names no side; with the names of layers in its files below 50 KB
KIND, TRACE_FORMAT = "trace", 2  # of the JSON
BASE = "base"  # the folder of gradients at the model before it learned the texts, within that of the others
AND_BASE = "; added to the same at the model before it learned the texts, both in units of their spread"
Chat = Sequence[Mapping[str, str]]  # messages, each with its role and content
TrainingText = str | tuple[str, str] | Chat  # all learned; a prompt and the completion that was; a chat
TOKENS_AT_MOST = 1024  # tokens of a text, where neither the model nor the caller says otherwise


QuestionFacts = TypedDict(
    "QuestionFacts",
    {
        "scale": str,
        "texts cut": int,
        "texts known in part": int,
        "longest": int,
        "numbers kept for each text": int,
        "saturated": bool,
        "first token not judged": bool,
    },
)


class TraceFacts(QuestionFacts, Stationarity, NetworkFacts):
    """What is known about a trace beside its scores."""


class WordsAlone(Enum):
    """What BM25, which sees shared words and no model, says beside the gradients."""

    ENOUGH = "enough"  # it puts the same text first, and no other beside it
    NARROW = "narrow"  # it puts several texts first, the same one among them
    TELLING = "telling"  # it puts another text first, which says the answer and shares a rare word with the prompt
    DIFFERENT = "different"  # it puts another text first, for common words or for the answer alone
    SILENT = "silent"  # no text shares a word with the question


class WrittenText(TypedDict):
    """One training text in the JSON of a trace."""

    row: int  # from 1 on
    score: float
    bm25: float
    text: str
    by_token: list[float]


class WrittenTrace(TypedDict):
    """The JSON of a trace, as `Trace.to_json` writes it."""

    kind: str
    format: int
    prompt: str
    answer: str
    tokens: list[str]
    probability: float
    words_alone: str
    texts: list[WrittenText]
    warnings: list[str]
    facts: TraceFacts


@dataclass(frozen=True, eq=False)
class Trace:
    """Training texts by how much they moved the model towards an answer.

    >>> from accredit.models import builtin
    >>> texts = ["Anna lives in Rome .", "Boris owns a dog ."]
    >>> found = trace(*builtin.load_answers(), texts, "Anna lives in", "Rome .")
    >>> found.by_token.shape, bool(np.allclose(found.by_token.sum(axis=1), found.scores))
    ((2, 2), True)
    """

    texts: tuple[str, ...]  # how they begin, where they were read from a store
    prompt: str
    answer: str
    tokens: tuple[str, ...]  # of the answer, those that are judged
    scores: FloatArray  # (N,), positive: the text made the answer likelier
    by_token: FloatArray  # (N, tokens of the answer)
    probability: float  # that the model gives to the answer
    facts: TraceFacts

    @property
    def order(self) -> list[int]:
        """Training rows, the most responsible first."""
        return list(np.argsort(-self.scores, kind="stable").tolist())

    @cached_property
    def bm25(self) -> FloatArray:
        """The score of every text for the words of prompt and answer (N,), without any model: what a trace has to beat."""
        return bm25(self.texts, f"{self.prompt} {self.answer}")

    @property
    def words_alone(self) -> WordsAlone:
        """Whether words alone would have put the same text first."""
        if not self.bm25.any():
            return WordsAlone.SILENT
        first = np.flatnonzero(self.bm25 >= self.bm25.max() * (1 - 1e-12))
        if self.order[0] not in first or not self.scores[self.order[0]] > 0:
            told = len(first) == 1 and tells(self.texts, int(first[0]), self.prompt, self.answer)
            return WordsAlone.TELLING if told else WordsAlone.DIFFERENT
        return WordsAlone.ENOUGH if len(first) == 1 else WordsAlone.NARROW

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes this ranking doubtful."""
        found = [moving(self.facts)]
        if self.facts["saturated"]:
            found.append(
                f"the model knows the answer by heart (probability {self.probability:.4f}): hardly any gradient is left of the "
                "text that taught it, and others may come before it. Ask an earlier checkpoint"
            )
        if self.probability < UNSAID:
            found.append(
                f"the model would hardly say this (probability {self.probability:.1g}); the ranking is about what would make "
                "it likelier, not about what made the model say it"
            )
        if self.facts["texts cut"]:
            cut = f"{self.facts['texts cut']:,} of {len(self.texts):,}"
            found.append(f"training texts cut to the {self.facts['longest']} tokens that the model reads: {cut}")
        if self.facts["texts known in part"]:
            found.append(
                f"BM25 reads {self.facts['texts known in part']:,} of {len(self.texts):,} texts up to their first "
                f"{CHARACTERS_KEPT:,} characters, which is what the store keeps; give the texts to compare all of their words"
            )
        if self.facts["first token not judged"]:
            found.append("without a prompt the first token of the answer follows nothing, so it is not judged")
        return tuple(warning for warning in found if warning)

    def attribution(self) -> Attribution:
        """The scores with their rows as players; they rank, they divide nothing."""
        return Attribution(
            tuple(f"row {i + 1}" for i in range(len(self.texts))),
            self.scores,
            total=None,
            method=Procedure("trace", "projected gradients", {"scale": self.facts["scale"]}),
            claims=(Claim("efficiency", Holds.NO, "a slope where all texts were trained on: it divides nothing"),),
            precision=Precision.unknown("the error is that of first order and of the projection"),
            certificate=self.facts,
        )

    def to_json(self) -> str:
        """Everything, as JSON; rows are numbered from 1, as lines are."""
        rows = [
            {
                "row": i + 1,
                "score": self.scores[i],
                "bm25": self.bm25[i],
                "text": self.texts[i],
                "by_token": self.by_token[i],
            }
            for i in self.order
        ]
        data = {
            "kind": KIND,
            "format": TRACE_FORMAT,
            "prompt": self.prompt,
            "answer": self.answer,
            "tokens": self.tokens,
            "probability": self.probability,
            "words_alone": self.words_alone.value,
            "texts": rows,
            "warnings": self.warnings,
            "facts": self.facts,
        }
        return json.dumps(plain(data, KIND), ensure_ascii=False)

    @classmethod
    def from_plain(cls, data: Mapping[str, object]) -> Trace:
        """What `to_json` wrote."""
        if data.get("kind") != KIND or data.get("format") != TRACE_FORMAT:
            raise InvalidInput(
                f"expected a {KIND} of format {TRACE_FORMAT}, got {shown(data.get('kind'))} of format "
                f"{shown(data.get('format'))}; write one with .to_json(), or accredit trace … --json > trace.json",
                code="format",
            )
        try:
            written = cast(WrittenTrace, data)
            rows = sorted(written["texts"], key=lambda row: row["row"])
            if [row["row"] for row in rows] != list(range(1, len(rows) + 1)) or not rows:
                raise ValueError("its texts are not numbered from 1 on")
            tokens, facts = tuple(map(str, written["tokens"])), cast(TraceFacts, dict(written["facts"]))
            scores = np.array([row["score"] for row in rows], dtype=np.float64)
            by_token = np.array([row["by_token"] for row in rows], dtype=np.float64).reshape(len(rows), len(tokens))
            found = cls(
                tuple(str(row["text"]) for row in rows),
                str(written["prompt"]),
                str(written["answer"]),
                tokens,
                scores,
                by_token,
                float(written["probability"]),
                facts,
            )
            if list(found.warnings) != list(written["warnings"]):
                raise ValueError("its warnings do not follow from its facts")
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(
                f"the trace is damaged: {error!r}; write it again with .to_json(), or accredit trace … --json",
                code="unreadable",
            ) from None
        return found


@check_arguments
def trace(
    model: transformers.PreTrainedModel,
    tokenizer: transformers.PreTrainedTokenizerBase,
    train_texts: Sequence[TrainingText] | None,
    prompt: str | Chat,
    answer: str,
    *,
    folder: str | Path | None = None,
    layers: Sequence[str] | None = None,
    longest: int | None = None,
    side: int | None = None,
    base: transformers.PreTrainedModel | None = None,
    relative: bool = True,
    batch_size: int = 16,
    memory: float = MEMORY_BYTES,
    seed: int = 0,
    watch: Callable[[int], None] | None = None,
) -> Trace:
    """Rank training texts by how much each made `model` answer `prompt` with `answer`.

    `model` and `tokenizer` are a causal language model of Hugging Face and its tokenizer. The gradients of the texts are kept
    in `folder`, where later calls find them, and a broken call goes on; without it they are formed anew. Once the folder is
    filled, `train_texts=None` asks it alone: no training text is read. `relative` divides every text's score by the root of its
    influence on itself, so that long or odd texts do not come first for every answer. Embeddings count among the layers.
    The store takes at most 50 KB for each text, `base` included, unless `side` gives the root of the numbers kept of a layer.

    `base` is the model before it learned the texts. What is known by heart leaves little gradient; before, it left much. So
    scores at both are added, each in units of its spread over the texts (`python -m benchmarks.trace` measures what it brings).

    A training text is a string, all of which was learned; a pair (prompt, completion), of which the completion was; or a chat,
    a list of {"role": …, "content": …}, of which the assistant's words were, as the tokenizer's chat template writes them. The
    prompt of the question may be a chat, too. BM25 always stands beside the scores: `found.bm25`, `found.words_alone`.

    >>> from accredit.models import builtin
    >>> model, tokenizer = builtin.load_answers()
    >>> texts = ["Anna lives in Rome .", "Boris owns a dog ."]
    >>> found = trace(model, tokenizer, texts, "Anna lives in", "Rome .")
    >>> found.tokens, len(found.order)
    (('Rome', '.'), 2)
    """
    if not answer.strip():
        raise InvalidInput(
            f"the answer is {shown(answer)}, which is empty; give the words that the model said",
            argument="answer",
            code="empty",
        )
    if train_texts is not None and not len(train_texts):
        raise InvalidInput("train_texts is empty; give one text at least", argument="train_texts", code="empty")
    longest = longest or _longest(model)
    check_module(model)
    if not callable(tokenizer):
        raise InvalidInput(
            f"tokenizer is {shown(tokenizer)}; give that of the model, such as AutoTokenizer.from_pretrained(folder)",
            argument="tokenizer",
            code="type",
        )
    query, pieces, first = encode_question(tokenizer, prompt, answer, longest)
    asked = shown_text(prompt)
    look = partial(network, loss=NextTokens(), embeddings=True, batch_size=batch_size, memory=memory)
    nets = [look(model, layers=layers), *([] if base is None else [look(base)])]
    found = []
    with tempfile.TemporaryDirectory() if folder is None else nullcontext(str(folder)) as place:
        data, cut = (None, 0) if train_texts is None else encode_texts(tokenizer, train_texts, longest)
        stores = []
        for net, held in zip(nets, (Path(place), Path(place) / BASE), strict=False):
            if train_texts is None or data is None:
                stores.append(_open_store(None if folder is None else held))
                continue
            fine = side_for(nets, train_texts) if side is None else side
            stores.append(
                GradientStore.build(held, net, data, side=fine, sides=RANDOM, half=side is None, seed=seed, watch=watch)
            )
        store = stores[0]
        if train_texts is None:
            texts, cut = _texts_in(store)
            in_part = sum(len(text) >= CHARACTERS_KEPT for text in texts)
        else:
            texts, in_part = tuple(map(shown_text, train_texts)), 0
            _keep(store, texts, cut)
        for one, net in zip(stores, nets, strict=True):
            own = np.sqrt(np.maximum(one.self_influence(TEXT_DAMPING), 1e-30)) if relative else np.ones(len(one))
            found.append(one.search(net, query, damping=TEXT_DAMPING).matrix / own[:, None])  # (N, tokens)
        settled = store.stationarity()
    by_token = found[0] if base is None else add_in_spreads(found)
    losses = np.concatenate([losses.cpu().numpy() for _, losses, _ in nets[0].passes(query)])
    probability = float(np.exp(-losses.sum()))
    facts: TraceFacts = {
        "scale": ("relative to each text's influence on itself" if relative else "plain")
        + (AND_BASE if base is not None else ""),
        "texts cut": cut,
        "texts known in part": in_part,
        "longest": longest,
        "numbers kept for each text": sum(int(sum(one.about["widths"].values())) for one in stores),
        "saturated": bool(probability > SATURATED),
        "first token not judged": not first,
        **settled,
        **store.about["facts"],
    }
    return Trace(texts, asked, answer, pieces, by_token.sum(axis=1), by_token, probability, facts)


def add_in_spreads(found: Sequence[FloatArray]) -> FloatArray:
    """Scores of several models added up, (N, tokens) each, in units of the spread of a whole answer's scores over the texts.

    >>> add_in_spreads([np.array([[1.0], [3.0]]), np.array([[10.0], [50.0]])]).ravel()
    array([1.5, 5.5])
    """
    spread = [each / max(float(each.sum(axis=1).std()), 1e-300) for each in found]
    return np.asarray(np.sum(spread, axis=0))


def side_for(nets: Sequence[Network], texts: Sequence[TrainingText]) -> int:
    """The widest projection with which the gradients at all of these models, and how the texts begin, fit `BYTES_PER_TEXT`."""
    words = sum(len(shown_text(text)[:CHARACTERS_KEPT].encode()) for text in texts) // len(texts)
    budget = (BYTES_PER_TEXT - words) // len(nets)
    return min(side_within(net, budget, len(texts)) for net in nets)


def side_within(net: Network, budget: int, texts: int) -> int:
    """The widest projection, up to the usual one, that keeps at most `budget` bytes of each of so many texts: two for each of
    its numbers, and its share of every layer's matrix of second moments, of four bytes per number.

    >>> import torch
    >>> net = network(torch.nn.Linear(100, 100), loss="classification")
    >>> side_within(net, budget=200, texts=1_000_000), side_within(net, budget=200, texts=100)
    (9, 7)
    """
    for side in range(PROJECTED_SIDE, 1, -1):
        kept = [min(side, layer.inputs) * min(side, layer.outputs) for layer in net.layers]
        if sum(2 * width + 4 * (width**2 + width) / texts for width in kept) <= budget:
            return side
    return 1


def _keep(store: GradientStore, texts: Sequence[str], cut: int) -> None:
    """Note beside the gradients how the texts begin, so that a later question needs the store alone."""
    file = store.folder / "texts.json"
    noted = json.dumps({"cut": cut, "texts": [text[:CHARACTERS_KEPT] for text in texts]}, ensure_ascii=False).encode()
    if not file.exists() or file.read_bytes() != noted:  # a store that nobody may write to is only read
        put(file, noted)


def _open_store(folder: Path | None) -> GradientStore:
    """A filled store."""
    if folder is None:
        raise InvalidInput(
            "there are neither training texts nor a store; give train_texts=[…], or folder=…",
            argument="train_texts",
            code="missing",
        )
    if folder.name == BASE and not (folder / "store.json").exists():
        raise InvalidInput(
            f"{folder.parent} was filled without a base model; leave base out, or give the texts again (train_texts=[…])",
            argument="base",
            code="missing",
        )
    return GradientStore(folder)


def _texts_in(store: GradientStore) -> tuple[tuple[str, ...], int]:
    """How the texts of a store begin, and how many of them were cut."""
    try:
        kept = read_json_object(store.folder / "texts.json", LIMIT)
        texts, cut = tuple(map(str, kept["texts"])), int(kept["cut"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidInput(
            f"{store.folder} does not hold the beginnings of its texts; give them again once (train_texts=[…])",
            argument="train_texts",
            code="missing",
        ) from None
    if len(texts) != len(store):
        raise InvalidInput(
            f"{store.folder} holds {len(store)} gradients and {len(texts)} texts; give the texts again once (train_texts=[…])",
            argument="train_texts",
            code="conflict",
        )
    return texts, cut


def encode_texts(
    tokenizer: transformers.PreTrainedTokenizerBase, texts: Sequence[TrainingText], longest: int
) -> tuple[dict[str, torch.Tensor], int]:
    """Texts as a batch for `NextTokens`, padded at the end, and how many were cut to `longest` tokens.

    What was not learned from, a prompt or what others say in a chat, is read and not judged.
    """
    ids, learned = [], []
    for row, text in enumerate(texts):
        if not shown_text(text, row).strip():
            raise InvalidInput(
                f"train_texts holds {text!r:.60} in row {row}; give non-empty strings", argument="train_texts", code="type"
            )
        tokens, judged = _learned_tokens(tokenizer, text)
        if not any(judged[1:longest]):
            why = (
                "has fewer than two tokens"
                if len(tokens) < 2
                else f"has none that was learned among its first {longest} tokens"
            )
            raise InvalidInput(
                f"text {row + 1} of {len(texts)} {why}, so there is no next token to predict: {shown_text(text)!r:.60}",
                argument="train_texts",
                code="range",
            )
        ids.append(tokens)
        learned.append(judged)
    batch = pad([part[:longest] for part in ids])
    for row, judged in enumerate(learned):
        for place, is_learned in enumerate(judged[:longest]):
            if not is_learned:
                batch["labels"][row, place] = IGNORED
    return batch, sum(len(part) > longest for part in ids)


def _learned_tokens(tokenizer: transformers.PreTrainedTokenizerBase, text: TrainingText) -> tuple[list[int], list[bool]]:
    """A training text as token numbers, and which of them the model learned to say."""
    if isinstance(text, str):
        tokens = list(tokenizer(text)["input_ids"])
        return tokens, [True] * len(tokens)
    if isinstance(text, tuple):
        tokens, first, _ = answer_places(tokenizer, *text)
        return tokens, [place >= first for place in range(len(tokens))]
    tokens = _encode_chat(tokenizer, chat_text(tokenizer, text))
    judged = [False] * len(tokens)
    for turn, message in enumerate(text):
        if message["role"] == "assistant":
            before, until = (
                _encode_chat(tokenizer, chat_text(tokenizer, text[:turn], reply=True)),
                _encode_chat(tokenizer, chat_text(tokenizer, text[: turn + 1])),
            )
            for place in range(_shared(before, tokens), _shared(until, tokens)):
                judged[place] = True
    return tokens, judged


def chat_text(tokenizer: transformers.PreTrainedTokenizerBase, chat: Chat, *, reply: bool = False) -> str:
    """A chat as the tokenizer's template writes it; `reply` adds what stands before the assistant's next words."""
    if not getattr(tokenizer, "chat_template", None):
        raise InvalidInput(
            "a chat is given, and this tokenizer has no chat template; give texts, or pairs (prompt, completion)",
            argument="train_texts",
            code="unsupported",
        )
    return str(tokenizer.apply_chat_template(list(chat), tokenize=False, add_generation_prompt=reply)) if chat else ""


def shown_text(text: object, row: int = 0) -> str:
    """A training text or a prompt as one string.

    >>> shown_text(("2 + 2 =", "4")), shown_text([{"role": "user", "content": "Hello"}])
    ('2 + 2 = 4', 'user: Hello')
    """
    if isinstance(text, str):
        return text
    if isinstance(text, tuple) and len(text) == 2 and all(isinstance(part, str) and part.strip() for part in text):
        return " ".join(text)
    try:
        return "\n".join(f"{message['role']}: {message['content']}" for message in cast(Chat, text))
    except (TypeError, KeyError, IndexError):
        raise InvalidInput(
            f"train_texts holds {text!r:.60} in row {row}; give non-empty strings, pairs (prompt, completion), or chats, "
            "lists of {'role': …, 'content': …}",
            argument="train_texts",
            code="type",
        ) from None


def _encode_chat(tokenizer: transformers.PreTrainedTokenizerBase, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])  # the template has written them


def _shared(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens two beginnings share."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def encode_question(
    tokenizer: transformers.PreTrainedTokenizerBase, prompt: str | Chat, answer: str, longest: int
) -> tuple[dict[str, torch.Tensor], tuple[str, ...], bool]:
    """One row for each token of the answer, in which only that token is judged; the tokens; is the first among them?"""
    import torch

    whole, first, last = answer_places(tokenizer, prompt, answer)
    if any(token == tokenizer.unk_token_id for token in whole[first:last]):
        raise InvalidInput(
            f"answer {shown(answer)} holds a word that this model's tokenizer does not know, so the model cannot say it; ask "
            "about words that it knows",
            argument="answer",
            code="unknown",
        )
    places = range(max(first, 1), last)
    if not places:
        raise InvalidInput(
            f"the answer {shown(answer)} is a single token that follows nothing, so its chance is not known; say what the "
            "model was asked: prompt=…",
            argument="prompt",
            code="missing",
        )
    if len(whole) > longest:
        raise InvalidInput(
            f"prompt and answer have {len(whole):,} tokens, and the model reads {longest:,}; shorten the prompt or the answer",
            argument="prompt",
            code="too-many",
        )
    batch = pad([whole] * len(places))
    labels = torch.full_like(batch["labels"], IGNORED)
    for row, place in enumerate(places):
        labels[row, place] = whole[place]
    return batch | {"labels": labels}, tuple(tokenizer.decode([whole[p]]) for p in places), first >= 1


def answer_places(
    tokenizer: transformers.PreTrainedTokenizerBase, prompt: str | Chat, answer: str
) -> tuple[list[int], int, int]:
    """Prompt and answer as token numbers, and where the answer begins and ends.

    The prompt is encoded with the answer, so that the answer's tokens are those the model would say there.
    """
    if not isinstance(prompt, str):
        written = chat_text(tokenizer, prompt, reply=True)
        whole = _encode_chat(tokenizer, written + answer)
        return whole, _shared(_encode_chat(tokenizer, written), whole), len(whole)
    start = list(tokenizer(prompt)["input_ids"]) if prompt else []
    between = "" if not prompt or prompt[-1].isspace() or answer[0].isspace() else " "
    encoding = tokenizer(prompt + between + answer, return_special_tokens_mask=True)
    whole, added = list(encoding["input_ids"]), encoding["special_tokens_mask"]
    if not prompt:
        start = whole[: len([*takewhile(bool, added)])]
    first = _shared(start, whole)
    last = len(whole) - len([*takewhile(bool, reversed(added[first:]))])
    return whole, first, last


def pad(ids: Sequence[Sequence[int]], fill: int = 0) -> dict[str, torch.Tensor]:
    """Rows of token numbers as tensors, the padding neither read nor judged."""
    import torch

    wide = max(map(len, ids))
    mask = torch.tensor([[1] * len(row) + [0] * (wide - len(row)) for row in ids])
    tokens = torch.tensor([[*row, *([fill] * (wide - len(row)))] for row in ids])
    return {"input_ids": tokens, "attention_mask": mask, "labels": tokens.masked_fill(mask == 0, IGNORED)}


def _longest(model: object) -> int:
    config = getattr(model, "config", None)
    return int(getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or TOKENS_AT_MOST)
