"""What a model does, as its class and its configuration say: its task, the names of its outputs, their probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from accredit.errors import InvalidInput
from accredit.models.payoffs import Law

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Task = Literal["classify", "fill", "continue", "translate"]

HEADS: dict[str, Task] = {
    "ForSequenceClassification": "classify",
    "ForMaskedLM": "fill",
    "ForConditionalGeneration": "translate",
    "ForCausalLM": "continue",
    "LMHeadModel": "continue",
}

ROUTES = {
    "ForTokenClassification": "labels tokens; name one: accredit.models.token_label_model(model, tokenizer, at=…)",
    "ForQuestionAnswering": "finds a span; name one: accredit.models.span_model(model, tokenizer, start=…, end=…)",
    "ForMultipleChoice": "compares choices that it reads together",
    "Model": "gives vectors; compare with a text: accredit.models.similarity_model(model, tokenizer, to='…')",
}


def task_of(model: PreTrainedModel) -> Task:
    """What a transformers model does with a text, inferred from its class and, if it generates, from its configuration."""
    names = [kind.__name__ for kind in type(model).__mro__]
    for ending, task in HEADS.items():
        if any(name.endswith(ending) for name in names):
            encodes = bool(getattr(model.config, "is_encoder_decoder", False))
            return "continue" if task == "translate" and not encodes else task  # Gemma3ForConditionalGeneration
    raise InvalidInput(
        f"{type(model).__name__} {other_route(names)}; or give a function of strings: explain(text, lambda texts: …)",
        argument="model",
        code="unsupported",
    )


def other_route(names: list[str]) -> str:
    """What to write for a model that neither classifies texts nor writes, by the names of its classes."""
    for ending, route in ROUTES.items():
        if any(name.endswith(ending) for name in (names[:1] if ending == "Model" else names)):  # all are a PreTrainedModel
            return route
    return (
        f"has no head that is known; write accredit.models.read_model(model, tokenizer, read, labels), where read turns its "
        f"output into one column per label, or load a class that ends in one of {', '.join(HEADS)}"
    )


def label_of(config: object, index: int) -> str:
    """The name that a model's configuration has for one output; its number where it has none."""
    name = str((getattr(config, "id2label", None) or {}).get(index, index))
    return name if name.strip() else str(index)


def law_of(config: object, outputs: int) -> Law:
    """How a classifier's outputs become probabilities, as its configuration says; a regression's do not."""
    kind = getattr(config, "problem_type", None)
    if kind == "multi_label_classification":
        return "sigmoid"
    return "none" if kind == "regression" or outputs == 1 else "softmax"
