"""Small words that turn a statement: what a passage denies, doubts, reports or puts in the past, and a sentence leaves out.

A model finds "The farm planted wheat" likely after "Instead of wheat, the farm planted barley". So what is cited is read clause
by clause: a clause that says what is new in a sentence must not hold a word that turns it (`Turn`), unless sentence or question
hold one of that kind, too. The other way round a sentence must not say "all", "always", "only" or "the longest" where no
passage does (`put_in`), and no later passage may say otherwise (`overtaken`). The words are those of English and German, and
the commonest of French; what is turned without any of them is not seen here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from accredit.answers.new_words import (
    BEGINS,
    LITTLE,
    WORD,
    denies,
    form_of,
    is_hard,
    key_of,
    keys_of,
    new_words,
    shared_names,
    split_sentences,
    telling,
)

CLAUSES = re.compile(r"[,;:–—()]\s|\s[–—-]\s|\b(?:but|and|while|whereas|although|und|aber|sondern|während|et|mais)\b")
NUMBER = re.compile(r"\d")
YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")


def _phrases(words: str) -> re.Pattern[str]:
    """What finds any of some phrases, with bars between them, as whole words: * stands for any ending, # for a number."""
    found = [re.escape(" ".join(each.split())) for each in words.split("|")]
    joined = "|".join(found).replace(r"\*", r"\w*").replace(r"\#", r"(?=\d)").replace(r"\ ", r"\s+")
    return re.compile(rf"(?<![\w-])(?:{joined})(?:(?<=\s)|(?![\w-]))")


@dataclass(frozen=True)
class Turn:
    """A kind of words that turn what stands beside them: in the same clause, or anywhere in the sentence."""

    words: re.Pattern[str]
    in_clause: bool = True
    of_numbers: bool = False  # only where what is said is a number

    def word(self, sentence: str, clause: str) -> str:
        """The first such word; empty if there is none."""
        found = self.words.search(clause if self.in_clause else sentence)
        return found.group().strip() if found else ""


