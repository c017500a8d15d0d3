"""One explanation as values that a template lays out: strips of tokens, pictures of patches, every number in one table."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, NamedTuple

from accredit.core import Attribution
from accredit.explanation.result import Explanation
from accredit.views.language.answer_words import player_noun
from accredit.views.language.numbers import brief, column, rounding, unnoticed
from accredit.views.language.palette import level
from accredit.views.language.phrases import FLOW, costs, direction, in_words, place_name, title
from accredit.views.language.printable import width
from accredit.views.language.segments import Segment, segments
from accredit.views.pages.engine import render
from accredit.views.pages.outlines import outlines
from accredit.views.pages.parts import Bar, bar, bounds, sky, span
from accredit.views.terminal.answer_text import darkest

if TYPE_CHECKING:
    from markupsafe import Markup

OPEN_ROWS = 60  # players up to which the table of numbers has bars, and is open when the page loads
MANY = 80  # players from which the first drawing is set smaller, and what is out of sight is not laid out
COARSE = 96  # pixels of the longer edge up to which a picture is drawn with sharp pixels
EDGED = 200  # patches up to which their borders are drawn
TOGETHER = 28  # characters that stay on one line when no space parts them
PIECE = 80  # tokens after which a long text may begin a new paragraph, and rows of a part of a long table

# Tokens tell their numbers: in a file they are links, which need no script; on the page, where a script listens, they are not,
# as a browser looks once more at each of thousands of links when they are drawn. "" draws them only.
Live = Literal["", "file", "page"]
Word = tuple[int, str, str, str, str, str, str]  # number, classes, label, text, colour, bar, whisker
Run = tuple[str, list[Word], bool]  # text that nobody plays, then tokens, and whether these stay on one line
Patch = tuple[int, str, str, str]  # number, outline, colour, label
Cell = tuple[str, str, str, Bar | None]  # text, colour, interval, bar


class About(NamedTuple):
    """What stands beside a method's drawing."""

    title: str
    words: str
    costs: str


class Image(NamedTuple):
    """A picture and the patches or segments that lie on it."""

    width: int
    height: int
    name: str
    data: str  # empty: it is drawn elsewhere under `id`
    id: str
    coarse: bool  # so few pixels that each is seen
    edged: bool  # borders are drawn
    patches: list[Patch]


@dataclass(frozen=True)
class _Scale:
    """A result as plain numbers, read once for all its tokens."""

    place: dict[str, int]
    credit: list[float]
    low: list[float]
    high: list[float]
    reach: tuple[float, float]
    signed: bool
    text: list[str]
    colour: list[str]  # classes

    @classmethod
    def of(cls, result: Attribution, signed: bool, least: float, darkest: float = 0.0) -> _Scale:
        """Credit smaller than `least` is drawn as none; credit of `darkest`, or the largest, has the strongest colour."""
        credit, (low, high) = result.credit.tolist(), bounds(result)
        place = {player: k for k, player in enumerate(result.players)}
        largest = max(*map(abs, credit), least, darkest)
        text = column([x if abs(x) > least else 0.0 for x in credit], signed)
        colour = [level(x, largest, signed) for x in credit]
        lowest, highest = span(result)
        return cls(place, credit, low, high, (lowest, max(highest, least)), signed, text, colour)


