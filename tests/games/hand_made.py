"""Text classifiers whose credits are known on paper."""

from __future__ import annotations

from typing import Any

import torch
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from accredit.models import TextModel
from tests.models.small_models import wordpiece


class BagConfig(PreTrainedConfig):
    model_type = "bag"
    vocab_size: int = 25
    hidden_size: int = 4


class BagForSequenceClassification(PreTrainedModel):
    """Logits W · Σ embeddings: every token adds its own share, whatever the others do."""

    config_class = BagConfig

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        generator = torch.Generator().manual_seed(5)
        self.embedding = torch.nn.Embedding(config.vocab_size, config.hidden_size)
        self.head = torch.nn.Linear(config.hidden_size, 2)
        self.post_init()
        with torch.no_grad():
            self.embedding.weight.copy_(torch.randn(self.embedding.weight.shape, generator=generator))
            self.head.weight.copy_(torch.randn(self.head.weight.shape, generator=generator))

    def get_input_embeddings(self) -> torch.nn.Embedding:
        return self.embedding

    def forward(self, input_ids=None, inputs_embeds=None, attention_mask=None, **_options):
        vectors = self.embedding(input_ids) if inputs_embeds is None else inputs_embeds
        return SequenceClassifierOutput(logits=self.head((vectors * attention_mask[..., None]).sum(dim=1)))


class BothForSequenceClassification(BagForSequenceClassification):
    """Logit 1 is 1 when "not" and "good" are both in the text, else 0."""

    def forward(self, input_ids=None, inputs_embeds=None, attention_mask=None, **_options):
        names = wordpiece().get_vocab()
        here = [((input_ids == names[w]) & (attention_mask == 1)).any(dim=1).float() for w in ("not", "good")]
        return SequenceClassifierOutput(logits=torch.stack([torch.zeros_like(here[0]), here[0] * here[1]], dim=1))


def bag(dtype: torch.dtype = torch.float64) -> TextModel:
    return TextModel(BagForSequenceClassification(BagConfig()).to(dtype).eval(), wordpiece(), "bag")


def both() -> TextModel:
    return TextModel(BothForSequenceClassification(BagConfig()).eval(), wordpiece(), "both")