ENDED = Turn(
    _phrases(
        "until|till|once|former|formerly|previously|originally|used to|no longer|not any more|at one time|"
        "in the past|bis #|bis vor|bis letzte*|bis zuletzt|früher|einst|ehemals|ehemalig*|vormals|nicht mehr|"
        "ursprünglich|autrefois|jusqu*|jadis|n'est plus"
    )
)
NOW = Turn(
    _phrases(
        "now|nowadays|today|currently|at present|these days|since then|by now|heute|heutzutage|jetzt|"
        "inzwischen|mittlerweile|derzeit|seither|seitdem|aujourd'hui|maintenant|désormais|actuellement"
    )
)
DENIED = Turn(
    _phrases(
        "instead of|rather than|except|except for|apart from|other than|unlike|without|contrary to|fail|"
        "fails|failed|refuse*|decline*|turned down|rejected|prevented|statt|anstatt|anstelle|außer|ohne|"
        "entgegen|weigerte*|lehnte*|scheiterte*|au lieu|sauf|sans|refus*"
    )
)
DOUBTED = Turn(
    _phrases(
        "may|might|could|would|perhaps|maybe|possibly|probably|presumably|apparently|likely|unlikely|"
        "uncertain|doubtful|nearly|almost|all but|came close|narrowly|plans|planned|plan|intend*|hope|hopes|"
        "hoped|expect*|wanted to|wants to|wishes to|wished to|propose*|is to|are to|was to|were to|"
        "considered|consider*|vielleicht|möglicherweise|wahrscheinlich|vermutlich|wohl|könnte*|würde*|wäre*|"
        "soll|sollen|sollte*|wollte*|plante|planten|geplant*|fast|beinahe|peut-être|probablement|presque|"
        "aurait|serait"
    )
)
REPORTED = Turn(
    _phrases(
        "claim*|alleg*|supposed*|reportedly|rumour*|rumor*|legend*|myth*|tale|tales|gossip|hoax|pretend*|"
        "insist*|is said to|are said to|was said to|it is said|says that|said that|say that|wrote that|"
        "writes that|thought|believed|believe|believes|mistake*|mistaken*|wrong|wrongly|false|falsely|untrue|"
        "denied|denies|deny|take it back|took it back|retract*|angeblich|behaupte*|gerücht*|sage|legende|"
        "irrtüm*|irrtum|falsch|fälschlich|bestreitet|bestritt|prétend*|aurait|dit-on|rumeur"
    ),
    in_clause=False,
)
BOUNDED = Turn(
    _phrases(
        "more than|less than|fewer than|at least|at most|up to|over|under|above|below|barely|hardly|nearly|"
        "almost|half|a third|a quarter|twice|of the #|of these #|of its #|mehr als|weniger als|mindestens|höchstens|"
        "bis zu|über|unter|kaum|fast|die hälfte|plus de|moins de|au moins|au plus|jusqu'à|la moitié"
    ),
    of_numbers=True,
)
PARTLY = Turn(
    _phrases(
        "most|most of|some of|some|half of|half the|few|few of|several of|many of|part of|parts of|partly|"
        "one of|einige|manche|die meisten|die hälfte|teilweise|ein teil|certains|quelques|la plupart|"
        "une partie"
    )
)
LESSENED = Turn(_phrases("of which|of whom|of them|minus|davon|wovon|dont"), in_clause=False, of_numbers=True)
RELATED = Turn(
    _phrases(
        "son of|daughter of|child of|children of|brother of|sister of|wife of|widow of|husband of|mother of|father of|"
        "nephew of|niece of|uncle of|aunt of|cousin of|friend of|pupil of|student of|neighbour of|neighbor of|assistant of|"
        "secretary of|deputy of|sohn von|tochter von|bruder von|schwester von|frau von|witwe von|mann von|mutter von|"
        "vater von|neffe von|neffen von|nichte von|onkel von|tante von|freund von|fils de|fille de|frère de|sœur de|"
        "femme de|mari de|neveu de|nièce de"
    )
)
TURNS = (DENIED, DOUBTED, REPORTED, BOUNDED, LESSENED, PARTLY, RELATED)
PAST = _phrases("was|were|had|did|used to|war|waren|hatte*|wurde*|était|étaient|avait|fut")
PAST_FORM = re.compile(r"(?<!is )(?<!are )(?<!has )(?<!have )(?<!be )(?<!been )\b[a-z]{3,}ed\b")
ALIKE = (  # words that say the same of how much or how often; a sentence may say them if what is cited says one
    "all|every|everybody|everyone|each|everything|alle|jeder|jede|jedes|sämtliche|tous|toutes|chaque",
    "always|at any time|immer|stets|toujours",
    "only|sole|alone|nur|einzig*|allein|seul*|seulement",
    "nobody|none|never|niemand|nie|niemals|keine*|personne|jamais",
    "first|erste|erster|ersten|premier*",
    "more than|over|above|mehr als|plus de|at least|mindestens",
    "less than|fewer than|below|under|weniger als|moins de|at most|up to|höchstens|barely|hardly|kaum",
    "longest|längste*", "largest|biggest|greatest|größte*", "highest|tallest|höchste*", "deepest|tiefste*",
    "oldest|earliest|älteste*", "youngest|newest|jüngste*|neueste*", "fastest|quickest|schnellste*",
    "slowest", "smallest|kleinste*", "shortest|kürzeste*",
    "lowest", "best|beste*", "worst", "cheapest", "strongest", "richest", "heaviest", "latest", "most", "least",
)  # fmt: skip
MUCH = tuple(_phrases(words) for words in ALIKE)
LATER = _phrases(
    "update|updated|correction|corrected|erratum|since|now|today|nowadays|currently|these days|no longer|"
    "from now on|from this|latest|moved|postponed|replaced|instead|declined|cancelled|seit|jetzt|heute|"
    "inzwischen|mittlerweile|korrektur|verschoben|depuis|désormais|maintenant"
)


def left_out(sentence: str, asked: str, texts: Sequence[str]) -> str:
    """A word that turns what is new in a sentence, wherever texts say it, and that neither sentence nor question has; empty if
    there is none.

    >>> left_out("The farm planted wheat.", "What did the farm plant?", ["Instead of wheat, the farm planted barley."])
    'Instead of'
    >>> left_out("The farm planted barley.", "What did the farm plant?", ["Instead of wheat, the farm planted barley."])
    ''
    >>> left_out("It is run by Anna.", "Who runs it?", ["Until May it was run by Anna; now Boris runs it."])
    'Until'
    >>> left_out("It was run by Anna.", "Who ran it in April?", ["Until May it was run by Anna; now Boris runs it."])
    ''
    """
    found = [_turned(sentence, asked, *each) for each in _saying(sentence, asked, texts)]
    return found[0] if found and all(found) else ""


def crossed(sentence: str, asked: str, texts: Sequence[str]) -> str:
    """A name or number of sentence and question of which texts say something else, in a clause of its own, while what is new in
    the sentence is said beside another; as in “this”, not “that”; empty if there is none.

    >>> told = "The inn serves trout on Fridays and duck on Sundays."
    >>> crossed("On Sundays the inn serves trout.", "What does the inn serve on Sundays?", [told])
    '“Fridays”, not “Sundays”'
    >>> crossed("On Sundays the inn serves duck.", "What does the inn serve on Sundays?", [told])
    ''
    """
    found = [_crossed(sentence, asked, whole, clauses) for whole, clauses in _saying(sentence, asked, texts)]
    return found[0] if found and all(found) else ""


