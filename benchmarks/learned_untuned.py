"""Models and data on which nothing of the fast values was chosen: trees of two libraries, a BERT and a ViT from configurations.

Each gives a family of games and the number of inputs it needs. Columns are eight, texts have three to five words, pictures six
patches: every value is cheap to know exactly.
"""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch

from accredit.explanation.requests import RowRequest
from accredit.learned.input_sets import Family, InputFamily, RowFamily


def boosted(folder: Path, inputs: int) -> Family:
    """A regression of Friedman's first kind by XGBoost: eight columns, three of them noise."""
    from sklearn.datasets import make_friedman1
    from xgboost import XGBRegressor

    x, y = make_friedman1(1000 + inputs, 8, noise=1.0, random_state=5)
    model = XGBRegressor(n_estimators=60, max_depth=4, random_state=5, n_jobs=1).fit(x[:1000], y[:1000])
    return RowFamily.of(x[1000:], model, RowRequest(background=x[:5]))


def light(folder: Path, inputs: int) -> Family:
    """Three classes by LightGBM: eight columns, five that tell and one that repeats them; the probability of each class."""
    from lightgbm import LGBMClassifier
    from sklearn.datasets import make_classification

    x, y = make_classification(1000 + inputs, 8, n_informative=5, n_redundant=1, n_classes=3, random_state=6)
    model = LGBMClassifier(n_estimators=40, num_leaves=12, random_state=6, n_jobs=1, verbose=-1).fit(x[:1000], y[:1000])
    return RowFamily.of(x[1000:], model, RowRequest(background=x[:5], payoff="probability"))


def bert(folder: Path, inputs: int) -> Family:
    """The first three to five words of sentences of film reviews, by a BERT with the weights it was made with."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    from accredit.models import TextModel

    with gzip.open(folder / "mr_sentence_polarity.tsv.gz", "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t")[-1].split() for line in file][1:]
    sentences = [[word for word in line if word.isalpha()] for line in lines]
    texts = dict.fromkeys(" ".join(line[: 3 + k % 3]) for k, line in enumerate(sentences) if len(line) >= 5)
    common = Counter(word for line in sentences for word in line).most_common(3000)
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(word for word, _ in common)]
    words = Tokenizer(models.WordLevel({word: k for k, word in enumerate(names)}, unk_token="[UNK]"))
    words.normalizer, words.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
    config = BertConfig(
        vocab_size=len(names),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        initializer_range=0.2,
        num_labels=3,
    )
    torch.manual_seed(7)
    model = TextModel(BertForSequenceClassification(config).eval(), tokenizer, "a BERT from its configuration")
    return InputFamily.of(list(texts)[:inputs], model)


def digits(folder: Path, inputs: int) -> Family:
    """Digits of MNIST in ten classes, by a ViT made from a configuration and trained on two thousand of them."""
    from transformers import ViTConfig, ViTForImageClassification

    from accredit.models import ImageModel

    with np.load(folder / "mnist.npz", allow_pickle=False) as arrays:
        x, y = arrays["x_train"], arrays["y_train"]
    torch.manual_seed(8)
    named: dict[str, Any] = {"id2label": {k: str(k) for k in range(10)}, "label2id": {str(k): k for k in range(10)}}
    config = ViTConfig(
        image_size=28,
        patch_size=7,
        num_channels=1,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        **named,
    )
    network = ViTForImageClassification(config)
    model = ImageModel(network, None, "a ViT from its configuration")
    optimiser = torch.optim.Adam(network.parameters(), lr=2e-3)
    order = np.random.default_rng(8)
    for _ in range(250):
        at = order.integers(2000, size=64)
        pixels = torch.from_numpy(np.stack([np.asarray(x[k], dtype=np.float32) for k in at]))[:, None] / 255
        loss = torch.nn.functional.cross_entropy(network(pixels).logits, torch.from_numpy(y[at]).long())
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
    network.eval()
    return InputFamily.of(list(x[2000 : 2000 + inputs]), model, players=(2, 3), payoff="probability")


UNTUNED = {"xgboost": boosted, "lightgbm": light, "bert": bert, "ten digits": digits}
