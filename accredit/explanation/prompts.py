"""A prompt as people see it: one text with everybody's characters, and players nested in its words and sentences."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from accredit.answers.prompt import Parts, Place, Prompt, paragraph_spans
from accredit.errors import InvalidInput
from accredit.explanation.result import Token
from accredit.models.encoded import sentence_spans, visible, word_spans

if TYPE_CHECKING:
    from accredit.answers.assembly import TokenLayout
    from accredit.answers.model import AnsweringModel


def show_prompt(parts: Any, players: tuple[str, ...], model: AnsweringModel | None) -> tuple[str, tuple[Token, ...]]:
    """The prompt as one text, and which of its characters belong to whom; those of a prefix are of part 1.

    `parts` are those of a model's game, or of a function's, which has no `model`.
    """
    text, own = _own(getattr(parts, "source", parts), model)
    said, so_far = parts.shown if hasattr(parts, "prefix") else ("", [])
    written = [(text, *each, 0) for each in own] + [(said, *each, 1) for each in so_far]
    return text, tuple(Token(visible(all_of[a:b]), a, b, players[who], part=part) for all_of, a, b, who, part in written)


def _own(parts: Any, model: AnsweringModel | None) -> tuple[str, list[tuple[int, int, int]]]:
    """The prompt as one text, and which of its characters are whose: start, stop, number of the player."""
    if hasattr(parts, "partition"):  # tokens leave in place
        layout: TokenLayout = parts.layout
        owned = zip(layout.spans.tolist(), layout.owner.tolist(), strict=True)
        return layout.text, [(a, b, who) for (a, b), who in owned if who >= 0]
    dealt: Parts = getattr(parts, "parts", parts)
    text, places = _write(dealt.prompt, model)
    spans = [(places[c].of(a, b), who) for (c, a, b), who in zip(dealt.spans, dealt.owner, strict=True)]
    return text, [(there.start, there.stop, who) for there, who in spans]


def _write(prompt: Prompt, model: AnsweringModel | None) -> tuple[str, list[Place]]:
    """The whole prompt as one text, through the chat template where that can be followed, and where each content stands."""
    if model is not None:
        with suppress(InvalidInput):  # the template rewrites what is said
            return model.layout(prompt)
    if prompt.messages is None:
        return prompt.contents[0], [Place(0, 0, len(prompt.contents[0]))]
    text, places = "", []
    for message, content in zip(prompt.messages, prompt.contents, strict=True):
        text += f"{message['role']}: "
        places.append(Place(len(text), len(text), len(text + content)))
        text += f"{content}\n\n"
    return text, places


def nest(players: tuple[str, ...], text: str, tokens: tuple[Token, ...], before: str) -> Sequence[object]:
    """Players nested in words, sentences and paragraphs of the prompt, or of what was said so far; each belongs where its first
    character is."""
    first: dict[str, tuple[int, int]] = {}
    for token in tokens:
        first.setdefault(token.player, (token.part, token.start))
    levels = [[[a for a, _ in rule(part)] for rule in (paragraph_spans, sentence_spans, word_spans)] for part in (text, before)]
    tree: dict[tuple[int, int], dict[int, dict[int, list[str]]]] = {}
    for player in players:
        part, at = first[player]
        paragraph, sentence, word = (max(bisect_right(starts, at) - 1, 0) for starts in levels[part])
        tree.setdefault((part, paragraph), {}).setdefault(sentence, {}).setdefault(word, []).append(player)
    deep = [[list(words.values()) for words in sentences.values()] for sentences in tree.values()]
    return deep if len(deep) > 1 else deep[0]