def _crossed(sentence: str, asked: str, whole: str, saying: Sequence[str]) -> str:
    said, own = keys_of(f"{sentence} {asked}"), keys_of(sentence)
    every = [clause for clause in CLAUSES.split(whole) if clause]
    for clause in saying:
        others = [each for each in every if each not in saying]
        for word in (found.group() for each in others for found in WORD.finditer(each) if is_hard(found.group())):
            if key_of(word) in own & keys_of(asked) and key_of(word) not in keys_of(clause):
                beside = [
                    found.group()
                    for found in WORD.finditer(clause)
                    if is_hard(found.group())
                    and not (found.group()[0].isupper() and BEGINS.search(clause, 0, found.start()))
                    and form_of(found.group()) == form_of(word)
                    and key_of(found.group()) not in said
                ]
                if beside:
                    return f"“{beside[0]}”, not “{word}”"
    return ""


def put_in(sentence: str, texts: Sequence[str]) -> str:
    """A word for how much, how often or in which place that a sentence says and texts do not; empty if there is none.

    >>> put_in("The longest river is the Ruhm.", ["The Ruhm is the second-longest river."])
    'longest'
    >>> put_in("Every house is red.", ["All the houses are red."])
    ''
    """
    for each in MUCH:
        said = each.search(_low(sentence))
        if said and not any(each.search(_low(text)) for text in texts):
            return said.group()
    return ""


def overtaken(sentence: str, asked: str, cited: Sequence[str], others: Sequence[str]) -> str:
    """What another text about the same begins with that is later by its words or its year, and does not say what is new in a
    sentence, or says it turned; empty if there is none.

    >>> old, new = "In 2009 the Larch had 40 rooms.", "Since 2020 the Larch has 64 rooms."
    >>> overtaken("The Larch has 40 rooms.", "How many rooms has the Larch?", [old], [new])
    'Since 2020 the Larch has 64 rooms.'
    >>> overtaken("The Larch has 64 rooms.", "How many rooms has the Larch?", [new], [old])
    ''
    """
    about = _about(sentence, asked)
    words = [sentence[a:b] for a, b in _new(sentence, asked)]
    year = max([0, *(int(x) for text in [*cited, sentence] for x in YEAR.findall(text))])
    for text in others:
        for each in split_sentences(text):
            keys = keys_of(each)
            is_later = LATER.search(_low(each)) or (year and max([0, *map(int, YEAR.findall(each))]) > year)
            if about and about <= keys and is_later and not any(LATER.search(_low(one)) for one in cited):
                says_it = any(key_of(word) in keys for word in words)
                if not says_it or left_out(sentence, asked, [each]):
                    return each
    return ""


def _saying(sentence: str, asked: str, texts: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The sentences of texts that say most of what is new in a sentence, each with its clauses that say any of it."""
    words = {key_of(sentence[a:b]) for a, b in _new(sentence, asked)}
    every = [each for text in texts for each in split_sentences(text)]
    counts = [len(words & keys_of(each)) for each in every]
    for each, count in zip(every, counts, strict=True):
        if count and count == max(counts):
            yield each, [clause for clause in CLAUSES.split(each) if clause and words & keys_of(clause)]


def _turned(sentence: str, asked: str, whole: str, clauses: Sequence[str]) -> str:
    """The first word that turns what clauses of a text say, and that sentence and question have not."""
    own, numbers = _low(f"{asked} {sentence}"), any(NUMBER.search(sentence[a:b]) for a, b in _new(sentence, asked))
    is_past = bool(PAST.search(own) or PAST_FORM.search(f"{asked} {sentence}"))
    for clause in map(_low, clauses):
        if not is_past and not ENDED.words.search(own) and (word := ENDED.word("", clause)):
            return _as_written(word, whole)
        if PAST.search(own) and not NOW.words.search(own) and (word := NOW.word("", clause)):
            return _as_written(word, whole)
        if denies(clause) and not denies(own):
            return str(next(word for word in WORD.findall(clause) if denies(word)))
        for turn in TURNS:
            if (numbers or not turn.of_numbers) and not turn.words.search(own) and (word := turn.word(_low(whole), clause)):
                return _as_written(word, whole)
    return ""


def _new(sentence: str, asked: str) -> list[tuple[int, int]]:
    places = new_words(sentence, asked)
    return [place for place, tells in zip(places, telling(sentence, places), strict=True) if tells]


def _about(sentence: str, asked: str) -> set[str]:
    """What sentence and question are both about: the names that they share, or else the content words."""
    if names := shared_names(sentence, asked):
        return set(names)
    return {key_of(word) for word in WORD.findall(sentence) if word.lower() not in LITTLE} & keys_of(asked)


def _low(text: str) -> str:
    """In lower case, without the month of May."""
    return re.sub(r"(?<!^)\bMay\b", "···", text).lower().replace("’", "'")


def _as_written(word: str, text: str) -> str:
    start = _low(text).find(word)
    return text[start : start + len(word)] if len(_low(text)) == len(text) else word
