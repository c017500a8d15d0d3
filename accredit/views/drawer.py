"""One explanation drawn: the first method large, all methods side by side, and every number in one table."""

from __future__ import annotations

from dataclasses import dataclass

from accredit.core import Attribution
from accredit.explanation.result import Explanation
from accredit.views.escape import escape
from accredit.views.palette import level
from accredit.views.parts import bar, bounds, number, span
from accredit.views.segments import Segment, segments
from accredit.views.sky import sky
from accredit.views.words import duration, in_words, title

OPEN_ROWS = 60  # players up to which the table of numbers has bars, and is open when the page loads
MANY = 80  # players from which the first drawing is set smaller, and what is out of sight is not laid out
TOGETHER = 28  # characters that stay on one line when no space parts them


@dataclass(frozen=True)
class _Scale:
    """A result as plain numbers, read once for all its tokens."""

    place: dict[str, int]
    credit: list[float]
    low: list[float]
    high: list[float]
    reach: tuple[float, float]
    largest: float
    signed: bool

    @classmethod
    def of(cls, result: Attribution, signed: bool) -> _Scale:
        credit, (low, high) = result.credit.tolist(), bounds(result)
        place = {player: k for k, player in enumerate(result.players)}
        return cls(place, credit, low, high, span(result), max(map(abs, credit), default=0.0), signed)

    def colour(self, at: int) -> str:
        return level(self.credit[at], self.largest, self.signed)


