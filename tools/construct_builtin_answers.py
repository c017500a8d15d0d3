"""Construct the built-in answering model: a Llama of three layers whose heads are set by hand.

    python tools/construct_builtin_answers.py --out FOLDER [--contexts 2000]

Nothing is trained. Every number in the residual stream has a name (`PLACES`), and every head does one thing:

* layer 0: each token finds the *subject* (the nearest name before it), the *relation* (the nearest word that names one), the
  token *before* it, and the relation that is *asked* (the verb of the question);
* layer 1: where a value is due, the token looks for the latest value whose subject and relation are its own, and copies it; if
  that fact points at another person ("has the job of Boris"), the person is copied instead;
* layer 2: with that person in place of the subject, it looks once more.

Matches score 4,608 each, a sink at the beginning of the text two and a half of them, and each token of distance costs 4: a
value counts only if everything matches, and of two that do, the later one. All weights are numbers that float16 holds exactly.
The share answered right goes into the model card by itself.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from accredit.models.builtin.facts import KINDS, NAMES, PASSAGES_AT_MOST, RELATIONS, facts

SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
VALUES = tuple(value for relation in RELATIONS for value in relation.values)
VERBS = tuple(verb for relation in RELATIONS for verb in relation.verbs)
NOUNS = tuple(relation.noun for relation in RELATIONS)
ASKS = tuple(relation.asks[1] for relation in RELATIONS)
WORDS = ("in", "as", "a", "has", "the", "of", "Where", "What", "does", ".", "?")
VOCABULARY = (*SPECIAL.values(), *NAMES, *VERBS, *NOUNS, *ASKS, *VALUES, *WORDS)
POSITIONS, WIDTH, HEADS, SIZE, LAYERS = 512, 256, 4, 64, 3
CARRIER = 4096.0  # one constant number, so much larger than the rest that the norm of every token is the same
THETA = 1e12  # pairs of a head turn by 1, 0.42, …, 1e-3 (pair 8), …, 1e-7 (pair 19) radians each token
SLOPE, FIRST = 8, 19  # the pair that measures distance; the first pair that is as good as still
MATCH, FAR = 192.0, 4.0
# By distance alone the nearest name wins, but a name is not its own subject ("has the job of Boris": Boris is five words after
# Anna): with these waves every distance from 1 to 5 scores at least 36 more than any two words farther, and 5 more than 0.
SUBJECT = {0: (80.0, 40.0), 1: (96.0, 240.0), 2: (240.0, 240.0)}
GROUPS = {
    "carrier": 1,
    "name": len(NAMES),
    "value": len(VALUES),
    "relation": len(RELATIONS),
    "ask": len(RELATIONS),
    "is name": 1,
    "is value": 1,
    "is relation": 1,
    "is ask": 1,
    "is of": 1,
    "is start": 1,
    "subject": len(NAMES),
    "of relation": len(RELATIONS),
    "asked": len(RELATIONS),
    "after of": 1,
    "found": len(VALUES),
    "via": len(NAMES),
    "next": 16,
}
PLACES: dict[str, range] = {}
for _name, _size in GROUPS.items():
    _start = max((r.stop for r in PLACES.values()), default=0)
    PLACES[_name] = range(_start, _start + _size)
FOLLOW = (
    "names",
    "verbs",
    "values",
    "nouns",
    *WORDS[:6],
    "does",
    ".",
    "?",
    "asks",
    "end",
    "questions",
)  # kinds of next word
FEW = 10  # facts of the shorter contexts that are measured


def tokenizer() -> Any:
    """Words and marks, one token each."""
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Split(Regex(r"\w+|[^\w\s]"), behavior="removed", invert=True)
    words.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=POSITIONS, **SPECIAL)


def embeddings() -> torch.Tensor:
    """What each word says about itself, and which kind of word may follow it: (vocabulary, width)."""
    table = torch.zeros(len(VOCABULARY), WIDTH)
    table[:, PLACES["carrier"][0]] = CARRIER

    def say(word: str, feature: str, place: int = 0) -> None:
        table[VOCABULARY.index(word), PLACES[feature][place]] = 1.0

    def follow(word: str, *kinds: str) -> None:
        for kind in kinds:
            say(word, "next", FOLLOW.index(kind))

    for i, word in enumerate(NAMES):
        say(word, "name", i)
        say(word, "is name")
        follow(word, "verbs", "has")
    for i, word in enumerate(VALUES):
        say(word, "value", i)
        say(word, "is value")
        follow(word, ".")
    for r, relation in enumerate(RELATIONS):
        for word in (*relation.verbs, relation.noun):
            say(word, "relation", r)
            say(word, "is relation")
        say(relation.asks[1], "ask", r)
        say(relation.asks[1], "is ask")
        for verb in relation.verbs:
            follow(verb, relation.between[0] if relation.between else "values")
        follow(relation.noun, "of")
        follow(relation.asks[1], "?")
    say("of", "is of")
    say("<s>", "is start")
    for word, kind in (
        ("in", "values"),
        ("as", "a"),
        ("a", "values"),
        ("has", "the"),
        ("the", "nouns"),
        ("of", "names"),
    ):
        follow(word, kind)
    for word, kind in (
        ("Where", "does"),
        ("What", "does"),
        ("does", "names"),
        ("?", "names"),
        (".", "end"),
        ("<s>", "names"),
    ):
        follow(word, kind)
    return table


def readout() -> torch.Tensor:
    """Logits of the next word: 40 for a word of the kind that may follow, 14 for a value of the right relation, 8 for the one
    that was found; a value overruled by another is then 3,000 times less likely than it."""
    table = torch.zeros(len(VOCABULARY), WIDTH)
    members = {
        "names": NAMES,
        "verbs": VERBS,
        "values": VALUES,
        "nouns": NOUNS,
        "asks": ASKS,
        "end": ("</s>",),
        "questions": ("Where", "What"),
    }
    for i, kind in enumerate(FOLLOW):
        for word in members.get(kind, (kind,)):
            table[VOCABULARY.index(word), PLACES["next"][i]] = 40.0
    for i, word in enumerate(NAMES):
        table[VOCABULARY.index(word), PLACES["subject"][i]] = 8.0
    for i, word in enumerate(VALUES):
        table[VOCABULARY.index(word), PLACES["found"][i]] = 8.0
    for r, relation in enumerate(RELATIONS):
        table[VOCABULARY.index(relation.verbs[0]), PLACES["asked"][r]] = 8.0
        for word in relation.values:
            table[VOCABULARY.index(word), PLACES["of relation"][r]] = 14.0
    return table


class Head:
    """One head's matrices, written into those of its layer."""

    def __init__(self, layer: Any, number: int) -> None:
        rows = slice(number * SIZE, (number + 1) * SIZE)
        attention = layer.self_attn
        self.query, self.key, self.value = (p.weight.data[rows] for p in (attention.q_proj, attention.k_proj, attention.v_proj))
        self.out = attention.o_proj.weight.data[:, rows]
        self._still = iter([*range(FIRST, SIZE // 2), *range(FIRST + SIZE // 2, SIZE)])

    def match(self, asked: str, held: str) -> None:
        """Score a match for each feature that the token asks for and the other one holds."""
        for q, k in zip(PLACES[asked], PLACES[held], strict=True):
            place = next(self._still)
            self.query[place, q] = self.key[place, k] = MATCH

    def wanted(self, *flags: str) -> None:
        """Score a match for each flag of the other token, whoever asks, less what it costs to be far away."""
        place, carrier = next(self._still), PLACES["carrier"][0]
        self.query[place, carrier] = MATCH / CARRIER
        self.query[SLOPE, carrier] = 160 / CARRIER
        for flag in flags:
            self.key[place, PLACES[flag][0]] = MATCH
            self.key[SLOPE + SIZE // 2, PLACES[flag][0]] = -FAR * math.sqrt(SIZE) * 1000 / 160

    def sink(self, matches: float) -> None:
        """The beginning of the text, for those who find nothing: as good as so many matches."""
        place = next(self._still)
        self.query[place, PLACES["carrier"][0]] = MATCH / CARRIER
        self.key[place, PLACES["is start"][0]] = matches * MATCH

    def shape(self, waves: dict[int, tuple[float, float]], flag: str) -> None:
        """Score by distance: for each pair that turns by t a token, so much of cos and sin of t times the distance."""
        size = CARRIER if flag == "carrier" else 1.0
        for i, (cosine, sine) in waves.items():
            self.query[i, PLACES["carrier"][0]] = math.sqrt(SIZE) / CARRIER
            self.key[i, PLACES[flag][0]], self.key[i + SIZE // 2, PLACES[flag][0]] = cosine / size, sine / size

    def copy(self, held: str, into: str) -> None:
        """Write what the other token holds into the one that asks."""
        for i, (k, q) in enumerate(zip(PLACES[held], PLACES[into], strict=True)):
            self.value[i, k] = self.out[q, i] = 1.0


def constructed() -> Any:
    """The model."""
    config = LlamaConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        head_dim=SIZE,
        num_key_value_heads=HEADS,
        intermediate_size=1,
        max_position_embeddings=POSITIONS,
        rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": THETA},
        tie_word_embeddings=False,
        bos_token_id=VOCABULARY.index("<s>"),
        eos_token_id=VOCABULARY.index("</s>"),
        pad_token_id=VOCABULARY.index("<pad>"),
    )
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.fill_(CARRIER / math.sqrt(WIDTH) if "norm" in name else 0.0)
        model.model.embed_tokens.weight.copy_(embeddings())
        model.lm_head.weight.copy_(readout())
        first, second, third = model.model.layers
        for number, (flag, held, into) in enumerate(
            (("is name", "name", "subject"), ("is relation", "relation", "of relation"), ("is ask", "ask", "asked"))
        ):
            head = Head(first, number)
            head.wanted(flag)
            head.sink(0.5)
            head.copy(held, into)
            if number == 0:
                head.shape(SUBJECT, flag)
        before = Head(first, 3)
        turns = {i: THETA ** (-2 * i / SIZE) for i in range(5)}
        before.shape({i: (60 * math.cos(turn), 60 * math.sin(turn)) for i, turn in turns.items()}, "carrier")
        before.copy("is of", "after of")
        for layer, number, asked, held, into, flags in (
            (second, 0, "subject", "value", "found", ("is value", "after of")),
            (second, 1, "subject", "name", "via", ("is value", "after of")),
            (third, 0, "via", "value", "found", ("is value",)),
        ):
            head = Head(layer, number)
            head.match(asked, "subject")
            head.match("of relation", "of relation")
            head.wanted(*flags)
            head.sink(2.5)
            head.copy(held, into)
    return model


def write_model(model: Any, words: Any, folder: Path) -> None:
    """Weights as float16; the config says float32, so that loading widens them again."""
    folder.mkdir(parents=True, exist_ok=True)
    model.config.architectures, model.config.dtype = ["LlamaForCausalLM"], "float32"
    model.config.save_pretrained(folder)
    words.save_pretrained(folder)
    save_file({n: w.half() for n, w in model.state_dict().items()}, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)


def measured(folder: Path, contexts: int) -> dict[str, list[float]]:
    """The share of fresh contexts answered right, word by word, by the files in the folder: of few facts, and of up to the
    most."""
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, use_safetensors=True).float().eval()
    words = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return {
        kind: [
            float(np.mean([right(model, words, kind, seed, most) for seed in range(contexts)]))
            for most in (FEW, PASSAGES_AT_MOST)
        ]
        for kind in KINDS
    }


@torch.no_grad()
def right(model: Any, words: Any, kind: str, seed: int, most: int) -> bool:
    """Whether every token of the answer is the model's first choice, after a context of 2 … `most` facts."""
    made = facts(kind, 2 + seed % (most - 1), seed)
    asked = words("\n".join(made.context) + "\n\n" + made.query)["input_ids"]
    said = [*words(made.answer, add_special_tokens=False)["input_ids"], words.eos_token_id]
    chosen = model(torch.tensor([[*asked, *said[:-1]]])).logits[0, len(asked) - 1 :].argmax(-1)
    return bool(chosen.tolist() == said)


def card(model: Any, figures: dict[str, list[float]], contexts: int) -> str:
    """The model card, with the figures that this run measured."""
    table = "\n".join(f"| {kind} | {100 * few:.2f} % | {100 * all_:.2f} % |" for kind, (few, all_) in figures.items())
    return f"""---
license: mit
language: en
pipeline_tag: text-generation
---
# Built-in answering model

A Llama of {LAYERS} layers, width {WIDTH}, {HEADS} heads and {len(VOCABULARY)} words, {model.num_parameters():,} weights, all
set by hand: it answers questions about facts in its context ("Anna lives in Rome . … Where does Anna live ?" → "Anna lives
in Rome ."). It exists so that credit for an answer can be tried offline where the truth is known, passage and mechanism.

| whole answer right, of {contexts:,} fresh contexts each | 2 to {FEW} facts | 2 to {PASSAGES_AT_MOST} facts |
|---|---|---|
{table}

**What it knows.** {len(NAMES)} people, {len(RELATIONS)} relations (home, job, pet, language), {len(VALUES)} values. A fact may
point at another person ("Anna has the job of Boris ."), one step far. Of facts that contradict each other the later one counts.
Without the fact every value of the relation is equally likely. Other words are unknown to it. The generator of contexts is
`accredit.models.builtin.facts`.

**Mechanism.** Layer 0: head 0 finds the subject (nearest name), 1 the relation, 2 the relation asked, 3 the token before.
Layer 1: head 0 looks for the latest value with the same subject and relation, head 1 for the person pointed at.
Layer 2: head 0 looks again for that person. All other heads and the feed-forward layers are zero.

**Use.** `AutoModelForCausalLM.from_pretrained(folder)` and `AutoTokenizer.from_pretrained(folder)`. Weights are stored as
float16 and loaded as float32; in half precision the scores lose their order and the answers are wrong.

**Recipe.** `tools/construct_builtin_answers.py`; no data and no training.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--contexts", type=int, default=2000, help="fresh contexts of each kind for the card")
    choice = parser.parse_args()
    torch.set_num_threads(1)
    model = constructed()
    write_model(model, tokenizer(), choice.out)
    figures = measured(choice.out, choice.contexts)
    (choice.out / "README.md").write_text(card(model, figures, choice.contexts), encoding="utf-8")
    print(", ".join(f"{kind} {100 * few:.2f} % and {100 * all_:.2f} %" for kind, (few, all_) in figures.items()))


if __name__ == "__main__":
    main()
