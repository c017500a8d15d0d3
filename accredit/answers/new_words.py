"""What a sentence says beyond the question: its new words, the names that question and sentence share, and which of its words
passages say.

"The capital of France is Paris." answers "What is the capital of France?" by one word, Paris. The others would be likely after
any passages, or unlikely only because the model would put it in another way; neither tells where the sentence comes from. A
word that denies is new, too: "Paris is not specified" says something that no passage about Paris says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from accredit.answers.quantities import says_another, says_unit, unit_asked, unit_beside

WORD = re.compile(r"\w+(?:[’'\-]\w+)*")
BEGINS = re.compile(r"(?:^\s*|[.!?:]\s+)[^\w\s]*\Z")  # what stands before the first word of a sentence
STEM = 5  # letters by which two longer words are the same: "travel" and "travelled"
GRAMMAR = """
    a an the of in on at to is was are were be been by for with from and or that this these it its as has have had do does did
    not no there he she they his her their which who whom what when where how into also than then so but i you we my your our
    if can will would may one
    der die das den dem des ein eine einen einem einer eines und oder ist sind war waren im am zum zur von vom mit für auf aus
    bei nach als auch nicht es er sie ihr ihre sein seine hat haben wird wurde wurden man wie was wer wo wann dass
    le la les un une des du de et ou est sont en au aux dans par pour sur avec il elle ils qui que ne pas se sa son ses
    el los las una unos y es son por para con su sus que no se al lo
"""
LITTLE = frozenset(GRAMMAR.split())  # in the languages that most answers are written in; of others every word counts
DENIALS = """
    no not never none nobody nothing neither nor cannot unknown unclear unspecified undisclosed unable
    nicht nichts kein keine keinen keinem keiner keines nie niemals niemand unbekannt unklar
    pas jamais aucun aucune rien nunca nadie ninguno ninguna
