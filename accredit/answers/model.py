"""Language models that answer: prompts as the model's own call reads them, answers token by token."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack, final

import numpy as np
import torch

from accredit.answers.prompt import ContextForm, Place, Prompt, prompt_of
from accredit.answers.said import Answer
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import a_type, as_array
from accredit.core import IntArray, Procedure
from accredit.errors import AccreditError, InvalidInput
from accredit.models.reading import Heads, Read, read_attention
from accredit.models.state import device_of, finite, quiet, track
from accredit.models.text import TextModel, as_text_model

if TYPE_CHECKING:
    from transformers.utils import ModelOutput

ANSWER_TOKENS = 128  # of a generated answer
WEIGHTS_HASHED = 256  # numbers of each parameter that make the fingerprint
UNKNOWN_WORDS_LISTED = 5  # unknown words that a note names
KEEP = "keep them in place with removal='attention', or hold more of them fixed"


@final
class AnsweringModel:
    """A causal language model or an encoder–decoder, and its tokenizer.

    A text is read as `tokenizer(text)` gives it, messages as `tokenizer.apply_chat_template(messages)` does. A text that
    already begins with the begin-of-text token, as a rendered chat does, gets no second one.

    >>> from accredit.models import builtin
    >>> model = as_answering_model(*builtin.load_answers())
    >>> model.generate(model.prompt(context=["Anna lives in Rome ."], query="Where does Anna live ?")).text
    'Anna lives in Rome .'
    """

    def __init__(self, text_model: TextModel) -> None:
        if text_model.task not in ("continue", "translate"):
            raise InvalidInput(
                f"{text_model.name} is {a_type(text_model.model)}, which does not write; load a causal language model "
                "or an encoder–decoder: AutoModelForCausalLM.from_pretrained(folder); anything else that gives "
                "log-probabilities can be asked as a function of (prompts, answer)",
                code="type",
            )
        self.text_model = text_model
        self.model, self.tokenizer, self.name = text_model.model, text_model.tokenizer, text_model.name
        self.encodes = text_model.task == "translate"  # a source is encoded, and the answer decoded from it
        self.takes = text_model.takes
        self.ways: dict[tuple[str, bool], str] = {}  # how its rows are read, once that was tried out

    def __repr__(self) -> str:
        return f"AnsweringModel({self.name!r}, {type(self.model).__name__})"

    @cached_property
    def fingerprint(self) -> str:
        """A name for these weights: equal for equal ones, whatever folder they come from."""
        hasher = hashlib.sha256()
        for name, weights in self.model.named_parameters():
            some = weights.detach().flatten()[:: max(1, weights.numel() // WEIGHTS_HASHED)].float().cpu().numpy()
            hasher.update(f"{name} {tuple(weights.shape)} ".encode() + some.astype("<f4").tobytes())
        return hasher.hexdigest()[:16]

    # Prompts

    def prompt(self, prompt: object = None, *, chat: bool | None = None, **how: Unpack[ContextForm]) -> Prompt | IntArray:
        """A prompt of any form: text, messages, token ids, or context=[passages] with query=…; see `prompt_of`."""
        if isinstance(prompt, np.ndarray | torch.Tensor) or _are_ids(prompt):
            return self._check_ids(prompt)
        made = prompt_of(
            prompt, chat=bool(self.tokenizer.chat_template) if chat is None else chat, reserved=self.reserved, **how
        )
        if made.messages is not None and not self.tokenizer.chat_template:
            raise InvalidInput(
                f"the prompt is a chat, and the tokenizer of {self.name} has no chat template; give one text, or set "
                "tokenizer.chat_template",
                argument="prompt",
                code="unsupported",
            )
        self.render(made, "give messages that it accepts")
        return made

    @cached_property
    def reserved(self) -> tuple[str, ...]:
        """Strings that stand for special tokens; the unknown word is not one of them."""
        added = (t.content for t in self.tokenizer.added_tokens_decoder.values() if t.special)
        return tuple(dict.fromkeys(t for t in (*self.tokenizer.all_special_tokens, *added) if t != self.tokenizer.unk_token))

    def _check_ids(self, prompt: object, name: str = "prompt") -> IntArray:
        ids = as_array(prompt, name)
        ids = ids[0] if ids.ndim == 2 and len(ids) == 1 else ids
        if ids.ndim != 1 or not len(ids) or ids.dtype.kind not in "iu":
            raise InvalidInput(
                f"{name} is an array of {ids.dtype} of shape {ids.shape}; give a text, or the token ids of one {name}",
                argument=name,
                code="shape",
            )
        known = int(self.model.get_input_embeddings().num_embeddings)
        if ids.min() < 0 or ids.max() >= known:
            raise InvalidInput(
                f"{name} holds the token id {ids.max() if ids.max() >= known else ids.min()}; "
                f"{self.name} knows 0 to {known - 1}",
                argument=name,
                code="range",
            )
        return ids.astype(np.int64)

    def render(self, prompt: Prompt, instead: str = KEEP) -> str:
        """The text that is cut into tokens: the prompt's own, or what the chat template makes of its messages.

        `instead` is what a reader can do where the template refuses them.
        """
        if prompt.messages is None:
            return prompt.contents[0]
        ends = prompt.messages[-1]["role"] == "assistant" if prompt.messages else False
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    [dict(m) for m in prompt.messages],
                    tokenize=False,
                    add_generation_prompt=not ends,
                    continue_final_message=ends,
                )
            )
        except Exception as error:  # templates raise what they like
            roles = ", ".join(str(m["role"]) for m in prompt.messages) or "none"
            raise InvalidInput(
                f"the chat template of {self.name} refuses the turns {roles}: {' '.join(str(error).split())[:150]}; {instead}",
                code="unsupported",
            ) from None

    def notes(self, prompt: Prompt | IntArray, context: bool, prefix: str = "") -> tuple[str, ...]:
        """What the reader of a result must know about how the prompt is read, and what was said so far."""
        said = list(self._unknown_words(*self._spell_so_far(prefix))) if prefix else []
        if not isinstance(prompt, Prompt):
            return tuple(said)
        text = self.render(prompt)
        said += self._unknown_words(text, *self.offsets(text, prompt.messages is not None))
        said += self._rewrite(prompt, text)
        if prompt.messages is not None and context:
            said.append("Context and query are one message of the user, put into the tokenizer's chat template.")
        if prompt.messages is None and self._begins(prompt.contents[0]):
            said.append(f"The prompt begins with {self.tokenizer.bos_token} already, so no second one is put before it.")
        elif reserved := [t for t in self.reserved if any(t in content for content in prompt.contents)]:
            said.append(f"The prompt holds {', '.join(reserved)}, which the tokenizer reads as special: nobody plays for it.")
        return tuple(said)

    def _spell_so_far(self, prefix: str) -> tuple[str, IntArray, IntArray]:
        """What was said so far, its token ids, and the characters that each covers."""
        row = self.tokenizer(text_target=prefix, add_special_tokens=False, return_offsets_mapping=True)
        return prefix, np.array(row["input_ids"]), np.array(row["offset_mapping"]).reshape(-1, 2)

    def _rewrite(self, prompt: Prompt, text: str) -> Iterator[str]:
        """Messages that the chat template does not write as they were given: the model never reads them so."""
        for message in prompt.messages or ():
            if str(message["content"]).strip() not in text:
                yield (
                    f"Warning: the chat template of {self.name} leaves out or rewrites the {message['role']}'s "
                    f"{message['content']!r:.60}, so the model does not read it as it was given."
                )

    def _unknown_words(self, text: str, ids: IntArray, spans: IntArray) -> Iterator[str]:
        """Which words of a text the model reads as one and the same unknown one."""
        unknown = self.tokenizer.unk_token_id
        if unknown is None:
            return
        words = [text[a:b].strip() for i, (a, b) in zip(ids.tolist(), spans.tolist(), strict=True) if i == unknown]
        lost = list(dict.fromkeys(word for word in words if word and word != self.tokenizer.unk_token))
        if lost:
            more = f" and {len(lost) - UNKNOWN_WORDS_LISTED} more" if len(lost) > UNKNOWN_WORDS_LISTED else ""
            yield (
                f"Warning: the tokenizer of {self.name} does not know {', '.join(map(repr, lost[:UNKNOWN_WORDS_LISTED]))}{more}"
                f"; the model reads {self.tokenizer.unk_token} instead."
            )

    def layout(self, prompt: Prompt) -> tuple[str, list[Place]]:
        """The rendered text, and where in it each content stands."""
        text = self.render(prompt)
        if prompt.messages is None:
            return text, [Place(0, 0, len(text))]
        signs = [chr(0xE000 + i) * 3 for i in range(len(prompt.messages))]
        marked = tuple({**m, "content": sign} for m, sign in zip(prompt.messages, signs, strict=True))
        frame, places = self.render(Prompt(tuple(signs), marked)), []
        for sign, content in zip(signs, prompt.contents, strict=True):
            before, there, after = frame.partition(sign)
            shown = content if text.startswith(before + content) else content.strip()
            if not there or not text.startswith(before + shown):
                raise InvalidInput(
                    f"the chat template of {self.name} rewrites {content!r:.60}, so its tokens cannot be found; "
                    "use removal='rebuild'",
                    code="unsupported",
                )
            cut = content.index(shown[0]) if shown and shown != content else 0
            places.append(Place(len(before) - cut, len(before), len(before + shown)))
            frame = before + shown + after
        if frame != text:
            raise InvalidInput(
                f"the chat template of {self.name} depends on what is said; use removal='rebuild'", code="unsupported"
            )
        return text, places

    def tokenize(self, texts: Sequence[str], chat: bool) -> list[IntArray]:
        """Token ids of rendered prompts, none of them empty."""
        bare = [chat or self._begins(text) for text in texts]
        found: list[IntArray] = [np.zeros(0, dtype=np.int64)] * len(texts)
        for without in (True, False):
            which = [i for i, b in enumerate(bare) if b == without]
            ids = self._ids([texts[i] for i in which], add_special_tokens=not without)
            for i, row in zip(which, ids, strict=True):
                found[i] = np.array(row if len(row) else [self.opening], dtype=np.int64)
        return found

    def tokenize_prompt(self, prompt: Prompt | IntArray) -> IntArray:
        """The token ids of one prompt: (T,)."""
        if not isinstance(prompt, Prompt):
            return prompt
        return self.tokenize([self.render(prompt)], prompt.messages is not None)[0]

    def _ids(self, texts: list[str], *, targets: bool = False, **how: bool) -> list[list[int]]:
        if not texts:
            return []
        given = {"text_target" if targets else "text": texts}
        try:
            rows = self.tokenizer(**given, padding=False, truncation=False, verbose=False, **how)["input_ids"]
        except (TypeError, UnicodeEncodeError):  # a lone surrogate is not a character
            raise InvalidInput(
                "the prompt or the answer holds something that is not a character; decode it as UTF-8", code="unreadable"
            ) from None
        return [list(row) for row in rows]

    def _begins(self, text: str) -> bool:
        """Whether a text already holds the begin-of-text token that the tokenizer would put before it."""
        bos = self.tokenizer.bos_token
        return bool(bos) and not self.encodes and text.startswith(bos) and self._opens

    @cached_property
    def _opens(self) -> bool:
        ids = self._ids(["a"], add_special_tokens=True)[0]
        return bool(ids) and ids[0] == self.tokenizer.bos_token_id

    @property
    def opening(self) -> int:
        """The token that is read where nothing else is left."""
        tokens = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id, self.tokenizer.pad_token_id)
        return int(next((token for token in tokens if token is not None), 0))

    def offsets(self, text: str, chat: bool) -> tuple[IntArray, IntArray]:
        """Token ids of a rendered prompt and the characters that each covers: (T,), (T, 2)."""
        row = self.tokenizer(
            text, add_special_tokens=not (chat or self._begins(text)), return_offsets_mapping=True, verbose=False
        )
        return np.array(row["input_ids"], dtype=np.int64), np.array(row["offset_mapping"], dtype=np.int64).reshape(-1, 2)

    def check_length(self, prompt: int, answer: int, too_long: Callable[[int], str] = lambda _: "") -> None:
        """Refuse what the model cannot read at once; the answer of an encoder–decoder counts what was said before it.

        `too_long` names a part that alone is more than so many tokens, if there is one.
        """
        most, asked = self.text_model.longest(), prompt if self.encodes else prompt + answer
        if max(asked, answer) > most:
            which = "answer has" if answer > prompt else "prompt has"
            what = which if self.encodes else f"prompt and answer ({answer}) have"
            one = too_long(most)
            do = f"cut {one[:30]!r}… into several, it is too long alone" if one else "give less context, or a shorter answer"
            raise InvalidInput(f"{what} {max(asked, answer)} tokens and {self.name} reads {most}; {do}", code="too-many")

    # Answers

    def answer(self, answer: object, prompt: Prompt | IntArray, name: str = "answer") -> Answer:
        """An answer as tokens: those that follow the prompt when both are written as one text, else its own.

        What `generate` has made stays as it is. Refused: an answer that is empty, or that the tokenizer can only write with
        unknown words. `name` is its argument.
        """
        if isinstance(answer, Answer):
            return answer
        if not isinstance(answer, str):
            ids = self._check_ids(answer, name)
            return Answer(ids, self.pieces(ids), Procedure("given as token ids"))
        if not answer.strip():
            instead = ", or None to generate one" if name == "answer" else ""
            raise InvalidInput(
                f"{name} is {answer!r}: there is nothing to credit; give some words{instead}", argument=name, code="empty"
            )
        if special := [token for token in self.reserved if token.strip() and token in answer]:
            raise InvalidInput(
                f"{name} holds {special[0]}, which {self.name} reads as a special token and never says as words; leave it out "
                f"of {name}, or give token ids",
                argument=name,
                code="unsupported",
            )
        ids = self._after(answer, prompt)
        if not len(ids) or self.tokenizer.unk_token_id in ids:
            raise InvalidInput(
                f"{name} {answer!r:.60} holds words that the tokenizer of {self.name} does not know "
                f"({self.tokenizer.convert_ids_to_tokens(ids.tolist())}); use words of its vocabulary, or give token ids",
                argument=name,
                code="unknown",
            )
        pieces = self.pieces(ids)
        note = "" if self._writes(ids, answer) else f"The tokenizer writes the answer as {''.join(pieces)!r}."
        return Answer(ids, pieces, Procedure("given"), note)

    def _writes(self, ids: IntArray, answer: str) -> bool:
        """Whether these tokens say the answer, white space aside."""
        return "".join("".join(self.pieces(ids)).split()) == "".join(answer.split())

    def _after(self, answer: str, prompt: Prompt | IntArray) -> IntArray:
        if not self.encodes and isinstance(prompt, Prompt):
            text, chat = self.render(prompt), prompt.messages is not None
            before, both = self.tokenize([text, text + answer], chat)
            after = both[len(before) :]
            follows = len(after) > 0 and bool((both[: len(before)] == before).all())
            if follows and self.tokenizer.unk_token_id not in after and self._writes(after, answer):
                return after
        if self.encodes:
            return self.target_ids(answer)
        return np.array(self._ids([answer], add_special_tokens=False)[0], dtype=np.int64)

    def target_ids(self, text: str) -> IntArray:
        """Token ids of what an encoder–decoder says, without special tokens: (A,)."""
        return np.array(self._ids([text], targets=True, add_special_tokens=False)[0], dtype=np.int64)

    def pieces(self, ids: IntArray) -> tuple[str, ...]:
        """The characters that each token adds to the text: (A,) -> A strings."""
        written = [self.tokenizer.decode(ids[:k].tolist(), clean_up_tokenization_spaces=False) for k in range(len(ids) + 1)]
        found, said = [], ""
        for now in written[1:]:
            whole = now.rstrip("�") if now != written[-1] else now  # a character whose bytes are not yet complete
            new = whole[len(said) :] if whole.startswith(said) else whole
            found.append(new)
            said = whole if whole.startswith(said) else said + whole
        return tuple(found)

    def generate(
        self,
        prompt: Prompt | IntArray,
        prefix: str = "",
        seed: int = 0,
        heard: Callable[[str, int], None] | None = None,
        **settings: Any,
    ) -> Answer:
        """The model's own answer without its end token: greedy unless the settings of `model.generate` say otherwise.

        An encoder–decoder goes on from `prefix`. Where the settings draw, `seed` decides, and torch's own state stays. `heard`
        is called after every token with the text so far and its number of tokens, unless beams are searched.
        """
        ids = self.tokenize_prompt(prompt)
        self.check_length(len(ids), 1)
        before = np.concatenate([self.start, self.target_ids(prefix)]) if self.encodes else ids
        chosen = {"do_sample": False, "num_beams": 1} | _lengths(settings, len(before))
        if not self.encodes:
            chosen["max_new_tokens"] = min(chosen["max_new_tokens"], self.text_model.longest() - len(ids))
        drawn = {"seed": seed} if chosen["do_sample"] else {}
        how = ", ".join(f"{name}={value}" for name, value in (chosen | drawn).items())
        given = torch.from_numpy(ids)[None].to(device_of(self.model))
        spoken: dict[str, object] = {"tokenizer": self.tokenizer} if "stop_strings" in chosen else {}
        if heard is not None and chosen["num_beams"] == 1:
            spoken["streamer"] = _Streamer(self.tokenizer, heard)
        if prefix:
            spoken["decoder_input_ids"] = torch.from_numpy(before)[None].to(given.device)
        with self.hold(), torch.inference_mode(), quiet(), torch.random.fork_rng():
            torch.manual_seed(seed)
            try:
                said = self.model.generate(
                    given, attention_mask=torch.ones_like(given), pad_token_id=self.padding(), **spoken, **chosen
                )
            except (TypeError, ValueError) as error:
                raise InvalidInput(
                    f"{self.name} cannot generate with {how}: {' '.join(str(error).split())[:200]}; generate takes what "
                    "model.generate takes, for example {'max_new_tokens': 40}",
                    code="failed",
                ) from None
        new = getattr(said, "sequences", said)[0].cpu().numpy()[len(before) :]
        ends = np.flatnonzero(np.isin(new, self._ending))
        cut = not len(ends) and len(new) >= chosen["max_new_tokens"]
        new = new[: ends[0]] if len(ends) else new
        if not len(new):
            raise InvalidInput(f"{self.name} says nothing after this prompt ({how}); give an answer: answer='…'", code="empty")
        note = f"The answer is cut: it had not ended after {len(new)} new tokens, and max_new_tokens allows no more."
        how_made = Procedure("generated", settings=_kept(chosen | drawn))
        return Answer(new.astype(np.int64), self.pieces(new), how_made, note if cut else "")

    @property
    def _ending(self) -> list[int]:
        own = getattr(self.model.generation_config, "eos_token_id", None)
        listed = own if isinstance(own, list) else [own]
        return [int(t) for t in (*listed, self.tokenizer.eos_token_id) if t is not None]

    @property
    def start(self) -> IntArray:
        """What the decoder of an encoder–decoder reads before the answer; empty for a causal model."""
        if not self.encodes:
            return np.zeros(0, dtype=np.int64)
        config, generation = self.model.config, self.model.generation_config
        first = getattr(generation, "decoder_start_token_id", None)
        first = first if first is not None else config.decoder_start_token_id
        if first is None:
            raise InvalidInput(
                f"{self.name} has no decoder_start_token_id; set model.config.decoder_start_token_id", code="unsupported"
            )
        forced = getattr(generation, "forced_bos_token_id", None)
        return np.array([first] if forced is None else [first, forced], dtype=np.int64)

    # Passes

    @contextmanager
    def hold(self) -> Iterator[None]:
        """The model in evaluation mode; its state is put back afterwards."""
        with self.text_model.hold():
            yield

    def padding(self) -> int:
        """The id that fills short rows, where it is not seen."""
        try:
            return self.text_model.padding()
        except InvalidInput:
            return 0  # never seen, so any id will do

    def logits(self, given: Mapping[str, Any], answer: int) -> torch.Tensor:
        """Logits of the last `answer` positions of a call: (B, answer, V). Call inside `hold`."""
        keep = {"logits_to_keep": answer} if "logits_to_keep" in self.takes and not self.encodes else {}
        try:
            found: torch.Tensor = self.model(**given, **keep).logits
        except AccreditError:
            raise
        except Exception as error:  # a model may raise anything; say which one, on what, and what it said
            read = given["inputs_embeds"] if "inputs_embeds" in given else given["input_ids"]
            size = " × ".join(str(n) for n in read.shape[:2])
            raise InvalidInput(
                f"{self.name} failed on {size} tokens: {type(error).__name__}: {' '.join(str(error).split())[:200]}",
                code="failed",
            ) from error
        return found[:, -answer:]

    def read_attention(self, ids: IntArray, decoder: IntArray, answer: IntArray, tensor: str, heads: Heads) -> Read:
        """Attention of one pass over prompt and answer, heads combined layer by layer, as one of the tensors of
        `accredit.models.reading`; the payoff of gradients is the log-probability of the answer."""
        device = device_of(self.model)
        row, said = torch.from_numpy(ids)[None].to(device), torch.from_numpy(answer).to(device)
        given: dict[str, object] = {"input_ids": row, "attention_mask": torch.ones_like(row), "use_cache": False}
        if self.encodes:
            given["decoder_input_ids"] = torch.from_numpy(decoder)[None].to(device)
        elif "logits_to_keep" in self.takes:
            given["logits_to_keep"] = len(answer)

        def likely(output: ModelOutput) -> torch.Tensor:
            logits = finite(output.logits[0, -len(answer) :], self.name).float()
            return logits.log_softmax(dim=-1).gather(1, said[:, None]).sum()

        def forward(**extra: bool) -> ModelOutput:
            return self.model(**given, **extra)

        with self.hold(), track(self.model):
            return read_attention(self.model, forward, tensor, heads, likely, len(ids) + len(decoder))


class _Streamer:
    """What `model.generate` calls a streamer: given the prompt first, then every token as it is chosen."""

    def __init__(self, tokenizer: Any, heard: Callable[[str, int], None]) -> None:
        self._tokenizer, self._heard = tokenizer, heard
        self._ids: list[int] | None = None  # None: the prompt has not come by

    def put(self, value: torch.Tensor) -> None:
        if self._ids is None:
            self._ids = []
            return
        self._ids += value.flatten().tolist()
        said = self._tokenizer.decode(self._ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        self._heard(said.rstrip("�"), len(self._ids))

    def end(self) -> None:
        """Nothing is held back, so nothing is left to say."""


def _kept(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a result keeps them: what JSON does not hold, as text."""
    return {name: x if isinstance(x, bool | int | float | str) else str(x) for name, x in settings.items()}


