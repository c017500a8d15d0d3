"""Models that read strings: scikit-learn pipelines that begin with a vectoriser, or any function of a list of texts."""

from __future__ import annotations

from typing import NoReturn, final

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import a_type
from accredit.core import FloatArray, check_names
from accredit.errors import InvalidInput
from accredit.models.arrays import ArrayModel, as_array_model, predicts_rows
from accredit.models.encoded import Encoded, number_tokens, sentence_spans, word_spans
from accredit.models.payoffs import Law


@final
class StringModel:
    """A function from texts to outputs, ready to be explained. Its tokens are the words of the text.

    Its precision is seen from its outputs. It has no tokenizer whose tokens could be masked, and no attention: words are
    removed by deletion, and games explain it.

    >>> model = as_string_model(lambda texts: [text.count("good") for text in texts])
    >>> model.outputs(["a good film", "good, good"]), model.encode("A good film").tokens
    (array([[1.],
           [2.]]), ('A', 'good', 'film'))
    """

    precision = None

    def __init__(self, rows: ArrayModel, model: object) -> None:
        self._rows, self.model = rows, model
        self.name, self.law, self.predicts = rows.name, rows.law, rows.predicts

    def __repr__(self) -> str:
        return f"StringModel({self.name!r})"

    def encode(self, text: object, prefix: str = "", cut: bool = False) -> Encoded:
        """The words of a text. Strings have no limit, so nothing is ever cut."""
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(
                f"text is {text!r:.60}; {self.name} reads one string that is not empty", argument="text", code="empty"
            )
        if prefix:
            raise InvalidInput(
                f"prefix is {prefix!r}, and only encoder–decoders take one; put it into the text",
                argument="prefix",
                code="misplaced",
            )
        spans = np.array(word_spans(text), dtype=np.int64)
        words = np.arange(len(spans))
        return Encoded(
            text=text,
            ids=words,
            tokens=tuple(text[a:b] for a, b in spans.tolist()),
            spans=spans,
            special=np.zeros(len(spans), dtype=bool),
            words=words,
            sentences=number_tokens(spans, sentence_spans(text), text),
        )

    def outputs(self, texts: list[str]) -> FloatArray:
        """Outputs of some texts: (texts, outputs)."""
        try:
            return self._rows.outputs(texts)
        except InvalidInput as error:
            columns = getattr(self.model, "n_features_in_", None)  # vectorizers of texts count none
            if error.code != "failed" or columns is None:
                raise
            raise InvalidInput(
                f"model is {a_type(self.model)} that was fitted to a table of {columns} columns, and it cannot read "
                "a text; give rows of that table, or a model of texts, for example make_pipeline(TfidfVectorizer(), model)",
                argument="model",
                code="type",
            ) from error

    def predict(self, encoded: Encoded) -> FloatArray:
        """Outputs of one text: (outputs,)."""
        predicted: FloatArray = self.outputs([encoded.text])[0]
        return predicted

    def target(self, target: str | int | None, encoded: Encoded) -> int:
        """The output to explain: by name, by index, or the largest when None."""
        return self._rows.target(target, [encoded.text])

    def label(self, index: int) -> str:
        """The name of one output."""
        return self._rows.label(index)

    def attentions(self, encoded: Encoded) -> NoReturn:
        """Refused: strings are not attended to."""
        raise InvalidInput(
            f"{self.name} has no attentions: it reads strings; use a game, for example methods='shapley'", code="unsupported"
        )

    output_tokens = attentions

    def attention_gradients(self, encoded: Encoded, target: object = None, payoff: str | None = None) -> NoReturn:
        """Refused: strings are not attended to."""
        self.attentions(encoded)


@check_arguments
def as_string_model(model: object, law: Law | None = None, labels: tuple[str, ...] | None = None) -> StringModel:
    """A model of texts from a scikit-learn pipeline or a function of a list of strings.

    Pipelines are asked for `predict_proba`, else `decision_function`, else `predict`. Decision values, as those of an SVM, and
    a function's outputs are plain numbers unless `law` says that they are probabilities ("probability") or logits
    ("softmax", "sigmoid"); `labels` names them.

    >>> as_string_model(lambda texts: [len(text) for text in texts]).outputs(["a film", "no"])
    array([[6.],
           [2.]])
    """
    if isinstance(model, StringModel):
        return model
    rows = as_array_model(model, law)
    if labels is not None:
        rows = ArrayModel(rows.outputs, rows.law, check_names(labels, "labels"), rows.name)
    return StringModel(rows, model)


def reads_strings(model: object) -> bool:
    """Whether a model is a scikit-learn estimator or a plain function, not a torch module or a transformers pipeline."""
    if hasattr(model, "state_dict") or hasattr(model, "tokenizer"):
        return False
    return isinstance(model, StringModel) or callable(model) or predicts_rows(model)
