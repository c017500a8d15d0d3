"""Verb number: given the words before a verb, will it be singular or plural? The task and the model of the agreement study.

The study trained on 1.5 million parsed sentences that are not available here. Number is visible on the verb itself, so plain
text gives examples without a parser: the words of a sentence before its first *is, are, was, were*, and that verb's number.
*Have* and *do* are left out (an infinitive looks like a plural), and so are subjects that give their number away or have none
before the verb (*it is*, *there are*). The model is fitted to such examples, to minimal pairs, and to part of the Linzen
sentences, and tested on the rest. It starts at random, with word vectors of GloVe, or from an encoder that was pretrained.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks import needs
from accredit.core import BoolArray
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    import torch
    import transformers

PLURAL = {"are": 1, "were": 1, "have": 1, "do": 1, "is": 0, "was": 0, "has": 0, "does": 0}
PAD, UNKNOWN, CLS = 0, 1, 2
WORDS_BEFORE_VERB = 40  # words before the verb
LAYERS = 6  # of the study's model
WORD = re.compile(r"[a-z0-9]+(?:['’-][a-z0-9]+)*|[^\sa-z0-9]")
PLAIN_TEXT = ("ag_news_10k.tsv.gz", "yelp_reviews_10k.tsv.gz", "mr_sentence_polarity.tsv.gz", "imdb_400.tsv.gz")
BE = {"are": 1, "were": 1, "is": 0, "was": 0}
NO_NOUN = set(
    re.findall(
        r"\S+",
        """
    i you he she it we they this that these those there here what why how where when who which so as than if and or but nor
    neither to be not one ,
""",
    )
)  # before a form of *be*: no noun whose number could be learned


@dataclass(frozen=True)
class Prefix:
    """The words before a verb, and whether the verb is plural."""

    words: tuple[str, ...]
    plural: int
    attractors: int = 0  # nouns of the other number between subject and verb


def linzen(folder: Path) -> list[Prefix]:
    """The Linzen sentences: the words before the verb, at most `WORDS_BEFORE_VERB` of them."""
    found = []
    for index, verb, wrong, attractors, text in _rows(folder / "agreement_linzen_wiki.tsv.gz"):
        words = tuple(text.lower().split()[: int(index)])[-WORDS_BEFORE_VERB:]
        if words and verb != wrong:  # four rows do not show the number
            found.append(Prefix(words, _number(verb, wrong), int(attractors)))
    return found


def from_plain_text(folder: Path, limit: int) -> list[Prefix]:
    """At most `limit` different examples from sentences of news and reviews, as many singular as plural, in turn."""
    found: tuple[dict[Prefix, None], dict[Prefix, None]] = ({}, {})
    for name in PLAIN_TEXT:
        for row in _rows(folder / name):
            for sentence in re.split(r"[.!?]\s", row[-1].lower()):
                words = WORD.findall(sentence)[: WORDS_BEFORE_VERB + 1]
                at = next((k for k, word in enumerate(words) if word in BE), 0)
                if at > 1 and words[at - 1] not in NO_NOUN:
                    found[BE[words[at]]][Prefix(tuple(words[:at]), BE[words[at]])] = None
            if min(map(len, found)) >= limit // 2:
                break
    pairs = zip(*found, strict=False)  # the rarer number says how many
    return [prefix for pair in pairs for prefix in pair][:limit]


def minimal_pairs(folder: Path) -> list[Prefix]:
    """BLiMP's grammatical sentences up to the verb, of the paradigms whose pairs differ in the verb and not in its subject."""
    found = []
    for paradigm, _, good, bad in _rows(folder / "blimp_subject_verb.tsv.gz"):
        if paradigm.endswith("_2"):
            continue
        right, wrong = good.lower().split(), bad.lower().split()
        at = next(k for k, (word, other) in enumerate(zip(right, wrong, strict=False)) if word != other)
        found.append(Prefix(tuple(right[:at]), _number(right[at].removesuffix("n't"), wrong[at].removesuffix("n't"))))
    return found


def _number(verb: str, other: str) -> int:
    """1 if `verb` is the plural of the pair: the form without the *s*.

    >>> _number("run", "runs"), _number("was", "were"), _number("miss", "misses")
    (1, 0, 1)
    """
    return PLURAL.get(verb, int(len(verb) < len(other)))


def _rows(file: Path) -> Iterator[list[str]]:
    if not file.exists():
        raise InvalidInput(
            f"data folder {file.parent} has no {file.name}; give the folder that holds it: data=FOLDER",
            argument="data",
            code="missing",
        )
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            yield line.rstrip("\n").split("\t")


@dataclass
class VerbNumberModel:
    """A transformer of six layers with a classifier on its first token, and its vocabulary of whole words."""

    network: transformers.BertForSequenceClassification
    vocabulary: dict[str, int]

    def encode(self, words: Sequence[str]) -> torch.Tensor:
        """[CLS] and the words, as ids: (T,)."""
        import torch

        return torch.tensor([CLS, *(self.vocabulary.get(word, UNKNOWN) for word in words)])

    def save(self, folder: Path) -> None:
        """Weights as safetensors, vocabulary as text."""
        from accredit.models.state import quiet

        with quiet():
            self.network.save_pretrained(folder)
        (folder / "vocabulary.txt").write_text("\n".join(self.vocabulary), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> VerbNumberModel:
        """What `save` wrote."""
        from transformers import BertForSequenceClassification

        from accredit.models.state import quiet, settle

        words = (folder / "vocabulary.txt").read_text(encoding="utf-8").split("\n")
        with quiet():
            network = BertForSequenceClassification.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, attn_implementation="eager"
            )
        return cls(settle(network).eval(), {word: k for k, word in enumerate(words)})