"""
DENY = frozenset(DENIALS.split())
NUMBERS = {
    word: str(number)
    for words in ("zero one two three four five six seven eight nine ten eleven twelve", "null eins zwei drei vier fünf sechs "
    "sieben acht neun zehn elf zwölf")
    for number, word in enumerate(words.split())
}  # fmt: skip


def new_words(text: str, asked: str) -> list[tuple[int, int]]:
    """First and last character (one past it) of each content word of a text that the question does not say.

    Of a text without any, all content words; of a text without content words, all words.

    >>> [text[a:b] for text in ["The dog of Anna is called Rex."] for a, b in new_words(text, "What is Anna's dog called?")]
    ['Rex']
    """
    every = [(found.start(), found.end(), found.group()) for found in WORD.finditer(text)]
    content = [each for each in every if _has_content(each[2])]
    said = keys_of(asked)
    new = [each for each in content if key_of(each[2]) not in said]
    return [(start, stop) for start, stop, _ in new or content or every]


def telling(text: str, places: Sequence[tuple[int, int]]) -> list[bool]:
    """For each of some words of a text whether it is a name (no first word of a sentence, and no single letter), a number or
    denies; all of them, where none is. Others may be unlikely only because the model would put it in another way.

    >>> text = " Weighed was the parcel from Lund, at 46 pounds."
    >>> telling(text, new_words(text, "How heavy is the parcel from Lund?"))  # Weighed, 46, pounds
    [False, True, False]
    """
    found = [
        _has_digit(word) or denies(word) or (len(word) > 1 and word[0].isupper() and not BEGINS.search(text, 0, start))
        for start, word in ((start, text[start:stop]) for start, stop in places)
    ]
    return found if any(found) else [True] * len(places)


def is_said_by(text: str, asked: str) -> bool:
    """Whether a question says every content word of a text.

    >>> is_said_by("It is Paris.", "Is it Paris?"), is_said_by("It isn't Paris.", "Is it Paris?")
    (True, False)
    """
    return {key_of(word) for word in WORD.findall(text) if _has_content(word)} <= keys_of(asked)


def shared_names(text: str, asked: str) -> frozenset[str]:
    """The names (words with a capital letter or a digit, but for the first of a question) that a text and a question share.

    >>> sorted(shared_names("The dog of Anna is called Rex.", "What is Anna's dog called?"))
    ['anna']
    """
    names = {_plain(word) for word in WORD.findall(asked)[1:] if word[0].isupper() or _has_digit(word)}
    return frozenset(names & {_plain(word) for word in WORD.findall(text)}) - LITTLE


def holds(text: str, names: frozenset[str]) -> bool:
    """Whether every name is among the words of a text."""
    return names <= {_plain(word) for word in WORD.findall(text)}


def linking_words(passages: Iterable[str], asked: str) -> frozenset[str]:
    """Names that passages may share and the question does not have: words with a digit, or with a capital letter somewhere that
    no sentence begins.

    >>> sorted(linking_words(["Boris has the job of Anna.", "Anna works as a baker."], "What does Boris do?"))
    ['anna']
    """
    found = {
        _plain(word.group())
        for text in passages
        for word in WORD.finditer(text)
        if _has_digit(word.group()) or (word.group()[0].isupper() and not BEGINS.search(text, 0, word.start()))
    }
    return frozenset(found - {_plain(word) for word in WORD.findall(asked)} - LITTLE)


def says_together(texts: Sequence[str], names: frozenset[str], linking: frozenset[str]) -> bool:
    """Whether texts hold all names between them and hang together: from each one gets to each by words that link, or because
    both hold all the names, if there are any. Two facts about different people do not.

    >>> linking = frozenset({"anna"})
    >>> says_together(["Boris has the job of Anna.", "Anna works as a baker."], frozenset({"boris"}), linking)
    True
    >>> says_together(["Boris works as a cook.", "Clara works as a baker."], frozenset({"boris"}), linking)
    False
    """
    words = [{_plain(word) for word in WORD.findall(text)} for text in texts]
    reached, left = words[:1], words[1:]
    while near := [
        each for each in left if any(each & other & linking or (names and names <= each & other) for other in reached)
    ]:
        reached += near
        left = [each for each in left if not any(each is one for one in near)]
    return not left and names <= set().union(*words)


def denies(text: str) -> bool:
    """Whether a text has a word that denies.

    >>> denies("The mayor isn't named."), denies("Nobody knows."), denies("Room No. 5")
    (True, True, False)
    """
    return any(
        word.lower() in DENY or word.lower().endswith(("n't", "n’t"))
        for word in WORD.findall(re.sub(r"\bNo\.? (?=\d)", "", text))
    )


def words_said(words: Sequence[str], sentence: str, texts: Sequence[str], names: frozenset[str]) -> list[bool]:
    """For each new word of a sentence whether texts say it: a word that denies in a sentence that denies, holds the names and
    another word of it, others anywhere. None is said where they say the same sentence with a word that denies.

    >>> drusk = frozenset({"drusk"})
    >>> words_said(["Pellworth"], "The mayor of Drusk is Pellworth.", ["Pellworth runs Drusk."], drusk)
    [True]
    >>> texts = ["Pellworth was named mayor of Drusk. It did not rain."]
    >>> words_said(["not", "named"], "The mayor of Drusk is not named.", texts, drusk)
    [False, True]
    >>> words_said(["Pellworth"], "Pellworth runs Drusk.", ["Pellworth never runs Drusk."], drusk)
    [False]
    """
    keys = set().union(*map(keys_of, texts))
    denials = [keys_of(part) for text in texts for part in split_sentences(text) if denies(part)]
    content = {key_of(word) for word in WORD.findall(sentence) if _has_content(word)}
    if not denies(sentence) and any(content <= denial for denial in denials):
        return [False] * len(words)
    others = content - names - {key_of("not")}
    is_denied = any(names <= denial and (not others or others & denial) for denial in denials)
    keys |= {key.rstrip("s") for key in keys}
    return [is_denied if denies(word) else bool({key_of(word), key_of(word).rstrip("s")} & keys) for word in words]


def share_said(
    words: Sequence[str], costs: Sequence[float], sentence: str, texts: Sequence[str], names: frozenset[str]
) -> float:
    """The share of what the new words of a sentence cost that falls on words which texts say; each counts alike where none
    costs anything.

    >>> share_said(["Pellworth", "happily"], [6.0, 2.0], "Pellworth happily runs it.", ["Pellworth runs it."], frozenset())
    0.75
    """
    weights = [max(cost, 0.0) for cost in costs]
    weights = weights if any(weights) else [1.0] * len(words)
    said = words_said(words, sentence, texts, names)
    return sum(weight for weight, is_said in zip(weights, said, strict=True) if is_said) / sum(weights)


def unsaid(sentence: str, asked: str, groups: Iterable[Sequence[str]], names: frozenset[str]) -> str:
    """The first new number, with its unit, name or denial of a sentence that none of some groups of texts says; empty if there
    is none.

    >>> unsaid("It has 62 rooms.", "How many rooms has it?", [["It has 61 rooms."], ["Rooms: 62."]], frozenset())
    ''
    >>> unsaid("It has 62 rooms.", "How many rooms has it?", [["It has 61 rooms."]], frozenset())
    '62'
    >>> unsaid("It is 5 km away.", "How far away is it?", [["It is 5 miles away."]], frozenset())
    '5 km'
    """
    every, hard = list(groups), _hard_places(sentence, asked)
    said = [words_said([sentence[a:b] for a, b in hard], sentence, texts, names) for texts in every]
    for i, (a, b) in enumerate(hard):
        saying = [texts for texts, each in zip(every, said, strict=True) if each[i]]
        if not saying:
            return sentence[a:b]
        if _has_digit(sentence[a:b]):
            beside, shown = unit_beside(sentence, a, b)
            wanted = beside or unit_asked(asked)
            if wanted and not any(says_unit(sentence[a:b], wanted, asked, texts) for texts in saying):
                return shown
    return ""


def exchanges(sentence: str, asked: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Pairs of new names, or of numbers, of a sentence that could stand in each other's place: neighbours with other words than
    "and" between them. A name and a number could not.

    >>> text = "Anna Berg taught Boris Lund to swim."
    >>> [(text[a:b], text[c:d]) for (a, b), (c, d) in exchanges(text, "Who taught whom to swim?")]
    [('Anna Berg', 'Boris Lund')]
    >>> exchanges("Anna, Boris and Clara sing in 1931.", "Who sings?")
    []
    """
    runs = _name_runs(sentence, new_words(sentence, asked))
    between = [{word.lower() for word in WORD.findall(sentence[a[1] : b[0]])} for a, b in pairwise(runs)]
    are_numbers = [_has_digit(sentence[a:b]) for a, b in runs]
    return [
        pair
        for pair, words, (one, other) in zip(pairwise(runs), between, pairwise(are_numbers), strict=True)
        if one is other and words - {"and", "or", "und", "oder", "et", "y"}
    ]


