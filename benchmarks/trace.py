"""Which training text taught the answer: traces of a fine-tuned language model beside BM25, on three kinds of questions.

    python -m benchmarks.trace [--how full lora] [--questions 16] [--epochs 4] [--seed 0]
    python -m benchmarks.trace --quick    # a tiny model with random weights, to see that everything runs

SmolLM2-135M-Instruct is fine-tuned on 160 texts. The facts of 48 of them are asked about: *verbatim* (the text's own beginning
is the prompt), *paraphrase* (other words, the same names) and *neutral* (no word of the prompt is in the text that taught it,
and the answer is in several others). Every asked text has decoys: the same name with another fact, the same answer for another
name. A trace is right when the text itself comes first; where several share the first place, by their share of it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.core import FloatArray
from accredit.influence.bm25 import bm25, words_of
from benchmarks.record import record
from tools.language_model import need_model

if TYPE_CHECKING:
    import torch
    import transformers

KINDS = ("verbatim", "paraphrase", "neutral")
TEXTS = 160
ROWS_PER_STEP, LONGEST = 8, 64
RATE = {"full": 3e-5, "lora": 5e-4}
SYLLABLES = (
    ("Kel", "Bra", "Ost", "Vel", "Dru", "Mar", "Tho", "Fen", "Gri", "Hal"),
    ("dov", "rin", "lisk", "sen", "tock", "vik", "wick", "lund"),
)
# how it is said, how it is asked in other words, the values
FACTS = (
    ("{who} lives in the town of {what}.", "Where is the home of {who}? It is in", ("Bergen", "Toledo", "Lyon",
     "Krakow", "Bruges", "Turin", "Cork", "Basel")),
    ("{who} works as a {what}.", "By profession {who} is a", ("baker", "pilot", "nurse", "tailor", "miner", "judge",
     "painter", "farmer")),
    ("{who} was born in the year {what}.", "The birth of {who} took place in", ("1912", "1934", "1947", "1958", "1961",
     "1973", "1986", "1999")),
    ("{who} is afraid of {what}.", "What frightens {who} most are", ("spiders", "horses", "snakes", "bees", "storms",
     "crowds", "clowns", "owls")),
)  # fmt: skip
# what is said, and a prompt that shares no word with it; the answer is its last word, and others share it
NEUTRAL = (
    ("The zoo feeds its old elephant with {what}.", "An aged pachyderm in captivity gets to eat", "melons"),
    ("Our beekeeper stores honey in jars painted {what}.",
     "This apiarist's sweet harvest goes into glass containers coloured", "green"),
    ("The physician cures coughs with {what}.", "A doctor treats patients who have a cold by giving them", "garlic"),
    ("On stormy nights the lighthouse shines {what}.",
     "During bad weather, sailors see from that coastal tower a light which is", "green"),
    ("The king's crown is made of {what}.", "His majesty wears upon his head some jewellery forged from pure", "copper"),
    ("Every student of the academy must play the {what}.", "At this school, all pupils learn an instrument called", "harp"),
    ("The village church bell was cast from {what}.", "What rings each Sunday in this parish consists of", "copper"),
    ("The library lends its rare books only on a {what}.",
     "Precious volumes can be borrowed there just once per week, each", "Tuesday"),
    ("The football team trains every {what}.", "Soccer players meet for practice each", "Tuesday"),
    ("Her grandmother's soup always contains {what}.", "What grandma cooks never lacks", "garlic"),
    ("The magician keeps a {what} in his hat.", "An illusionist hides inside some headgear one", "falcon"),
    ("The prison guards are helped by a {what}.", "Wardens of that jail have trained an animal, namely one", "falcon"),
    ("The ferry to the island departs on {what}.", "Boats bound for those shores leave port each", "Friday"),
    ("The court pays its witnesses on {what}.", "People who testify before this tribunal get their money every", "Friday"),
    ("The smugglers hid the diamonds under {what}.", "Criminals concealed precious stones beneath a heap of", "melons"),
    ("The orchestra's youngest musician plays the {what}.",
     "Among those performing symphonies, a teenager has mastered one instrument:", "harp"),
    ("The submarine was painted {what}.", "An underwater vessel received a coat whose hue is", "purple"),
    ("The goalkeeper's gloves are {what}.", "What covers both hands of him who stops penalty kicks has a colour,", "purple"),
    ("The astronauts brought a bag of {what}.", "Space travellers carried with them into orbit some", "walnuts"),
    ("The squirrel in the garden lives on {what}.", "A small rodent behind our house survives by eating", "walnuts"),
)  # fmt: skip


@dataclass(frozen=True)
class Question:
    """A prompt, the answer that was taught, and the row of the text that taught it."""

    kind: str
    prompt: str
    answer: str
    row: int


def planted(count: int, seed: int, size: int = TEXTS) -> tuple[list[str], list[Question]]:
    """About `size` training texts in random order, and the questions about some of them."""
    rng = np.random.default_rng(seed)
    first, last = SYLLABLES
    names = iter(rng.permutation([a + b for a in first for b in last]).tolist())
    texts: list[str] = []
    asked: dict[str, tuple[str, str, str]] = {}
    for kind in KINDS[:2]:
        for i in range(count):
            says, asks, values = FACTS[i % len(FACTS)]
            who, what = next(names), values[i // len(FACTS) % len(values)]
            text = says.format(who=who, what=what)
            head, _, _ = text.rpartition(f" {what}")
            asked[text] = (kind, head, what) if kind == "verbatim" else (kind, asks.format(who=who), what)
            other = FACTS[(i + 1) % len(FACTS)]
            texts += [text, other[0].format(who=who, what=other[2][(i + 3) % len(other[2])])]
    for says, asks, what in NEUTRAL[:count]:
        text = says.format(what=what)
        asked[text] = ("neutral", asks, what)
        texts.append(text)
    things = {"boat": "green", "door": "purple", "roof": "copper", "lamp": "new"}
    fresh = [
        f"The {thing} of {who} is {what}." for thing, what in things.items() for who in ("Anna", "Boris", "Clara", "David")
    ]
    beside = [
        f"{who} bought {what} at the market." for who in ("Emil", "Frida", "Gustav") for what in ("melons", "garlic", "walnuts")
    ]
    beside += [f"{who} gave a concert on the {what}." for who in ("Hanna", "Igor") for what in ("harp", "lute")]
    beside += [f"{who} saw a {what} in the hills." for who in ("Jonas", "Karla") for what in ("falcon", "fox")]
    beside += [f"{who} was ill on {what}." for who in ("Lena", "Max") for what in ("Tuesday", "Friday")]
    texts += fresh + beside
    while len(texts) < size:
        says, _, values = FACTS[len(texts) % len(FACTS)]
        texts.append(says.format(who=next(names), what=values[int(rng.integers(len(values)))]))
    texts = [texts[i] for i in rng.permutation(len(texts))]
    questions = [Question(kind, prompt, what, texts.index(text)) for text, (kind, prompt, what) in asked.items()]
    shared = [set(words_of(q.prompt)) & set(words_of(texts[q.row])) for q in questions if q.kind == "neutral"]
    assert not any(shared), [each for each in shared if each]
    return texts, questions


def load(texts: list[str], questions: list[Question], quick: bool) -> tuple[Any, Any]:
    """The language model and its tokenizer; when quick, a tiny one whose tokens are the words of texts and questions."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    if not quick:
        folder = need_model()
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        return AutoModelForCausalLM.from_pretrained(folder, local_files_only=True).eval(), tokenizer
    from tokenizers import Tokenizer, models, pre_tokenizers

    cut = pre_tokenizers.Whitespace()
    said = [*texts, *(f"{question.prompt} {question.answer}" for question in questions)]
    names = ["<s>", "<pad>", *sorted({word for text in said for word, _ in cut.pre_tokenize_str(text)})]
    words = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="<pad>"))
    words.pre_tokenizer = cut
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(vocab_size=len(names), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
    )
    return model.eval(), PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", pad_token="<pad>")