def train(
    folder: Path, training: Sequence[Prefix], epochs: int, seed: int, words: int = 20_000, start: Path | None = None
) -> VerbNumberModel:
    """Fit the model. It starts from the encoder in the folder `start`; without one at random, with word vectors of GloVe."""
    with needs("text", "training the verb-number model"):
        import torch

    counts = Counter(word for prefix in training for word in prefix.words)
    vocabulary = {word: k for k, word in enumerate(["[PAD]", "[UNK]", "[CLS]", *(w for w, _ in counts.most_common(words))])}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = _fresh(vocabulary, folder) if start is None else _pretrain(vocabulary, start)
        model = VerbNumberModel(network, vocabulary)
        rate, size = (5e-4, 128) if start is None else (1e-4, 32)
        _fit(model, training, epochs, seed, rate, size)
    network.eval()
    return model


def _fresh(vocabulary: dict[str, int], folder: Path) -> transformers.BertForSequenceClassification:
    """Eight heads and width 128, at random but for the vectors of words that GloVe knows."""
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=128,
        num_hidden_layers=LAYERS,
        num_attention_heads=8,
        intermediate_size=512,
        max_position_embeddings=WORDS_BEFORE_VERB + 2,
        num_labels=2,
        type_vocab_size=1,
        attn_implementation="eager",
    )
    network = BertForSequenceClassification(config)
    _start_from_glove(network, vocabulary, folder)
    return network


def _pretrain(vocabulary: dict[str, int], start: Path) -> transformers.BertForSequenceClassification:
    """The BERT of a folder with a new classifier. A word's vector is the mean of its pieces' and is not trained."""
    import torch
    from transformers import AutoConfig, AutoTokenizer, BertForSequenceClassification

    from accredit.models.state import quiet

    try:
        config = AutoConfig.from_pretrained(start, local_files_only=True, trust_remote_code=False)
        if config.model_type != "bert" or config.num_hidden_layers != LAYERS:
            raise InvalidInput(
                f"it holds a {config.model_type} of {config.num_hidden_layers} layers", argument="start", code="unsupported"
            )
        tokenizer = AutoTokenizer.from_pretrained(start, local_files_only=True, trust_remote_code=False)
        with quiet():  # the classifier is new, which is meant
            network = BertForSequenceClassification.from_pretrained(
                start, local_files_only=True, use_safetensors=True, num_labels=2, attn_implementation="eager"
            )
    except (OSError, ValueError, AttributeError, InvalidInput) as error:
        raise InvalidInput(
            f"start {start.name} is not a folder with a BERT encoder of {LAYERS} layers, its tokenizer and "
            f"safetensors: {str(error).splitlines()[0]}",
            argument="start",
            code="unreadable",
        ) from None
    names = [tokenizer.pad_token, tokenizer.unk_token, tokenizer.cls_token, *list(vocabulary)[CLS + 1 :]]
    pieces = network.get_input_embeddings().weight.detach()
    rows = tokenizer(names, add_special_tokens=False)["input_ids"]
    table = torch.stack([pieces[row or [tokenizer.unk_token_id]].mean(dim=0) for row in rows])
    vectors = torch.nn.Embedding(len(table), table.shape[1], padding_idx=PAD, _weight=table, _freeze=True)
    network.set_input_embeddings(vectors)
    network.config.vocab_size, network.config.pad_token_id = len(table), PAD
    return network


def _start_from_glove(network: transformers.BertForSequenceClassification, vocabulary: dict[str, int], folder: Path) -> None:
    """The first 100 of 128 dimensions of known words."""
    import torch

    names = (folder / "glove6b_100d_top30k_vocab.txt").read_text(encoding="utf-8").split("\n")
    vectors = np.load(folder / "glove6b_100d_top30k.npz")["vectors"].astype(np.float32)
    table = network.get_input_embeddings().weight
    scale = 0.05 / float(vectors.std())
    with torch.no_grad():
        for k, word in enumerate(names[: len(vectors)]):
            if word in vocabulary:
                table[vocabulary[word], :100] = torch.from_numpy(vectors[k] * scale)


def _fit(model: VerbNumberModel, training: Sequence[Prefix], epochs: int, seed: int, rate: float, size: int) -> None:
    import torch

    rng = np.random.default_rng(seed)
    steps = epochs * ((len(training) + size - 1) // size)
    weights = [weight for weight in model.network.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(weights, lr=rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps + 1, pct_start=0.1)
    lengths = np.array([len(prefix.words) for prefix in training])
    model.network.train()
    for _ in range(epochs):
        order = np.argsort(lengths + rng.random(len(lengths)) * 2)  # like lengths together, order among them random
        for start in rng.permutation(np.arange(0, len(order), size)):
            batch = [training[k] for k in order[start : start + size]]
            ids = torch.nn.utils.rnn.pad_sequence([model.encode(p.words) for p in batch], batch_first=True)
            out = model.network(
                input_ids=ids, attention_mask=(ids != PAD).long(), labels=torch.tensor([p.plural for p in batch])
            )
            optimiser.zero_grad()
            out.loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimiser.step()
            schedule.step()


def answers(model: VerbNumberModel, prefixes: Sequence[Prefix]) -> BoolArray:
    """For each verb, whether its number is predicted correctly: (N,)."""
    import torch

    right = []
    with torch.inference_mode():
        for start in range(0, len(prefixes), 256):
            batch = prefixes[start : start + 256]
            ids = torch.nn.utils.rnn.pad_sequence([model.encode(p.words) for p in batch], batch_first=True)
            predicted = model.network(input_ids=ids, attention_mask=(ids != PAD).long()).logits.argmax(dim=1)
            right.append(predicted.numpy() == np.array([p.plural for p in batch]))
    return np.concatenate(right)