def _lengths(settings: Mapping[str, Any], before: int) -> dict[str, Any]:
    """Settings of `model.generate` that ask for one answer, its length in new tokens; `before` tokens are there already."""
    chosen = dict(settings)
    if chosen.pop("num_return_sequences", 1) != 1:
        raise InvalidInput(
            f"num_return_sequences is {settings['num_return_sequences']!r:.40}, and one answer is explained; leave it out",
            code="unsupported",
        )
    if "max_length" in chosen:
        if "max_new_tokens" in chosen:
            raise InvalidInput("max_length and max_new_tokens are both given; give max_new_tokens alone", code="conflict")
        longest = _count(chosen.pop("max_length"), "max_length", before)
        return chosen | {"max_new_tokens": longest - before}
    return chosen | {"max_new_tokens": _count(chosen.get("max_new_tokens", ANSWER_TOKENS), "max_new_tokens")}


def _count(tokens: object, name: str, before: int = 0) -> int:
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens <= before:
        there = f", because {before} tokens are there already" if before else ""
        raise InvalidInput(
            f"{name} is {tokens!r:.40}; give a number of at least {before + 1}{there}", argument=name, code="range"
        )
    return tokens


def _are_ids(prompt: object) -> bool:
    return isinstance(prompt, list | tuple) and bool(prompt) and all(isinstance(i, int | np.integer) for i in prompt)


@check_arguments
def as_answering_model(model: object, tokenizer: object = None) -> AnsweringModel:
    """A model that answers from (model, tokenizer), from a transformers pipeline or a text model, or unchanged.

    >>> from accredit.models import builtin
    >>> as_answering_model(*builtin.load_answers()).encodes  # a causal model: nothing is encoded first
    False
    """
    return model if isinstance(model, AnsweringModel) else AnsweringModel(as_text_model(model, tokenizer))