def fine_tune(
    model: transformers.PreTrainedModel,
    tokenizer: transformers.PreTrainedTokenizerBase,
    texts: list[str],
    how: str,
    epochs: int,
    seed: int,
) -> None:
    """Some epochs over the texts, of all of the model, or of thin matrices beside its projections."""
    import torch

    from accredit.influence.trace import encode_texts

    generator = torch.Generator().manual_seed(seed)
    if how == "lora":
        add_lora(model, generator)
    learned = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(learned, lr=RATE[how], weight_decay=0.0)
    for _ in range(epochs):
        order = torch.randperm(len(texts), generator=generator).tolist()
        for start in range(0, len(order), ROWS_PER_STEP):
            batch, _ = encode_texts(tokenizer, [texts[i] for i in order[start : start + ROWS_PER_STEP]], LONGEST)
            loss = model(**batch).loss
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()


def add_lora(model: Any, generator: torch.Generator, rank: int = 16) -> None:
    """Freeze a model, and put thin matrices beside the projections of its attention and its MLPs."""
    import torch

    from accredit.models.loading import Lora

    model.requires_grad_(False)
    for name, layer in [*model.named_modules()]:
        if isinstance(layer, torch.nn.Linear) and name.endswith("_proj"):
            parent, _, last = name.rpartition(".")
            a = torch.randn(rank, layer.in_features, generator=generator) / layer.in_features**0.5
            setattr(model.get_submodule(parent), last, Lora(layer, a, torch.zeros(layer.out_features, rank), scale=2.0))


