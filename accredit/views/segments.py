"""The explained text cut where players change, so that every character is shown once and in its place."""

from __future__ import annotations

from dataclasses import dataclass

from accredit.explanation.result import Explanation


@dataclass(frozen=True)
class Segment:
    """A piece of the text and who plays for it; nobody plays for spaces and for what the model did not read."""

    text: str
    player: str | None
    special: bool = False


def segments(explanation: Explanation) -> list[Segment]:
    """The whole text in order; neighbouring tokens of one player are one segment, spaces inside it included.

    >>> from accredit.explanation.result import Token
    >>> tokens = (Token("[CLS]", 0, 0, "[CLS]", True), Token("un", 0, 2, "unkind"), Token("kind", 2, 6, "unkind"),
    ...           Token("!", 6, 7, "!"))
    >>> [s.text for s in segments(Explanation("unkind! …", (), "", (), (), {}, tokens=tokens))]
    ['[CLS]', 'unkind', '!', ' …']
    """
    text, found, at = explanation.text, [], 0
    for token in explanation.tokens:
        if token.special:
            found.append(Segment(token.shown, token.player, True))
            at = max(at, token.end)
            continue
        start, end = max(at, token.start), max(at, token.end)
        start += len(text[start:end]) - len(text[start:end].lstrip())  # some tokenizers count the space before a word
        covered, gap = text[start:end], text[at:start]
        if found and found[-1].player == token.player:
            found[-1] = Segment(found[-1].text + gap + covered, token.player)
        else:
            found += [Segment(gap, None)] if gap else []
            found.append(Segment(covered or token.shown, token.player))
        at = end
    return found + ([Segment(text[at:], None)] if text[at:] else [])