class Drawer:
    """Draws one explanation; knows where its segments are and how players are numbered."""

    def __init__(self, explanation: Explanation, live: Live, largest: float = 0.0) -> None:
        self.explanation, self.live = explanation, live
        self.texts = [segments(explanation, part) for part in range(1 if explanation.pair is None else 2)]
        named = (p for _, a in explanation for p in a.players)
        self.everyone = list(dict.fromkeys([*explanation.players, *named]))
        self.number = {player: k for k, player in enumerate(self.everyone)}
        answers = explanation.said is not None
        self.scales = {
            m: _Scale.of(
                a,
                m not in explanation.unsigned,
                rounding(a) if answers else 0.0,
                max(largest, unnoticed(a), darkest(explanation, a) if answers else 0.0),
            )
            for m, a in explanation
        }
        self.direction = direction(explanation.text) if explanation.picture is None else "ltr"
        self.many = len(self.everyone) > MANY
        picture = explanation.picture
        self.called = {player: place_name(player) if picture else player for player in self.everyone}
        self.outlines = outlines(picture.owner) if picture else []
        self.picture_id = f"picture-{sha256(picture.data.encode()).hexdigest()[:12]}" if picture else ""

    def lead(self) -> Markup:
        """The first method that ran, large, with a bar and its interval over every token."""
        method, result = next(iter(self.explanation))
        caption = f"{title(method)}: {self._adds_up(method, result)}"
        if self.explanation.picture:
            pictures = {"picture": self._image(), "credit": self._image(method)}
            return render("explanation", "plate", **pictures, live=self.live, caption=caption)
        texts = self._strip(method, large=True)
        how = {"many": self.many, "live": self.live, "direction": self.direction}
        return render("explanation", "lead", texts=texts, caption=caption, **how)

    def side_by_side(self) -> dict[str, Markup]:
        """Every method as a strip of coloured tokens, or all of them as coloured pictures."""
        about = {m: self._about(m, result) for m, result in self.explanation}
        if self.explanation.picture:
            drawn = [(words, self._image(method)) for method, words in about.items()]
            return {"pictures": render("explanation", "pictures", methods=drawn, live=self.live)}
        return {
            method: render(
                "explanation",
                "method",
                about=words,
                texts=self._strip(method, large=False),
                many=self.many,
                live=self.live,
                direction=self.direction,
            )
            for method, words in about.items()
        }

    def strip(self, method: str) -> Markup:
        """The text coloured by one method, as running text."""
        return render("explanation", "strip", texts=self._strip(method, large=False), large=False, live=self.live)

    def _about(self, method: str, result: Attribution) -> About:
        paid = costs(result, self.explanation.seconds.get(method))
        return About(title(method), self._adds_up(method, result), " · ".join(paid))

    def _adds_up(self, method: str, result: Attribution) -> str:
        return in_words(result, FLOW) if method in self.explanation.unsigned else in_words(result)

    def _strip(self, method: str, large: bool) -> list[tuple[str, list[list[Run]]]]:
        """The text in paragraphs of coloured tokens; of a pair, both texts with their names."""
        pair = ("First text", "Second text") if self.explanation.said is None else ("Prompt", "Said so far")
        names = pair[: len(self.texts)]
        return [(name, paragraphs(self._runs(text, method, large))) for name, text in zip(names, self.texts, strict=True)]

    def _runs(self, text: list[Segment], method: str, large: bool) -> list[Run]:
        """One text, cut where nobody plays; if `large`, pieces without a space between them stay on one line, except
        in scripts that write none."""
        scale = self.scales[method]
        runs: list[Run] = []
        before, together = "", list[Segment]()

        def flush(then: str) -> None:
            nonlocal before
            letters = "".join(s.text for s in together)
            short = width(letters) <= len(letters) <= TOGETHER  # wide letters, Han and kana, may begin a line anywhere
            runs.append((before, [self._word(s, scale, large) for s in together], large and len(together) > 1 and short))
            together.clear()
            before = then

        for segment in text:
            if segment.player not in scale.place:
                flush(segment.text if segment.written else "")
            else:
                if segment.special or (together and together[-1].special):
                    spaced = not together and (not runs or before.endswith(" "))
                    flush("" if spaced else " ")
                together.append(segment)
        flush("")
        return runs

    def _word(self, segment: Segment, scale: _Scale, large: bool) -> Word:
        assert segment.player is not None
        at = scale.place[segment.player]
        colour, special = scale.colour[at], " special" if segment.special else ""
        kind = f"t{special}" if large else f"t{special} {colour}"
        rise, whisker = "", ""
        if large:
            rise, whisker = sky(scale.credit[at], (scale.low[at], scale.high[at]), scale.reach, scale.signed)
        label = f"{segment.text.strip()}: {scale.text[at]}"
        return self.number[segment.player], kind, label, segment.text, colour, rise, whisker

    def _image(self, method: str | None = None) -> Image:
        """The picture; with a method, its patches or segments coloured by their credit."""
        picture = self.explanation.picture
        assert picture is not None
        (height, width), coarse = picture.size, max(picture.size) <= COARSE
        if method is None:
            return Image(width, height, "the picture", picture.data, self.picture_id, coarse, False, [])
        scale = self.scales[method]
        patches = []
        for k, (player, path) in enumerate(zip(self.explanation.players, self.outlines, strict=False)):
            at = scale.place[player]
            patches.append((k, path, scale.colour[at], f"{self.called[player]}: {scale.text[at]}"))
        name = f"the picture, coloured by {self.explanation[method].method}"
        return Image(width, height, name, "", self.picture_id, coarse, len(patches) <= EDGED, patches)

    def numbers(self) -> Markup:
        """Every number in one table: players down, methods across."""
        plain = len(self.everyone) > OPEN_ROWS
        rows = [(self.called[player], [self._cell(s, player, plain) for s in self.scales.values()]) for player in self.everyone]
        names = [title(method) for method in self.scales]
        parts = [(k, rows[k : k + PIECE]) for k in range(0, len(rows), PIECE if plain else len(rows) or 1)]
        facts = {"methods": names, "parts": parts, "count": len(rows), "plain": plain, "live": self.live}
        return render("explanation", "numbers", **facts, player=player_noun(self.explanation))

    def _cell(self, scale: _Scale, player: str, plain: bool) -> Cell:
        """A number with its bar; in a long table, one that is only coloured."""
        if player not in scale.place:
            return "—", "", "", None
        at = scale.place[player]
        low, high = scale.low[at], scale.high[at]
        tip = f"{brief(low)} … {brief(high)}" if high > low else ""
        drawing = None if plain else bar(scale.credit[at], scale.reach, (low, high), 44, 14, scale.signed)
        return scale.text[at], scale.colour[at], tip, drawing


def paragraphs(runs: list[Run]) -> list[list[Run]]:
    """A long text in paragraphs, which a browser lays out one by one; they end with a sentence if they can, else at a space."""
    found: list[list[Run]] = [[]]
    count, last = 0, ""
    for before, words, together in (short for run in runs for short in _shorten(run)):
        spaced, ended = before[-1:].isspace(), (last + before).rstrip()[-1:] in tuple(".!?。！？")
        if (count >= PIECE and spaced and ended) or (count >= 1.5 * PIECE and spaced) or count >= 2 * PIECE:
            found[-1].append((before.rstrip(), [], False))
            found.append([])
            count, before = 0, ""
        found[-1].append((before, words, together))
        count, last = count + len(words), words[-1][3] if words else ""
    return found


def _shorten(run: Run) -> list[Run]:
    """A run of no more tokens than a paragraph begins with: scripts without spaces have longer ones."""
    before, words, _ = run
    if len(words) <= PIECE:
        return [run]
    rest = [("", words[k : k + PIECE], False) for k in range(PIECE, len(words), PIECE)]
    return [(before, words[:PIECE], False), *rest]