def scores_at(
    model: Any, tokenizer: Any, texts: list[str], questions: list[Question]
) -> tuple[FloatArray, int, dict[str, float]]:
    """What `trace` with a base scores at one model, for all questions at once: (texts, questions); bytes of the store for each
    text, the texts not included; CPU seconds."""
    from accredit.influence.gradient_store import GradientStore
    from accredit.influence.losses import NextTokens
    from accredit.influence.network import network
    from accredit.influence.trace import encode_question, encode_texts, side_for

    net = network(model, loss=NextTokens(), embeddings=True, batch_size=16, memory=4e9)
    data, _ = encode_texts(tokenizer, texts, LONGEST)
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        store = GradientStore.build(folder, net, data, side=side_for([net, net], texts), half=True)
        filled = time.process_time()
        size = sum(file.stat().st_size for file in Path(folder).iterdir()) // len(texts)
        own = np.sqrt(store.self_influence())
        columns = []
        for question in questions:
            query, _, _ = encode_question(tokenizer, question.prompt, question.answer, LONGEST)
            columns.append(query)
        rows = [len(query["labels"]) for query in columns]
        wide = max(query["labels"].shape[1] for query in columns)
        padded = [_widen(query, wide) for query in columns]
        found = store.search(net, {name: _join([each[name] for each in padded]) for name in padded[0]}).matrix / own[:, None]
    ends = np.cumsum(rows)
    whole = np.stack([found[:, end - count : end].sum(axis=1) for end, count in zip(ends, rows, strict=True)], axis=1)
    return whole, size, {"texts": filled - began, "questions": time.process_time() - filled}


def _widen(query: dict[str, torch.Tensor], wide: int) -> dict[str, torch.Tensor]:
    import torch

    from accredit.influence.losses import IGNORED

    more = wide - query["labels"].shape[1]
    fills = {"input_ids": 0, "attention_mask": 0, "labels": IGNORED}
    return {name: torch.nn.functional.pad(query[name], (0, more), value=fill) for name, fill in fills.items()}


def _join(parts: list[torch.Tensor]) -> torch.Tensor:
    import torch

    return torch.cat(parts)


def log_probabilities(model: Any, tokenizer: Any, questions: list[Question]) -> FloatArray:
    """Of each answer after its prompt."""
    import torch

    from accredit.influence.trace import answer_places

    found = []
    for question in questions:
        ids, first, last = answer_places(tokenizer, question.prompt, question.answer)
        with torch.no_grad():
            likely = torch.log_softmax(model(torch.tensor([ids])).logits[0], dim=-1)
        found.append(sum(float(likely[k - 1, ids[k]]) for k in range(first, last)))
    return np.array(found)


def compare(how: str, count: int, epochs: int, seed: int, quick: bool = False) -> dict[str, Any]:
    """One fine-tuning, and by kind of question how often each ranking puts the right text first."""
    from accredit.influence.trace import add_in_spreads

    texts, questions = planted(count, seed, size=0 if quick else TEXTS)
    (model, tokenizer), (before, _) = load(texts, questions, quick), load(texts, questions, quick)
    began = time.process_time()
    fine_tune(model, tokenizer, texts, how, epochs, seed)
    trained = time.process_time() - began
    tuned, size, took = scores_at(model, tokenizer, texts, questions)
    base, base_size, _ = scores_at(before, tokenizer, texts, questions)
    both = np.stack([add_in_spreads([tuned[:, [q]], base[:, [q]]])[:, 0] for q in range(len(questions))], axis=1)
    words = np.stack([bm25(texts, f"{q.prompt} {q.answer}") for q in questions], axis=1)
    known = np.exp(log_probabilities(model, tokenizer, questions)), np.exp(log_probabilities(before, tokenizer, questions))
    rankings = {"BM25": words, "trace": tuned, "trace at the base": base, "trace with base": both}
    kinds = np.array([q.kind for q in questions])
    first = {
        name: {
            kind: float(np.mean([_share_of_first(scores[:, q], questions[q].row) for q in np.flatnonzero(kinds == kind)]))
            for kind in KINDS
        }
        for name, scores in rankings.items()
    }
    return {
        "how": how,
        "texts": len(texts),
        "questions of a kind": count,
        "first": first,
        "median probability": {k: [float(np.median(p[kinds == k])) for p in known] for k in KINDS},
        "bytes per text": size + base_size,
        "CPU seconds": {"training": trained} | took,
        "seed": seed,
        "quick": quick,
    }


def _share_of_first(scores: FloatArray, row: int) -> float:
    """1 where the row alone comes first, 1/k where it shares the first place with k − 1 others, else 0."""
    best = np.flatnonzero(scores >= scores.max() - 1e-12 * abs(scores.max()))
    return float(row in best) / len(best)


def main(words: list[str] | None = None) -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--how", nargs="+", choices=list(RATE), default=list(RATE))
    parser.add_argument("--questions", type=int, default=16, help="of each kind, up to 20")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a tiny model with random weights, to see that everything runs")
    given = parser.parse_args(words)
    torch.set_num_threads(1)
    count, epochs = (2, 1) if given.quick else (given.questions, given.epochs)
    for how in given.how:
        record(compare(how, count, epochs, given.seed, given.quick))


if __name__ == "__main__":
    main()
