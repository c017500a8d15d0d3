"""The explained text cut where players change, so that every character is shown once and in its place."""

from __future__ import annotations

from dataclasses import dataclass, replace

from accredit.explanation.result import Explanation, Token

PIECE = "·"  # stands for a token of characters that are already shown, such as the second byte of an emoji


@dataclass(frozen=True)
class Segment:
    """A piece of the text and who plays for it; nobody plays for spaces and for what the model did not read."""

    text: str
    player: str | None
    special: bool = False  # the tokenizer's own token, which no game removes
    written: bool = True  # its characters are the author's; False: it only stands for a token


def segments(explanation: Explanation, part: int = 0) -> list[Segment]:
    """The whole text in order, or (part 1) the second text of a pair; neighbouring tokens of one player are one segment,
    spaces inside it included.

    >>> tokens = (Token("[CLS]", 0, 0, "[CLS]", True), Token("un", 0, 2, "unkind"), Token("kind", 2, 6, "unkind"),
    ...           Token("!", 6, 7, "!"))
    >>> [s.text for s in segments(Explanation("unkind! …", (), "", (), (), {}, tokens=tokens))]
    ['[CLS]', 'unkind', '!', ' …']
    """
    text = explanation.pair or "" if part else explanation.text
    found: list[tuple[list[str], Segment]] = []  # pieces that are joined once, at the end
    at = 0
    for token in explanation.tokens:
        if token.part != part:
            continue
        start, end = max(at, token.start), max(at, token.end)
        start += len(text[start:end]) - len(text[start:end].lstrip())  # some tokenizers count the space before a word
        covered, gap = text[start:end], text[at:start]
        if found and found[-1][1].player == token.player:
            found[-1][0].extend((gap, covered))
            found[-1] = (found[-1][0], replace(found[-1][1], special=token.special))
        else:
            found += [([gap], Segment("", None))] if gap else []
            shown = covered or _stand_in(token, text)
            found.append(([shown], Segment("", token.player, token.special, bool(covered))))
        at = end
    found += [([text[at:]], Segment("", None))] if text[at:] else []
    return [replace(segment, text="".join(pieces)) for pieces, segment in found]


def _stand_in(token: Token, text: str) -> str:
    """What is shown for a token whose characters, if it has any, are already there."""
    return PIECE if token.shown == text[token.start : token.end].strip() else token.shown
