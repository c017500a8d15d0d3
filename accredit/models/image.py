"""Image classifiers behind the same interface: pixels in, logits out, patches as players, attention over patches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt
import torch

from accredit import defaults
from accredit.checks import as_array
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import a_type
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.models import attention
from accredit.models.arrays import tensor_of
from accredit.models.labels import choose_output
from accredit.models.payoffs import Law, payoff_of
from accredit.models.pictures import Photo, array_photo, is_picture_file, one_of_batch, open_picture, photo_of
from accredit.models.pixels import Pixels, paint_over
from accredit.models.preparation import Preparation, choose_preparation, preparation_of
from accredit.models.reading import Heads, Read, read_attention
from accredit.models.state import device_of, finite, precision_of_module, still
from accredit.models.tasks import label_of, law_of

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel
    from transformers.utils import ModelOutput


SPECIAL = 16  # tokens besides patches that a vision transformer may have: class, distillation, registers
USUAL = (28, 32, 64, 96, 128, 224, 256, 299, 384)  # edges of pictures that networks are often made for
BRIGHT = 16  # times as large as white may be: floats beyond are 0…255, and were not prepared
Preprocess = Callable[..., object]  # PIL image -> (C, H, W) or (1, C, H, W)


@final
class ImageModel:
    """An image classifier, ready to be explained. Credit is for a label; players are patches.

    >>> from accredit.models import builtin, load_image_model
    >>> model = load_image_model(builtin.vision_folder())
    >>> model.encode(np.eye(28)).size, model.label(1)
    ((28, 28), 'Trouser')
    """

    def __init__(
        self,
        model: object,
        preparation: Preparation | None = None,
        name: str | None = None,
        preprocess: Preprocess | None = None,
    ) -> None:
        if not isinstance(model, torch.nn.Module):
            raise InvalidInput(f"model is {a_type(model)}; a torch image classifier is needed", argument="model", code="type")
        self.model: PreTrainedModel = model
        self.preparation = preparation
        self.preprocess = preprocess
        self.name = name or getattr(getattr(model, "config", None), "name_or_path", "") or type(model).__name__
        self._outputs: int | None = None  # how many there are, once that is seen

    def __repr__(self) -> str:
        return f"ImageModel({self.name!r}, {type(self.model).__name__})"

    def encode(self, image: object) -> Pixels:
        """A picture as the model reads it, with notes on all that was done to it.

        A file, a PIL image, an array of whole numbers 0…255 in (H, W), (H, W, C) or (C, H, W), or of fractions 0…1 in (H, W)
        or (H, W, C), is prepared: resized, scaled. A float array or tensor of shape (C, H, W) is taken as already prepared.
        A batch of one is that one.
        """
        if isinstance(image, Pixels):
            return image
        if isinstance(image, Photo):
            return self._read(image)
        if isinstance(image, str | Path):
            return self._read(open_picture(image))
        if hasattr(image, "convert"):
            return self._read(photo_of(image))
        first = isinstance(image, torch.Tensor)
        if not isinstance(image, np.ndarray | torch.Tensor):
            raise InvalidInput(
                f"image is {a_type(image)}; give one file, PIL image, array or tensor", argument="image", code="type"
            )
        image = one_of_batch(as_array(image, "image"))
        if np.issubdtype(image.dtype, np.floating) and not self._is_picture(image, first):
            return Pixels(self._check_prepared(image), self._patch())
        return self._read(array_photo(image, first))

    def _is_picture(self, image: npt.NDArray[np.generic], first: bool) -> bool:
        """Are these floats a picture of fractions, channels last? Otherwise they are prepared, channels first."""
        if image.ndim != 3:
            return image.ndim == 2
        channels, leads, ends = self.channels, image.shape[0], image.shape[2] in (1, 3, 4)
        return ends and not first and (leads not in (1, 3, 4) if channels is None else leads != channels)

    def _read(self, photo: Photo) -> Pixels:
        """A picture in plain colours, prepared as the model wants it."""
        original = photo.image.height, photo.image.width
        if self.preprocess is not None:
            framed, steps = choose_preparation(self.channels if self.channels in (1, 3) else None).colour(photo)
            said = f"prepared by {getattr(self.preprocess, 'name', 'the given preprocess')}"
            values = self._preprocess(replace(photo, image=framed))
            return Pixels(values, self._patch(), photo.name, _notes(photo, steps, said))
        preparation, said = self._preparation()
        channels = len(photo.image.getbands())
        if photo.exact and preparation.channels not in (None, channels) and self._plain:
            fix = "image.mean(axis=2).astype(np.uint8)" if channels == 3 else "np.stack([image] * 3, axis=2)"
            raise InvalidInput(
                f"image is an array with {channels} channel{'s' * (channels > 1)}, and {self.name} reads "
                f"{preparation.channels}; give {fix}, or a PIL image, which is converted",
                argument="image",
                code="shape",
            )
        seen, steps = preparation.frame(photo)
        notes = _notes(photo, steps, said)
        given = np.atleast_3d(np.asarray(photo.image, dtype=np.uint8))
        return Pixels(preparation.scale(seen), self._patch(), photo.name, notes, preparation, seen, original, given)

    def _preprocess(self, photo: Photo) -> npt.NDArray[np.float32]:
        assert self.preprocess is not None
        try:
            made = self.preprocess(photo.image)
        except Exception as error:  # a user's function may raise anything; say what it said
            raise InvalidInput(
                f"preprocess failed on {photo.name}: {type(error).__name__}: {error!s:.200}",
                argument="preprocess",
                code="failed",
            ) from error
        made = one_of_batch(as_array(made, "what preprocess gave"))
        if not np.issubdtype(made.dtype, np.floating):
            raise InvalidInput(
                f"preprocess gave an array of {made.dtype}; a float array (C, H, W) is needed",
                argument="preprocess",
                code="type",
            )
        return self._check_prepared(made)

    def _preparation(self) -> tuple[Preparation, str]:
        """How pictures are prepared, and what is said of it where the model did not say it."""
        if self.preparation is not None:
            return self.preparation, self._scaling(self.preparation) if self._plain else ""
        size = getattr(self._reads, "image_size", None)
        if size is None:
            scaled = choose_preparation(self.channels)
            return scaled, self._scaling(scaled)
        height, width = (size, size) if isinstance(size, int) else tuple(size)
        return Preparation((height, width), channels=self.channels or 3), "0…255 scaled to −1…1, as no processor was given"

    def _scaling(self, preparation: Preparation) -> str:
        low, high = preparation.mean, preparation.std
        normal = f", then (x − {_few(low)}) / {_few(high)}" if (set(low), set(high)) != ({0.0}, {1.0}) else ""
        return f"0…255 scaled to 0…1{normal}"

    @property
    def _plain(self) -> bool:
        """A network without a configuration, which does not say what it reads."""
        return self._reads is None

    @property
    def _reads(self) -> PreTrainedConfig | None:
        """The part of the configuration that is about pictures (CLIP and SigLIP also have one about texts), or None."""
        config = getattr(self.model, "config", None)
        return getattr(config, "vision_config", config)

    @property
    def channels(self) -> int | None:
        """How many channels the model reads: as its configuration or its first convolution says; None: it does not say."""
        said = getattr(self._reads, "num_channels", None)
        if said is None:
            first = next((part for part in self.model.modules() if isinstance(part, torch.nn.Conv2d)), None)
            said = None if first is None else first.in_channels
        return None if said is None else int(said)

    def _check_prepared(self, image: npt.NDArray[np.generic]) -> npt.NDArray[np.float32]:
        channels = self.channels
        if image.ndim != 3 or (channels is not None and image.shape[0] != channels) or image.size == 0:
            raise InvalidInput(
                f"image is a float array of shape {image.shape}; prepared for {self.name} it is ({channels or 'C'}, H, W), and "
                "one that is not prepared is (H, W, C) of 0…1",
                argument="image",
                code="shape",
            )
        if not np.isfinite(image).all():
            raise InvalidInput(
                "image holds NaN or infinite values; only finite pixels can be explained", argument="image", code="not-finite"
            )
        white = 1.0
        if self.preparation is not None:
            white = float(self.preparation.scale(np.full((1, 1, len(image)), 255, dtype=np.uint8)).max())
        if image.min() >= 0 and image.max() > BRIGHT * max(white, 1.0):
            raise InvalidInput(
                f"image holds floats from {image.min():.4g} to {image.max():.4g}, and a float array (C, H, W) is taken as "
                "already prepared; write image.astype(np.uint8), or, if the model reads 0…255, std=1/255",
                argument="image",
                code="range",
            )
        return image.astype(np.float32)

    def _patch(self) -> tuple[int, int] | None:
        patch = getattr(self._reads, "patch_size", None)
        if not patch:
            return None
        return (int(patch), int(patch)) if isinstance(patch, int) else (int(patch[0]), int(patch[1]))

    @contextmanager
    def hold(self) -> Iterator[None]:
        """The model in evaluation mode; its state is put back afterwards."""
        with still(self.model):
            yield

    def outputs(self, pixels: torch.Tensor) -> torch.Tensor:
        """Logits of a batch of prepared pictures: (B, C, H, W) -> (B, classes). Call inside `hold`."""
        outputs = tensor_of(self._forward(pixels))
        outputs = outputs[:, None] if isinstance(outputs, torch.Tensor) and outputs.ndim == 1 else outputs
        if not isinstance(outputs, torch.Tensor) or outputs.ndim != 2 or len(outputs) != len(pixels):
            shape = tuple(outputs.shape) if isinstance(outputs, torch.Tensor) else type(outputs).__name__
            raise InvalidInput(
                f"{self.name} returned {shape} for {len(pixels)} pictures; one row of outputs each is needed", code="shape"
            )
        return finite(outputs, self.name)

    def _forward(self, pixels: torch.Tensor, **extra: bool) -> ModelOutput:
        try:
            return self.model(pixels, **extra)
        except Exception as error:  # a model may raise anything; say which one, on what, and what it said
            raise InvalidInput(
                f"{self.name} failed on pixels of shape {tuple(pixels.shape)}: {type(error).__name__}: "
                f"{' '.join(str(error).split())[:200]}{self._runs_on(pixels)}",
                code="failed",
            ) from error

    def _runs_on(self, pixels: torch.Tensor) -> str:
        """Of the usual sizes, those on which a network that does not say its size runs."""
        runs = []
        for edge in USUAL if self._plain else ():
            with suppress(Exception), torch.inference_mode():  # it may raise anything, and then does not run
                self.model(pixels.new_zeros((1, pixels.shape[1], edge, edge)))
                runs.append(edge)
        return f". It runs on {runs[0]} × {runs[0]} pixels: pass size={runs[0]}" if runs else ""

    def batch(self, pixels: Pixels) -> torch.Tensor:
        """One picture as a batch of one: (1, C, H, W), in the model's precision."""
        dtype = next((p.dtype for p in self.model.parameters()), torch.float32)
        return torch.tensor(pixels.values)[None].to(device_of(self.model), dtype)

    def predict(self, pixels: Pixels) -> FloatArray:
        """The model's logits for one picture: (classes,)."""
        with self.hold(), torch.inference_mode():
            outputs: FloatArray = self.outputs(self.batch(pixels))[0].double().cpu().numpy()
        self._outputs = len(outputs)
        return outputs

    @property
    def precision(self) -> float:
        """The machine epsilon that the model computes with."""
        return precision_of_module(self.model)

    @property
    def law(self) -> Law:
        """How logits become probabilities."""
        config = getattr(self.model, "config", None)
        return law_of(config, int(getattr(config, "num_labels", None) or self._outputs or 2))

    def label(self, index: int) -> str:
        """The name of one class."""
        return label_of(getattr(self.model, "config", None), index)

    def target(self, target: str | int | None, pixels: Pixels) -> int:
        """The class to explain: by name, by index, or the predicted one when None, which alone asks the model again."""
        logits = self.predict(pixels) if target is None or not self._outputs else np.zeros(self._outputs)
        return choose_output(target, logits, tuple(self.label(i) for i in range(len(logits))))

    def attentions(self, pixels: Pixels) -> FloatArray:
        """Attention weights (L, H, T, T) over the model's tokens: class and register tokens, then patches by row."""
        batch = self.batch(pixels)
        return attention.attention_weights(self.model, lambda **extra: self._forward(batch, **extra), "self")

    def attention_gradients(
        self, pixels: Pixels, target: str | int | None = None, payoff: str | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Attention weights and the slope of the payoff in each of them: two arrays (L, H, T, T)."""
        batch, index = self.batch(pixels).requires_grad_(True), self.target(target, pixels)
        paid = payoff or defaults.payoff(self.law)
        return attention.attention_gradients(
            self.model,
            lambda **extra: self._forward(batch, **extra),
            lambda output: payoff_of(finite(output.logits, self.name), index, paid, self.law),
            "self",
        )

    def read_attention(self, pixels: Pixels, tensor: str, heads: Heads, target: str | int | None, payoff: str) -> Read:
        """Attention with its heads combined layer by layer, as one of the tensors of `accredit.models.reading`."""
        batch, index = self.batch(pixels).requires_grad_(True), self.target(target, pixels)
        return read_attention(
            self.model,
            lambda **extra: self._forward(batch, **extra),
            tensor,
            heads,
            lambda output: payoff_of(finite(output.logits, self.name), index, payoff, self.law),
            int(np.prod(pixels.grid)) + 1,
        )

    def patch_tokens(self, pixels: Pixels) -> IntArray:
        """For each of the model's tokens the patch it stands for, −1 for class and register tokens: (tokens,)."""
        with self.hold(), torch.inference_mode():
            tokens = self._last_hidden(self._forward(self.batch(pixels), output_hidden_states=True)).shape[1]
        patches = int(np.prod(pixels.grid))
        if not patches <= tokens <= patches + SPECIAL:
            raise InvalidInput(
                f"{self.name} ends with {tokens} tokens and the image has {patches} patches; they do not match",
                code="unsupported",
            )
        return np.concatenate([np.full(tokens - patches, -1, dtype=np.int64), np.arange(patches)])

    def special_tokens(self, count: int) -> list[str]:
        """Names of the tokens before the patches: a class token, DeiT's distillation token, registers."""
        first = ["[CLS]", "[DIST]"] if getattr(self._reads, "model_type", "") == "deit" else ["[CLS]"]
        return (first + [f"[REG{k}]" for k in range(1, count)])[:count]

    def _last_hidden(self, output: ModelOutput) -> torch.Tensor:
        """The last layer's tokens: (1, tokens, D)."""
        hidden = getattr(output, "hidden_states", None)
        if not hidden or hidden[-1].ndim != 3:
            raise InvalidInput(
                f"{self.name} returns no tokens of its last layer, so there is no attention to show", code="unsupported"
            )
        last: torch.Tensor = hidden[-1]
        return last

    def vectors(self, pixels: Pixels) -> npt.NDArray[np.float32]:
        """Each token's vector before the first layer beside the one after the last: (tokens, 2D)."""
        with self.hold(), torch.inference_mode():
            output = self._forward(self.batch(pixels), output_hidden_states=True)
            last = self._last_hidden(output)[0]
            first = output.hidden_states[0]
            fits = first.ndim == 3 and first.shape[1] == len(last)
            return torch.cat([first[0], last] if fits else [last], dim=1).float().cpu().numpy()

    def output_tokens(self, pixels: Pixels) -> BoolArray:
        """The positions of the last layer from which the output is read, found by their slopes: (tokens,)."""
        batch = self.batch(pixels).requires_grad_(True)
        with self.hold(), torch.enable_grad():
            output = self._forward(batch, output_hidden_states=True)
            spread = torch.linspace(1.0, 2.0, output.logits.shape[1], dtype=batch.dtype, device=batch.device)
            hidden = self._last_hidden(output)
            (slope,) = torch.autograd.grad((output.logits * spread).sum(), hidden, allow_unused=True, materialize_grads=True)
        read: BoolArray = (slope[0] != 0).any(dim=-1).cpu().numpy()
        return read


def _notes(photo: Photo, steps: tuple[str, ...], scaling: str) -> tuple[str, ...]:
    done = [*photo.steps, *steps, *([scaling] if scaling else [])]
    return (f"Before the model read {photo.name}: {'; '.join(done)}.",) if done else ()


def _few(numbers: tuple[float, ...]) -> str:
    return f"{numbers[0]:g}" if len(set(numbers)) == 1 else f"({', '.join(f'{x:g}' for x in numbers)})"


def absent_picture(model: ImageModel, pixels: Pixels, removal: object) -> tuple[str | float, npt.NDArray[np.float32]]:
    """A name for how players leave, and what is seen where nobody plays: (C, H, W).

    `removal` is a name or a number, see `paint_over`, or another picture: a file, a PIL image or an array.
    """
    if isinstance(removal, int | float) or (isinstance(removal, str) and not is_picture_file(removal)):
        return removal, paint_over(pixels, removal)
    other = model.encode(removal)
    return f"the picture {other.name}", paint_over(pixels, other.values)


def with_processor(model: object, processor: object, name: str | None = None) -> ImageModel:
    """An image model that reads pictures as a processor, or the settings of one, prepares them."""
    way = preparation_of(processor)
    return ImageModel(model, way, name) if isinstance(way, Preparation) else ImageModel(model, None, name, way)


@check_arguments
def as_image_model(
    model: object,
    processor: object = None,
    *,
    size: int | tuple[int, int] | None = None,
    mean: object = None,
    std: object = None,
    preprocess: Preprocess | None = None,
) -> ImageModel:
    """An image model from a classifier and its image processor (its settings are read), or unchanged.

    A network without a processor reads pictures of their own size, scaled to 0…1. `size` resizes them, `mean` and `std` (one
    number, or one per channel) normalise them after scaling; or `preprocess`, a function of a PIL image, does it all.

    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3))
    >>> as_image_model(net, size=8).encode(np.eye(20)).size
    (8, 8)
    """
    ways = {"size": size, "mean": mean, "std": std, "preprocess": preprocess}
    given = [name for name, value in ways.items() if value is not None]
    if isinstance(model, ImageModel):
        if given:
            raise InvalidInput(
                f"{given[0]} is given, and {model.name} is prepared already; give the network itself",
                argument=given[0],
                code="conflict",
            )
        return model
    if processor is None and hasattr(model, "model") and hasattr(model, "image_processor"):
        processor, model = model.image_processor, model.model
    if given and (processor is not None or (preprocess is not None and len(given) > 1)):
        other = "an image processor" if processor is not None else "preprocess"
        raise InvalidInput(
            f"{given[0]} is given beside {other}, which decides the same; leave one of them out",
            argument=given[0],
            code="conflict",
        )
    if preprocess is not None:
        return ImageModel(model, preprocess=preprocess)
    if processor is not None:
        return with_processor(model, processor)
    made = ImageModel(model)
    if given:
        made.preparation = choose_preparation(made.channels, size or getattr(made._reads, "image_size", None), mean, std)
    return made