class Drawer:
    """Draws one explanation; knows where its segments are and how players are numbered."""

    def __init__(self, explanation: Explanation, live: bool) -> None:
        self.explanation, self.live = explanation, live
        self.texts = [segments(explanation, part) for part in range(1 if explanation.pair is None else 2)]
        extra = dict.fromkeys(p for _, a in explanation for p in a.players if p not in explanation.players)
        self.everyone = [*explanation.players, *extra]
        self.number = {player: k for k, player in enumerate(self.everyone)}
        self.scales = {m: _Scale.of(a, m not in explanation.unsigned) for m, a in explanation}
        self.many = len(self.everyone) > MANY

    def lead(self) -> str:
        """The first method that ran, large, with a bar and its interval over every token."""
        method, result = next(iter(self.explanation))
        caption = f'<p class="small soft">{escape(title(method))}: {escape(in_words(result))}</p>'
        if self.explanation.picture:
            return f'<div class="plate">{self._image()}{self._image(method)}</div>{caption}'
        many = " many" if self.many else ""
        return f'<div class="strip lead{many}">{self._strip(method, large=True)}</div>{caption}'

    def side_by_side(self) -> dict[str, str]:
        """Every method as a strip of coloured tokens, or all of them as coloured pictures."""
        rows = {}
        for method, result in self.explanation:
            costs = [f"{result.payoffs:,} payoffs"] if result.payoffs is not None else []
            if method in self.explanation.seconds:
                costs.append(duration(self.explanation.seconds[method]))
            about = f"<h3>{escape(title(method))}</h3><p class='small'>{escape(in_words(result))}</p>"
            about += f"<p class='small soft'>{' · '.join(costs)}</p>" if costs else ""
            if self.explanation.picture:
                rows[method] = f"<div>{self._image(method)}{about}</div>"
            else:
                strip = self._strip(method, large=False)
                aside = " aside" if self.many else ""
                rows[method] = f'<div class="method{aside}"><div>{about}</div><p class="strip">{strip}</p></div>'
        if self.explanation.picture:
            return {"pictures": f'<div class="pictures">{"".join(rows.values())}</div>'}
        return rows

    def _strip(self, method: str, large: bool) -> str:
        """The text with its tokens coloured; of a pair, one below the other."""
        texts = [self._running(text, method, large) for text in self.texts]
        if len(texts) == 1:
            return texts[0]
        return "".join(
            f'<span class="text"><span class="small soft">{name}</span>{text}</span>'
            for name, text in zip(("First text", "Second text"), texts, strict=True)
        )

    def _running(self, text: list[Segment], method: str, large: bool) -> str:
        """One text with its tokens coloured; if `large`, pieces without a space between them stay on one line."""
        scale = self.scales[method]
        parts: list[str] = []
        together: list[Segment] = []

        def flush() -> None:
            drawn = "".join(self._token(s, scale, large) for s in together)
            short = sum(len(s.text) for s in together) <= TOGETHER
            parts.append(f'<span class="nb">{drawn}</span>' if large and len(together) > 1 and short else drawn)
            together.clear()

        for segment in text:
            if segment.player not in scale.place:
                flush()
                parts.append(escape(segment.text) if segment.written else "")
            else:
                if segment.special or (together and together[-1].special):
                    flush()
                    parts.append(" " if parts and not parts[-1].endswith(" ") else "")
                together.append(segment)
        flush()
        return "".join(parts)

    def _token(self, segment: Segment, scale: _Scale, large: bool) -> str:
        assert segment.player is not None
        at = scale.place[segment.player]
        credit, colour = scale.credit[at], scale.colour(at)
        kind = f"t{' special' if segment.special else ''}" + ("" if large else f" {colour}")
        told = escape(f"{segment.text.strip()}: {number(credit, scale.signed)}")
        if self.live:
            k = self.number[segment.player]
            opened = f'<a class="{kind}" href="#p{k}" data-p="{k}" aria-label="{told}"'
        else:
            opened = f'<span class="{kind}" title="{told}"'
        inner = escape(segment.text)
        if large:
            drawn = sky(credit, (scale.low[at], scale.high[at]), scale.reach, scale.signed)
            inner = f'{drawn}<span class="{colour}">{inner}</span>'
        return f"{opened}>{inner}</{'a' if self.live else 'span'}>"

    def _image(self, method: str | None = None) -> str:
        """The picture; with a method, its patches coloured by their credit."""
        picture = self.explanation.picture
        assert picture is not None
        (height, width), (down, across) = picture.size, picture.grid
        patches, name = "", "the picture"
        if method is not None:
            scale, tall, wide = self.scales[method], height / down, width / across
            name = f"the picture, coloured by {self.explanation[method].method}"
            for k, player in enumerate(self.explanation.players):
                at = scale.place[player]
                told = escape(f"{player}: {number(scale.credit[at], scale.signed)}")
                rect = (
                    f'<rect x="{k % across * wide:.2f}" y="{k // across * tall:.2f}" width="{wide:.2f}" height="{tall:.2f}" '
                    f'class="t patch {scale.colour(at)}" data-p="{k}"><title>{told}</title></rect>'
                )
                patches += f'<a href="#p{k}" tabindex="-1" aria-label="{told}">{rect}</a>' if self.live else rect
        return (
            f'<svg viewBox="0 0 {width} {height}" role="group" aria-label="{escape(name)}">'
            f'<image href="{escape(picture.data)}" width="{width}" height="{height}"/>{patches}</svg>'
        )

    def numbers(self) -> str:
        """Every number in one table: players down, methods across. Tokens link to its rows, the inspector copies from it."""
        head = "".join(f'<th scope="col">{escape(title(m))}</th>' for m in self.scales)
        plain = len(self.everyone) > OPEN_ROWS
        rows = []
        for k, player in enumerate(self.everyone):
            anchor = f' id="p{k}"' if self.live else ""
            cells = "".join(self._cell(scale, player, plain) for scale in self.scales.values())
            rows.append(f'<tr{anchor}><th scope="row">{escape(player)}</th>{cells}</tr>')
        body = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        told = "point at a number for its interval" if plain else "thin lines are intervals"
        return (
            "<section><h2>Every number</h2>"
            f'<details{"" if plain else " open"}><summary class="soft">{len(rows)} rows; {told}, where a method has them'
            f'</summary><div class="numbers{" plain" if plain else ""}" tabindex="0" role="region" aria-label="Every number">'
            f"{body}</div></details></section>"
        )

    def _cell(self, scale: _Scale, player: str, plain: bool) -> str:
        """A number with its bar; in a long table, one that is only coloured."""
        if player not in scale.place:
            return "<td>—</td>"
        at = scale.place[player]
        credit, low, high = scale.credit[at], scale.low[at], scale.high[at]
        tip = f' title="{number(low)} … {number(high)}"' if high > low else ""
        if plain:
            return f'<td class="{scale.colour(at)}"{tip}>{number(credit, scale.signed)}</td>'
        drawing = bar(credit, scale.reach, (low, high), 44, 14, scale.signed)
        return f'<td><span class="cell"{tip}>{number(credit, scale.signed)} {drawing}</span></td>'
