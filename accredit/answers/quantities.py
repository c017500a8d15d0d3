"""Numbers with their units, and whether texts give the same: "5 miles" does not say 5 km.

Units are what people write beside numbers: lengths, weights, times, temperatures, money, volumes, areas, powers of ten, months.
Spellings of one unit are the same ("km", "kilometres", "Kilometer"). Any other word is no unit, and is judged as words are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

SPELLINGS = """
    mm millimetre millimeter millimètre | cm centimetre centimeter zentimeter centimètre | m metre meter mètre
    km kilometre kilometer kilomètre | mi mile meile | ft foot feet fuß pied | inch inche zoll pouce | yd yard
    mg milligram milligramm milligramme | g gram gramme gramm | kg kilo kilogram kilogramm kilogramme | t tonne ton
    lb lbs pound pfund £ gbp | oz ounce unze | ms millisecond millisekunde | s sec second sekunde seconde | min minute
    h hr hour stunde heure | day tag jour | week woche semaine | month monat mois | year jahr ans année
    decade jahrzehnt | century jahrhundert siècle | °c celsius | °f fahrenheit | kelvin
    $ usd dollar | € eur euro | franc franken chf | ¥ jpy yen | cent | % percent prozent | ‰ promille
    ml millilitre milliliter | l litre liter | gallon gallone | ha hectare hektar | acre
    thousand tausend mille | million mio | billion milliarde milliard mrd bn | trillion
    kb kilobyte | mb megabyte | gb gigabyte | tb terabyte | watt | kw kilowatt | mw megawatt | kwh kilowattstunde
    january januar janvier | february februar février | march märz mars | april avril | may mai | june juni juin
    july juli juillet | august août | september septembre | october oktober octobre | november novembre
    december dezember décembre
"""
GROUPS = [group.split() for group in SPELLINGS.replace("\n", "|").split("|") if group.split()]
UNIT_OF = {word: group[0] for group in GROUPS for word in group}
WORDS = re.compile(r"[^\W\d_]+|°[CF]?|[%‰$€£¥]")
DEGREES = frozenset({"°", "degree", "degrees", "grad", "degré", "degrés"})  # the next word says which
HOW_MANY = re.compile(r"\b(?:how many|how much in|wie viele?|combien d[e’'])\s*([^\W\d_]+)", re.IGNORECASE)


def unit(word: str) -> str:
    """The unit that a word names, in one spelling; empty if it names none.

    >>> unit("Kilometres"), unit("km"), unit("Stunden"), unit("€"), unit("rooms")
    ('km', 'km', 'h', '€', '')
    """
    low = word.lower()
    return next((UNIT_OF[each] for each in (low, low.removesuffix("s"), low.removesuffix("n")) if each in UNIT_OF), "")


def unit_beside(text: str, start: int, stop: int) -> tuple[str, str]:
    """The unit beside a number of a text, and the words that give it; empty if there is none.

    >>> unit_beside("It costs $ 45 now.", 11, 13), unit_beside("It is 20 degrees Celsius.", 6, 8)
    (('$', '$ 45'), ('°c', '20 degrees Celsius'))
    """
    if (sign := re.search(r"[$€£¥]\s?(?:\d[\d.,]*)?\Z", text[:start])) is not None:
        return unit(sign.group()[0]), text[sign.start() : stop]
    after = re.match(r"(?:[.,]\d+)*[\s\-]*", text[stop:])
    place = stop + (after.end() if after else 0)
    word = WORDS.match(text, place)
    if word is not None and word.group().lower() in DEGREES:
        word = WORDS.match(text, word.end() + (text[word.end() : word.end() + 1] == " "))
    found = unit(word.group()) if word is not None else ""
    return found, text[start : word.end()] if word is not None and found else text[start:stop]


def units_said(number: str, texts: Sequence[str]) -> set[str]:
    """The units that texts give beside a number; an empty one where it has none.

    >>> sorted(units_said("146", ["Crossing time: 146 minutes.", "Room 146."]))
    ['', 'min']
    """
    places = re.compile(rf"(?<!\w){re.escape(number)}(?!\w)")
    return {unit_beside(text, found.start(), found.end())[0] for text in texts for found in places.finditer(text)}


def says_unit(number: str, wanted: str, asked: str, texts: Sequence[str]) -> bool:
    """Whether texts give a number with a unit: beside it, or somewhere else, or in the question, where it has none beside it.

    >>> says_unit("146", "h", "", ["It takes 146 minutes."]), says_unit("146", "h", "", ["Hours: 146."])
    (False, True)
    """
    given = units_said(number, texts)
    return wanted in given or (
        "" in given and any(unit(word) == wanted for text in [asked, *texts] for word in WORDS.findall(text))
    )


def says_another(number: str, wanted: str, texts: Sequence[str]) -> str:
    """Another number with that unit which a text gives that has not this one, as it is written; empty if none does.

    >>> says_another("214", "m", ["It is 214 m long.", "Length: 236 metres."])
    '236 metres'
    """
    for text in texts:
        if not units_said(number, [text]):
            for found in re.finditer(r"(?<!\w)\d+(?!\w)", text):
                given, shown = unit_beside(text, found.start(), found.end())
                if wanted and given == wanted:
                    return shown
    return ""


def unit_asked(asked: str) -> str:
    """The unit that a question asks for.

    >>> unit_asked("How many kilometres is it?"), unit_asked("How many rooms has it in May?")
    ('km', '')
    """
    found = HOW_MANY.search(asked)
    return unit(found.group(1)) if found else ""
