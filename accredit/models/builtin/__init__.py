"""The built-in models: a sentiment BERT, a vision transformer and an answering Llama, all small, as Hugging Face folders.

The first two are trained by `tools/train_builtin_text.py` and `tools/train_builtin_vision.py`, and have met inputs with holes
in training, so removing tokens or patches asks them nothing new. The weights of the third are set by hand, by
`tools/construct_builtin_answers.py`. The `README.md` beside each set of weights is its model card.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from accredit.checks import needs

if TYPE_CHECKING:
    from types import ModuleType

    from transformers import BaseImageProcessor, PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["answers_folder", "load_answers", "load_text", "load_vision", "text_folder", "vision_folder"]


def text_folder() -> Path:
    """The folder of the sentiment model: config, tokenizer, safetensors and card.

    >>> sorted(path.name for path in text_folder().iterdir())
    ['README.md', 'config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json']
    """
    return Path(__file__).parent / "text"


def vision_folder() -> Path:
    """The folder of the Fashion-MNIST model: config, image processor, safetensors and card.

    >>> sorted(path.name for path in vision_folder().iterdir())
    ['README.md', 'config.json', 'model.safetensors', 'preprocessor_config.json']
    """
    return Path(__file__).parent / "vision"


def answers_folder() -> Path:
    """The folder of the answering model: config, tokenizer, safetensors and card.

    >>> sorted(path.name for path in answers_folder().iterdir())
    ['README.md', 'config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json']
    """
    return Path(__file__).parent / "answers"


def load_text() -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The sentiment model (`BertForSequenceClassification`, float32, eval mode) and its tokenizer.

    >>> model, tokenizer = load_text()
    >>> scores = model(**tokenizer("I loved it.", return_tensors="pt")).logits[0]
    >>> model.config.id2label[int(scores.argmax())]
    'POSITIVE'
    """
    transformers = _transformers("the built-in text model")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(text_folder(), **_OFFLINE)
    return model.float().eval(), transformers.AutoTokenizer.from_pretrained(text_folder(), local_files_only=True)


def load_answers() -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The answering model (`LlamaForCausalLM`, float32, eval mode) and its tokenizer: questions about facts in the context.

    >>> model, tokenizer = load_answers()
    >>> asked = tokenizer("Anna lives in Rome . Boris owns a dog . Where does Anna live ?", return_tensors="pt")
    >>> tokenizer.decode(model.generate(**asked, max_new_tokens=5)[0, -5:])
    'Anna lives in Rome .'
    """
    transformers = _transformers("the built-in answering model")
    model = transformers.AutoModelForCausalLM.from_pretrained(answers_folder(), **_OFFLINE)
    return model.float().eval(), transformers.AutoTokenizer.from_pretrained(answers_folder(), local_files_only=True)


def load_vision() -> tuple[PreTrainedModel, BaseImageProcessor]:
    """The Fashion-MNIST model (`ViTForImageClassification`, float32, eval mode) and its image processor.

    The processor takes single-channel images, as `image.convert("L")` gives them, and returns `pixel_values` of shape
    (batch, 1, 28, 28) in which zero is the mean pixel.

    >>> import numpy as np
    >>> model, processor = load_vision()
    >>> picture = np.zeros((28, 28, 1), dtype=np.uint8)
    >>> processor(picture, input_data_format="channels_last", return_tensors="pt")["pixel_values"].shape
    torch.Size([1, 1, 28, 28])
    """
    transformers = _transformers("the built-in vision model")
    model = transformers.AutoModelForImageClassification.from_pretrained(vision_folder(), **_OFFLINE)
    return model.float().eval(), transformers.AutoImageProcessor.from_pretrained(vision_folder(), local_files_only=True)


_OFFLINE = {"local_files_only": True, "use_safetensors": True}


def _transformers(purpose: str) -> ModuleType:
    with needs("text", purpose):
        import torch  # noqa: F401  transformers imports without it, and then has no models
        import transformers
    loaded: ModuleType = transformers
    return loaded