def _name_runs(text: str, places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Names and numbers among some words of a text; words of one name stand together."""
    runs: list[tuple[int, int]] = []
    for start, stop in places:
        word = text[start:stop]
        if not (word[0].isupper() or _has_digit(word)) or word.lower() in LITTLE or denies(word):
            continue
        if runs and not text[runs[-1][1] : start].strip(" .-:"):
            runs[-1] = runs[-1][0], stop
        else:
            runs.append((start, stop))
    return runs


def rivals(sentence: str, asked: str, texts: Sequence[str]) -> list[tuple[tuple[int, int], str]]:
    """What texts say that could stand in the place of something new in a sentence: a name for a name, a number for a number, or
    another word for a word; each with that place. The first word of a text may be either.

    >>> text, told = "The inn serves trout on Sundays.", "The inn serves trout on Fridays, and duck on Sundays."
    >>> [(text[a:b], other) for (a, b), other in rivals(text, "What does the inn serve on Sundays?", [told])]
    [('trout', 'duck')]
    """
    places = new_words(sentence, asked)
    runs = _name_runs(sentence, places)
    own = [*runs, *(place for place in places if not any(a <= place[0] < b for a, b in runs))]
    said = keys_of(f"{sentence} {asked}")
    others = [other for text in texts for other in _names_and_words(text, said)]
    found = [(place, other) for place in own for other in others if form_of(other) == form_of(sentence[slice(*place)])]
    return list(dict.fromkeys(found))


def _names_and_words(text: str, said: set[str]) -> Iterator[str]:
    """Names, numbers and other content words of a text, but for those that are said."""
    new = [
        (found.start(), found.end())
        for found in WORD.finditer(text)
        if _has_content(found.group()) and key_of(found.group()) not in said
    ]
    yield from (text[a:b] for a, b in _name_runs(text, new))
    for start, stop in new:
        if not is_hard(text[start:stop]):
            yield text[start:stop]
        elif text[start].isupper() and BEGINS.search(text, 0, start):
            yield text[start:stop].lower()


def form_of(words: str) -> str:
    """What could stand in each other's place: a number, a name, or another word."""
    return "number" if _has_digit(words) else "name" if words[0].isupper() else "word"


def turned_round(sentence: str, asked: str, texts: Sequence[str]) -> str:
    """Two names of a sentence that could stand in each other's place and that every text with both has the other way round, as
    in “A”, “B”; empty if there are none.

    >>> turned_round("Anna taught Boris.", "Who taught whom?", ["Last year Boris taught Anna."])
    '“Anna” and “Boris”'
    >>> turned_round("Anna taught Boris.", "Who taught whom?", ["Last year Anna taught Boris."])
    ''
    """
    for (a, b), (c, d) in exchanges(sentence, asked):
        first, second = sentence[a:b], sentence[c:d]
        found = [(text.find(first), text.rfind(second)) for text in texts if first in text and second in text]
        if found and all(one > other for one, other in found):
            return f"“{first}” and “{second}”"
    return ""


def hard_words(sentence: str, asked: str) -> list[str]:
    """The new names, numbers and denials of a sentence, which can be said in no other words.

    >>> hard_words("In 1907 Edda Kroll gave it away.", "Who gave it away?")
    ['1907', 'Edda', 'Kroll']
    """
    return [sentence[a:b] for a, b in _hard_places(sentence, asked)]


def _hard_places(sentence: str, asked: str) -> list[tuple[int, int]]:
    places = new_words(sentence, asked)
    tell = zip(places, telling(sentence, places), strict=True)
    return [(a, b) for (a, b), tells in tell if tells and is_hard(sentence[a:b])]


def says_otherwise(sentence: str, asked: str, texts: Sequence[str], names: frozenset[str]) -> str:
    """What those of several texts that hold the names say in place of a number of a sentence which only the others have; empty
    if they say nothing else.

    >>> texts = ["The red bridge is 214 m long.", "The Iron Bridge is 236 m long."]
    >>> says_otherwise("The red bridge is 236 m long.", "How long is the red bridge?", texts, frozenset({"red"}))
    '214 m'
    """
    about = [text for text in texts if holds(text, names)] if names and len(texts) > 1 else []
    for a, b in new_words(sentence, asked):
        if _has_digit(sentence[a:b]):
            wanted = unit_beside(sentence, a, b)[0] or unit_asked(asked)
            if other := says_another(sentence[a:b], wanted, about):
                return other
    return ""


def is_hard(word: str) -> bool:
    """Whether a word can be said in no other: a name, a number or a denial."""
    return _has_digit(word) or denies(word) or word[0].isupper()


def _has_content(word: str) -> bool:
    return word.lower() not in LITTLE or denies(word)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, and its lines."""
    return re.split(r"(?<=[.!?])\s+|\n", text)


def _has_digit(word: str) -> bool:
    return any(letter.isdigit() for letter in word)


def _plain(word: str) -> str:
    """In lower case, without the ending of a genitive; a number in digits."""
    plain = re.sub(r"[’']s?$", "", word.lower())
    return NUMBERS.get(plain, plain)


def key_of(word: str) -> str:
    """By what two words are the same: names and numbers letter by letter, others by their beginning."""
    named = word[0].isupper() or _has_digit(word)
    return "not" if denies(word) else _plain(word) if named else _plain(word)[:STEM]


def keys_of(text: str) -> set[str]:
    """All that a word of a text may be found by."""
    return {key for word in WORD.findall(text) for key in (key_of(word), _plain(word), _plain(word)[:STEM])}
