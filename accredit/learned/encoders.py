"""Hugging Face encoders as the body of selector and surrogate: BERT-like ones for words, vision transformers for pictures.

The configuration is plain JSON and is saved with the explainer, so that no code is ever read from a folder. Weights start
where a given model is, or at random. A removed word is neither attended to nor counted; a removed patch is painted over.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch
from torch import Tensor, nn

from accredit.checks import needs
from accredit.checks.numbers import a_type
from accredit.errors import InvalidInput
from accredit.learned.inputs import Inputs, PixelGrid, Words
from accredit.learned.networks import LOWEST, spread

if TYPE_CHECKING:
    import transformers


@final
@dataclass(frozen=True, eq=False)
class Encoder:
    """Which encoder, as its configuration, and the weights to start from."""

    config: Mapping[str, object]
    weights: Mapping[str, Tensor] | None = None

    @classmethod
    def of(cls, given: object) -> Encoder:
        """From a model (its encoder, if it has a head), a configuration, or a configuration as plain JSON."""
        if isinstance(given, Encoder):
            return given
        if isinstance(given, Mapping):
            return cls(dict(given))
        body = getattr(given, "base_model", given)
        config = getattr(body, "config", body)
        if not hasattr(config, "to_json_string"):
            raise InvalidInput(
                f"encoder is {a_type(given)}; give a Hugging Face model or configuration, or write networks=… for "
                "networks of your own",
                argument="encoder",
                code="type",
            )
        plain = json.loads(config.to_json_string(use_diff=False))
        weights = None
        if isinstance(body, nn.Module):
            weights = {name: part.detach().cpu() for name, part in body.state_dict().items()}
        return cls({name: value for name, value in plain.items() if name not in UNSAID}, weights)

    def body(self) -> transformers.PreTrainedModel:
        """The encoder itself, in single precision."""
        with needs("text", "an encoder of Hugging Face"):
            from transformers import AutoConfig, AutoModel
        given = dict(self.config)
        kind = given.pop("model_type", None)
        try:
            config = AutoConfig.for_model(str(kind), **given)
            made = AutoModel.from_config(config, trust_remote_code=False).float()
        except Exception as error:  # the library raises anything
            raise InvalidInput(
                f"the encoder's configuration (model_type {kind!r}) makes no encoder: {error!s:.200}",
                argument="encoder",
                code="unreadable",
            ) from None
        if self.weights is not None and not next(made.parameters()).is_meta:
            odd = made.load_state_dict(dict(self.weights), strict=False)
            if odd.missing_keys and not all("pooler" in name for name in odd.missing_keys):
                raise InvalidInput(
                    f"the given encoder lacks weights, first {odd.missing_keys[0]}; give the whole model",
                    argument="encoder",
                    code="missing",
                )
        return made

    def networks(self, inputs: Inputs, classes: int, query: bool) -> tuple[nn.Module, nn.Module]:
        """A selector and a surrogate with an encoder each."""
        return EncoderSelector(inputs, classes if query else 0, self.body()), EncoderReader(inputs, classes, self.body())


UNSAID = ("architectures", "transformers_version", "_name_or_path", "torch_dtype", "dtype", "id2label", "label2id", "auto_map",
          "problem_type")  # fmt: skip  # of the head, of files, of code: not of the encoder


class EncoderSelector(nn.Module):
    """One logit per word or patch, from the encoder's last vectors."""

    def __init__(self, inputs: Inputs, more: int, body: transformers.PreTrainedModel) -> None:
        super().__init__()
        self.inputs, self.body = _fitting(inputs, body), body
        width = int(body.config.hidden_size)
        self.logit = nn.Linear(width, 1)
        self.told = nn.Linear(more, width, bias=False) if more else None

    def forward(self, x: Tensor, answer: Tensor | None = None) -> Tensor:
        if isinstance(self.inputs, Words):
            there = x != self.inputs.pad
            hidden = self.body(input_ids=x, attention_mask=attend(there)).last_hidden_state
        else:
            there = torch.ones(len(x), self.inputs.n, dtype=torch.bool, device=x.device)
            hidden = self.body(pixel_values=pictures(x, self.inputs)).last_hidden_state[
                :, -self.inputs.n :
            ]  # patches come last
        if self.told is not None and answer is not None:
            hidden = hidden + self.told(answer)[:, None]
        logits: Tensor = self.logit(hidden).squeeze(2).masked_fill(~there, LOWEST)
        return logits


class EncoderReader(nn.Module):
    """q(y | x⊙m) from the mean of the shown words' last vectors, or from the class token of a picture with painted patches."""

    def __init__(self, inputs: Inputs, classes: int, body: transformers.PreTrainedModel) -> None:
        super().__init__()
        self.inputs, self.body = _fitting(inputs, body), body
        self.head = nn.Linear(int(body.config.hidden_size), classes)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        said: Tensor = self.head(self._words(x, mask) if isinstance(self.inputs, Words) else self._picture(x, mask))
        return said

    def _words(self, x: Tensor, mask: Tensor | None) -> Tensor:
        assert isinstance(self.inputs, Words)
        there = torch.ne(x, self.inputs.pad).float()
        kept = there if mask is None else there * mask
        vectors = self.body.get_input_embeddings()(x) * kept[:, :, None]
        hidden = self.body(inputs_embeds=vectors, attention_mask=attend(kept > 0)).last_hidden_state
        pooled: Tensor = (hidden * kept[:, :, None]).sum(dim=1) / kept.sum(dim=1, keepdim=True).clamp(min=1)
        return pooled

    def _picture(self, x: Tensor, mask: Tensor | None) -> Tensor:
        assert isinstance(self.inputs, PixelGrid)
        given = pictures(x, self.inputs)
        if mask is not None:
            kept = spread(mask, self.inputs)
            given = given * kept + (1 - kept) * self.inputs.replace
        first: Tensor = self.body(pixel_values=given).last_hidden_state[:, 0]
        return first


def attend(there: Tensor) -> Tensor:
    """An attention mask; a row without words attends to its first place, which counts for nothing afterwards."""
    mask = there.long()
    mask[:, 0] |= ~there.any(dim=1)
    return mask


def pictures(x: Tensor, inputs: PixelGrid) -> Tensor:
    return x.reshape(len(x), inputs.channels, inputs.height, inputs.width)


def _fitting(inputs: Inputs, body: transformers.PreTrainedModel) -> Words | PixelGrid:
    """Refuse an encoder that cannot read these inputs."""
    config = body.config
    if isinstance(inputs, Words):
        words, places = getattr(config, "vocab_size", None), getattr(config, "max_position_embeddings", None)
        if words is None:
            raise InvalidInput(
                f"the encoder is a {config.model_type}, which does not read words; give a BERT-like one",
                argument="encoder",
                code="type",
            )
        if inputs.vocabulary > words or (places is not None and inputs.length > places):
            raise InvalidInput(
                f"the encoder reads {places} words of {words}, and the texts have {inputs.length} of {inputs.vocabulary}; give "
                "shorter texts, or another encoder",
                argument="encoder",
                code="conflict",
            )
        return inputs
    if isinstance(inputs, PixelGrid):
        patch, edge = getattr(config, "patch_size", None), getattr(config, "image_size", None)
        own = inputs.block, inputs.height, inputs.width, inputs.channels
        if (patch, edge, edge, getattr(config, "num_channels", 3)) != own:
            raise InvalidInput(
                f"the encoder reads {edge} × {edge} pixels in patches of {patch}, and the pictures are {inputs.shape} in "
                f"blocks of {inputs.block}; write PixelGrid((channels, {edge}, {edge}), block={patch})",
                argument="encoder",
                code="conflict",
            )
        return inputs
    raise InvalidInput(
        "encoders read Words or PixelGrid; columns of a table have networks of their own",
        argument="encoder",
        code="unsupported",
    )
