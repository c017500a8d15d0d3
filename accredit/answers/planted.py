"""Planted prompts: contexts of invented facts, a question, an answer, and the truth about where its last sentence comes from.

People, towns and firms are invented, so a model cannot know them; what it may know are the facts of `KNOWN`. There are four
books of them, one of them in German, that share no relation and no syllables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from accredit.answers.verdicts import Origin
from accredit.checks import check_seed, whole_number
from accredit.errors import InvalidInput

Book = Literal["people", "places", "reports", "berichte"]
PASSAGES = 6  # of one context
MOST_DRAWS = 10_000  # of one name, before a book counts as used up
TWICE = 0.5  # share of passages that say a second thing, of no relevance


ORIGIN_OF_KIND: Mapping[str, Origin] = {
    "plain": Origin.PASSAGES,  # one passage says it, in the words of the answer
    "paraphrase": Origin.PASSAGES,  # one passage says it, in other words
    "redundant": Origin.PASSAGES,  # two passages say it, each in its own words
    "joint": Origin.PASSAGES,  # it follows from two passages together
    "memory": Origin.MEMORY,  # everybody knows it, and no passage says it
    "contradicted": Origin.NOWHERE,  # a passage says otherwise
    "misattributed": Origin.NOWHERE,  # a passage says it of somebody else, and another says otherwise
    "absent": Origin.NOWHERE,  # no passage is about it
    "added": Origin.NOWHERE,  # a second sentence that nobody said, after one that a passage says
}


@dataclass(frozen=True)
class Planted:
    """A context, a question and an answer whose last sentence has a known origin.

    `enough` are the smallest sets of passages that say it: one of one, two of one (redundant), one of two (joint), or none.
    """

    kind: str
    context: tuple[str, ...]
    query: str
    answer: str
    enough: tuple[frozenset[int], ...]

    @property
    def origin(self) -> Origin:
        return ORIGIN_OF_KIND[self.kind]


@dataclass(frozen=True)
class Relation:
    """One thing to know about somebody: how it is asked, answered and said."""

    asks: str
    answers: str
    says: tuple[str, str]  # in two ways, of which the first is near the answer
    around: str  # in other words altogether
    same: str  # somebody has the same as another
    who: str  # a person, a town or a firm
    values: tuple[str, ...] | str  # words, or what kind of invented name


@dataclass(frozen=True)
class FactBook:
    """Relations and names that belong together."""

    relations: tuple[Relation, ...]
    syllables: tuple[tuple[str, ...], tuple[str, ...]]
    beside: tuple[str, ...]  # sentences of no relevance
    known: tuple[tuple[str, str], ...]  # questions and answers that everybody knows


PEOPLE = FactBook(
    (
        Relation(
            "Where does {who} live?", "{who} lives in {what}.",
            ("{who} lives in {what}.", "{who} has a house in {what}."),
            "After the war {who} bought a small flat in {what} and never moved again.",
            "{who} lives in the same town as {other}.", "person", "town",
        ),
        Relation(
            "Which company does {who} work for?", "{who} works for {what}.",
            ("{who} works for {what}.", "{who} is employed by {what}."),
            "Every morning {who} takes the bus to the offices of {what}, where the pay is good.",
            "{who} works for the same company as {other}.", "person", "firm",
        ),
        Relation(
            "What did {who} study?", "{who} studied {what}.",
            ("{who} studied {what}.", "{who} holds a degree in {what}."),
            "At the university {who} sat through four years of lectures on {what}.",
            "{who} studied the same subject as {other}.", "person",
            ("chemistry", "law", "geology", "music", "history", "botany", "economics", "medicine"),
        ),
        Relation(
            "In which year was {who} born?", "{who} was born in {what}.",
            ("{who} was born in {what}.", "The birth of {who} was recorded in {what}."),
            "The parish book has {who} down as a child of the winter of {what}.",
            "{who} was born in the same year as {other}.", "person",
            ("1912", "1934", "1947", "1958", "1961", "1973", "1986", "1999"),
        ),
        Relation(
            "What is the name of {who}'s dog?", "The dog of {who} is called {what}.",
            ("The dog of {who} is called {what}.", "{who} has a dog named {what}."),
            "When {who} whistles, {what} comes running with a stick in its mouth.",
            "The dog of {who} has the same name as the dog of {other}.", "person", "person",
        ),
    ),
    (
        ("Kel", "Bra", "Ost", "Vel", "Dru", "Mar", "Tho", "Fen", "Gri", "Hal", "Ist", "Jor"),
        ("mar", "dov", "rin", "lisk", "sen", "tock", "vik", "wick", "lund", "beth"),
    ),
    (
        "The market is held on Tuesdays.", "It rained for most of the week.", "The road was closed for repairs.",
        "A new bridge is planned.", "Tickets can be bought at the door.", "The library has a small garden.",
    ),
    (
        ("What is the capital of France?", "The capital of France is Paris."),
        ("What is the capital of Italy?", "The capital of Italy is Rome."),
        ("What is the capital of Japan?", "The capital of Japan is Tokyo."),
        ("What is the capital of Germany?", "The capital of Germany is Berlin."),
        ("What is the capital of Spain?", "The capital of Spain is Madrid."),
        ("What is the capital of Russia?", "The capital of Russia is Moscow."),
        ("What is the capital of Egypt?", "The capital of Egypt is Cairo."),
        ("Who wrote Romeo and Juliet?", "Romeo and Juliet was written by William Shakespeare."),
        ("Who wrote Hamlet?", "Hamlet was written by William Shakespeare."),
        ("What is the largest planet in the solar system?", "The largest planet in the solar system is Jupiter."),
        ("Which planet is closest to the Sun?", "The planet closest to the Sun is Mercury."),
        ("What is the chemical symbol for gold?", "The chemical symbol for gold is Au."),
        ("What is the chemical formula of water?", "The chemical formula of water is H2O."),
        ("How many days are in a week?", "There are seven days in a week."),
        ("What color is the sky on a clear day?", "The color of the sky on a clear day is blue."),
        ("Who painted the Mona Lisa?", "The Mona Lisa was painted by Leonardo da Vinci."),
        ("What is the longest river in Africa?", "The longest river in Africa is the Nile."),
        ("What is the largest ocean on Earth?", "The largest ocean on Earth is the Pacific Ocean."),
        ("What is the capital of Canada?", "The capital of Canada is Ottawa."),
        ("What is the capital of Austria?", "The capital of Austria is Vienna."),
        ("What is the capital of Poland?", "The capital of Poland is Warsaw."),
        ("What is the capital of Cuba?", "The capital of Cuba is Havana."),
        ("What is the capital of Iran?", "The capital of Iran is Tehran."),
        ("What is the capital of Peru?", "The capital of Peru is Lima."),
        ("What is the capital of Norway?", "The capital of Norway is Oslo."),
        ("What is the capital of Kenya?", "The capital of Kenya is Nairobi."),
        ("What is the largest mammal?", "The largest mammal is the blue whale."),
        ("What is the currency of Japan?", "The currency of Japan is the yen."),
        ("What is the freezing point of water in Celsius?", "The freezing point of water in Celsius is 0 degrees."),
        ("Who was the first president of the United States?",
         "The first president of the United States was George Washington."),
        ("What is the fastest land animal?", "The fastest land animal is the cheetah."),
        ("What do bees make?", "Bees make honey."),
        ("In which country is the Eiffel Tower?", "The Eiffel Tower is in France."),
        ("What is the opposite of hot?", "The opposite of hot is cold."),
        ("What is the largest continent?", "The largest continent is Asia."),
        ("What organ pumps blood through the body?", "The organ that pumps blood through the body is the heart."),
    ),
)  # fmt: skip
PLACES = FactBook(
    (
        Relation(
            "Which river flows through {who}?", "The river that flows through {who} is the {what}.",
            ("The river that flows through {who} is the {what}.", "{who} stands on both banks of the {what}."),
            "From the old walls of {who} one can watch the boats on the {what} below.",
            "The river that flows through {who} also flows through {other}.", "town", "river",
        ),
        Relation(
            "Who is the mayor of {who}?", "The mayor of {who} is {what}.",
            ("The mayor of {who} is {what}.", "{what} was elected mayor of {who}."),
            "The people of {who} gave {what} the keys of the town hall for another four years.",
            "{who} has the same mayor as {other}.", "town", "person",
        ),
        Relation(
            "What does the {who} factory make?", "The {who} factory makes {what}.",
            ("The {who} factory makes {what}.", "{what} are the only product of the {who} factory."),
            "Trucks full of {what} leave the gates of the {who} factory every night.",
            "The {who} factory makes the same thing as the {other} factory.", "firm",
            ("bicycles", "lamps", "carpets", "clocks", "violins", "umbrellas", "mirrors", "candles"),
        ),
        Relation(
            "How many rooms does the hotel {who} have?", "The hotel {who} has {what} rooms.",
            ("The hotel {who} has {what} rooms.", "There are {what} rooms in the hotel {who}."),
            "On a busy night all {what} keys are gone from the desk of the hotel {who}.",
            "The hotel {who} has as many rooms as the hotel {other}.", "firm",
            ("18", "24", "37", "45", "52", "66", "81", "93"),
        ),
        Relation(
            "What is {who} afraid of?", "{who} is afraid of {what}.",
            ("{who} is afraid of {what}.", "{what} frighten {who}."),
            "As soon as {what} are mentioned, {who} leaves the room.",
            "{who} is afraid of the same thing as {other}.", "person",
            ("spiders", "thunderstorms", "horses", "elevators", "snakes", "bees", "crowds", "balloons"),
        ),
    ),
    (
        ("Pel", "Quin", "Sar", "Ul", "Zor", "Wen", "Cas", "Lor", "Nev", "Ald", "Eck", "Yar"),
        ("worth", "aro", "mund", "itz", "gard", "ella", "ney", "foss", "ham", "thun"),
    ),
    (
        "The bakery opens at six.", "Two of the windows were broken.", "Parking is free on Sundays.",
        "The old clock has stopped.", "Visitors are asked to be quiet.", "The harvest was good that year.",
    ),
    (
        ("What is the capital of England?", "The capital of England is London."),
        ("What is the capital of China?", "The capital of China is Beijing."),
        ("What is the capital of Greece?", "The capital of Greece is Athens."),
        ("What is the capital of Portugal?", "The capital of Portugal is Lisbon."),
        ("What is the capital of Ireland?", "The capital of Ireland is Dublin."),
        ("Who wrote Pride and Prejudice?", "Pride and Prejudice was written by Jane Austen."),
        ("Who wrote Don Quixote?", "Don Quixote was written by Miguel de Cervantes."),
        ("What is the smallest prime number?", "The smallest prime number is 2."),
        ("What is the chemical symbol for oxygen?", "The chemical symbol for oxygen is O."),
        ("What gas do plants absorb from the air?", "The gas that plants absorb from the air is carbon dioxide."),
        ("How many months are in a year?", "There are twelve months in a year."),
        ("Which planet is known as the Red Planet?", "The planet known as the Red Planet is Mars."),
        ("Who developed the theory of relativity?", "The theory of relativity was developed by Albert Einstein."),
        ("What is the tallest mountain in the world?", "The tallest mountain in the world is Mount Everest."),
        ("What language is spoken in Brazil?", "The language spoken in Brazil is Portuguese."),
        ("What is the hardest natural substance?", "The hardest natural substance is diamond."),
        ("What is the capital of Sweden?", "The capital of Sweden is Stockholm."),
        ("What is the capital of Hungary?", "The capital of Hungary is Budapest."),
        ("What is the capital of Turkey?", "The capital of Turkey is Ankara."),
        ("What is the capital of Thailand?", "The capital of Thailand is Bangkok."),
        ("What is the capital of Argentina?", "The capital of Argentina is Buenos Aires."),
        ("What is the capital of Denmark?", "The capital of Denmark is Copenhagen."),
        ("What is the capital of Finland?", "The capital of Finland is Helsinki."),
        ("What is the capital of Belgium?", "The capital of Belgium is Brussels."),
        ("What is the smallest planet in the solar system?", "The smallest planet in the solar system is Mercury."),
        ("What is the currency of the United Kingdom?", "The currency of the United Kingdom is the pound sterling."),
        ("What is the boiling point of water in Celsius?", "The boiling point of water in Celsius is 100 degrees."),
        ("Who was the first person to walk on the moon?", "The first person to walk on the moon was Neil Armstrong."),
        ("What is the largest country in the world by area?", "The largest country in the world by area is Russia."),
        ("What do cows drink?", "Cows drink water."),
        ("In which country are the pyramids of Giza?", "The pyramids of Giza are in Egypt."),
        ("What is the opposite of day?", "The opposite of day is night."),
        ("What is the largest desert in the world?", "The largest desert in the world is the Sahara Desert."),
        ("What is the main language of Mexico?", "The main language of Mexico is Spanish."),
    ),
)  # fmt: skip
REPORTS = FactBook(
    (
        Relation(
            "Who led the {who} expedition?", "The {who} expedition was led by {what}.",
            ("After two failed attempts the {who} expedition set out again, led by {what}.",
             "It was {what} who was at the head of the {who} expedition, with eleven sledges."),
            "Nobody in the {who} expedition took a step before {what} had looked at the map.",
            "The {who} expedition had the same leader as the {other} expedition.", "town", "person",
        ),
        Relation(
            "What cargo did the ship {who} carry?", "The ship {who} carried {what}.",
            ("According to the harbour log the ship {who} carried {what}.",
             "A hold full of {what} was found on board of the ship {who}."),
            "When the ship {who} went down, {what} washed up on the beach for weeks.",
            "The ship {who} carried the same cargo as the ship {other}.", "firm",
            ("salt", "copper", "oranges", "timber", "wool", "coal", "tea", "marble"),
        ),
        Relation(
            "How long does the battery of the {who} last?", "The battery of the {who} lasts {what} hours.",
            ("Fully charged, the battery of the {who} lasts {what} hours.",
             "In our test the {who} ran for {what} hours before its battery was empty."),
            "Plug in the {who} after {what} hours, or its battery will leave you in the dark.",
            "The battery of the {who} lasts as long as that of the {other}.", "firm",
            ("7", "9", "13", "16", "21", "26", "34", "48"),
        ),
        Relation(
            "Which instrument does {who} play?", "{who} plays the {what}.",
            ("In the town orchestra {who} plays the {what}.", "The {what} has been the instrument of {who} since school."),
            "The neighbours complain when {who} takes the {what} out of its case at night.",
            "{who} plays the same instrument as {other}.", "person",
            ("cello", "trumpet", "harp", "flute", "organ", "oboe", "banjo", "tuba"),
        ),
        Relation(
            "In which year did the {who} museum open?", "The {who} museum opened in {what}.",
            ("The {who} museum opened in {what}, with a brass band.", "Since {what} the doors of the {who} museum are open."),
            "A ribbon cut in {what} is kept under glass at the entrance of the {who} museum.",
            "The {who} museum opened in the same year as the {other} museum.", "town",
            ("1871", "1889", "1903", "1926", "1938", "1952", "1967", "1984"),
        ),
    ),
    (
        ("Tam", "Ried", "Bol", "Cor", "Ner", "Gav", "Lin", "Mos", "Pra", "Sul", "Var", "Wil"),
        ("bury", "ten", "ova", "rock", "dale", "strom", "ise", "quay", "lock", "by"),
    ),
    (
        "Further details are in the annex.", "Photographs were taken on both days.", "No one was hurt.",
        "The report was accepted without a vote.", "Prices include tax.", "A second edition is in print.",
    ),
    (
        ("What is the capital of India?", "New Delhi is the capital of India."),
        ("What is the capital of Australia?", "It is Canberra."),
        ("What is the capital of Scotland?", "The answer is Edinburgh."),
        ("What is the capital of South Korea?", "South Korea's capital is Seoul."),
        ("What is the capital of Ukraine?", "Its capital is Kyiv."),
        ("What is the capital of the Netherlands?", "The capital of the Netherlands is Amsterdam."),
        ("What is the capital of Mexico?", "The capital of Mexico is Mexico City."),
        ("Who wrote Macbeth?", "Macbeth was written by William Shakespeare."),
        ("Who wrote The Odyssey?", "The Odyssey was written by Homer."),
        ("Who wrote War and Peace?", "War and Peace was written by Leo Tolstoy."),
        ("Who discovered penicillin?", "Penicillin was discovered by Alexander Fleming."),
        ("Who discovered gravity?", "Gravity was discovered by Isaac Newton."),
        ("Who invented the telephone?", "The telephone was invented by Alexander Graham Bell."),
        ("How many continents are there?", "There are seven continents."),
        ("How many legs does a spider have?", "A spider has eight legs."),
        ("How many sides does a triangle have?", "A triangle has three sides."),
        ("How many hours are in a day?", "A day has 24 hours."),
        ("What is the largest organ of the human body?", "The largest organ of the human body is the skin."),
        ("What do you call frozen water?", "Frozen water is called ice."),
        ("What star is at the center of our solar system?", "At the center of our solar system is the Sun."),
        ("What is the main gas in the air we breathe?", "The main gas in the air we breathe is nitrogen."),
        ("Which planet has rings?", "The planet with rings is Saturn."),
        ("In which country is the Great Wall?", "The Great Wall is in China."),
        ("In which city is the Colosseum?", "The Colosseum is in Rome."),
        ("What color do you get by mixing blue and yellow?", "Mixing blue and yellow gives green."),
        ("What is the chemical symbol for hydrogen?", "The chemical symbol for hydrogen is H."),
        ("Who was the first emperor of Rome?", "The first emperor of Rome was Augustus."),
        ("What is the currency of the United States?", "The currency of the United States is the dollar."),
        ("What process do plants use to make food?", "Plants make food by photosynthesis."),
        ("What is the opposite of up?", "The opposite of up is down."),
    ),
)  # fmt: skip
BERICHTE = FactBook(
    (
        Relation(
            "Wo wohnt {who}?", "{who} wohnt in {what}.",
            ("{who} wohnt in {what}.", "{who} hat ein Haus in {what}."),
            "Nach der Reise kaufte {who} eine Wohnung in {what} und blieb dort.",
            "{who} wohnt im selben Ort wie {other}.", "person", "town",
        ),
        Relation(
            "Was baut die Firma {who}?", "Die Firma {who} baut {what}.",
            ("Die Firma {who} baut {what}.", "{what} kommen seit langem von der Firma {who}."),
            "Jede Nacht verlassen Lastwagen voller {what} den Hof der Firma {who}.",
            "Die Firma {who} baut dasselbe wie die Firma {other}.", "firm",
            ("Lampen", "Uhren", "Boote", "Orgeln", "Pumpen", "Kessel", "Waagen", "Zelte"),
        ),
        Relation(
            "Wer leitet das Museum in {who}?", "Das Museum in {who} leitet {what}.",
            ("Das Museum in {who} leitet {what}.", "{what} ist Direktor des Museums in {who}."),
            "Ohne die Unterschrift von {what} wird im Museum in {who} kein Bild aufgehängt.",
            "Das Museum in {who} hat denselben Direktor wie das Museum in {other}.", "town", "person",
        ),
        Relation(
            "Wann wurde {who} geboren?", "{who} wurde im Jahr {what} geboren.",
            ("{who} wurde im Jahr {what} geboren.", "Das Geburtsjahr von {who} ist {what}."),
            "Im Kirchenbuch steht {who} unter den Kindern des Winters {what}.",
            "{who} wurde im selben Jahr wie {other} geboren.", "person",
            ("1908", "1921", "1937", "1949", "1956", "1964", "1978", "1991"),
        ),
    ),
    (
        ("Hol", "Ber", "Wal", "Rein", "Stei", "Kir", "Ober", "Lan", "Mün", "Grün", "Ach", "Nied"),
        ("mann", "dorf", "hart", "lich", "meier", "rath", "see", "feld", "hofer", "brück"),
    ),
    (
        "Der Markt ist am Dienstag.", "Es regnete die ganze Woche.", "Die Straße war gesperrt.",
        "Eine neue Brücke ist geplant.", "Der Eintritt ist frei.", "Die Ernte war gut.",
    ),
    (
        ("Was ist die Hauptstadt von Deutschland?", "Die Hauptstadt von Deutschland ist Berlin."),
        ("Was ist die Hauptstadt von Frankreich?", "Die Hauptstadt von Frankreich ist Paris."),
        ("Was ist die Hauptstadt von Italien?", "Die Hauptstadt von Italien ist Rom."),
        ("Was ist die Hauptstadt von Spanien?", "Die Hauptstadt von Spanien ist Madrid."),
        ("Was ist die Hauptstadt von Japan?", "Die Hauptstadt von Japan ist Tokio."),
        ("Was ist die Hauptstadt von England?", "Die Hauptstadt von England ist London."),
        ("Was ist die Hauptstadt von Portugal?", "Die Hauptstadt von Portugal ist Lissabon."),
        ("Was ist die Hauptstadt von Schweden?", "Die Hauptstadt von Schweden ist Stockholm."),
        ("Was ist die Hauptstadt von Dänemark?", "Die Hauptstadt von Dänemark ist Kopenhagen."),
        ("Was ist die Hauptstadt von Argentinien?", "Die Hauptstadt von Argentinien ist Buenos Aires."),
        ("Was ist die Hauptstadt von Ungarn?", "Die Hauptstadt von Ungarn ist Budapest."),
        ("Wer schrieb Faust?", "Faust schrieb Goethe."),
        ("Wer schrieb Hamlet?", "Hamlet schrieb Shakespeare."),
        ("Wer malte die Mona Lisa?", "Die Mona Lisa malte Leonardo da Vinci."),
        ("Welche Sprache spricht man in Brasilien?", "In Brasilien spricht man Portugiesisch."),
        ("In welchem Land steht der Eiffelturm?", "Der Eiffelturm steht in Frankreich."),
    ),
)  # fmt: skip
BOOKS: Mapping[Book, FactBook] = {"people": PEOPLE, "places": PLACES, "reports": REPORTS, "berichte": BERICHTE}
KINDS = tuple(ORIGIN_OF_KIND)
IN_TURN = (*KINDS, "memory")
MORE_KNOWN = 500  # added to a seed for further prompts about what is known by heart


def planted_prompt(kind: str, book: Book = "people", *, passages: int = PASSAGES, seed: int = 0) -> Planted:
    """One planted prompt of a kind, drawn by a seed.

    >>> made = planted_prompt("joint", seed=3)
    >>> len(made.context), [len(each) for each in made.enough], made.origin.value
    (6, [2], 'supported')
    """
    if kind not in ORIGIN_OF_KIND:
        raise InvalidInput(f"kind is {kind!r:.40}; write one of {', '.join(KINDS)}", argument="kind", code="unknown")
    if book not in BOOKS:
        raise InvalidInput(f"book is {book!r:.40}; write one of {', '.join(BOOKS)}", argument="book", code="unknown")
    whole_number(passages, "passages", 3)
    check_seed(seed)
    rng = np.random.default_rng([seed, KINDS.index(kind), passages])
    return _Draw(BOOKS[book], rng).planted(kind, passages, BOOKS[book].known[seed % len(BOOKS[book].known)])


def planted_prompts(count: int, book: Book = "people", *, passages: int = PASSAGES, seed: int = 0) -> list[Planted]:
    """So many planted prompts, the kinds in turn, then as many of what is known by heart as make the origins even.

    >>> [made.kind for made in planted_prompts(5)], len(planted_prompts(10))
    (['plain', 'paraphrase', 'redundant', 'joint', 'memory', 'memory'], 12)
    """
    whole_number(count, "count", 1)
    drawn = [(IN_TURN[i % len(IN_TURN)], seed + i) for i in range(count)]
    drawn += [("memory", seed + MORE_KNOWN + i) for i in range(count // 5)]
    return [planted_prompt(kind, book, passages=passages, seed=number) for kind, number in drawn]


class _Draw:
    """Names, facts and contexts drawn from a book, no name twice."""

    def __init__(self, book: FactBook, rng: np.random.Generator) -> None:
        self.book, self.rng, self._used = book, rng, set[str]()

    def _any(self, among: tuple[str, ...]) -> str:
        return among[int(self.rng.integers(len(among)))]

    def _fresh(self, make: Callable[[], str]) -> str:
        for _ in range(MOST_DRAWS):
            if (name := make()) not in self._used:
                self._used.add(name)
                return name
        raise InvalidInput(
            "passages is more than this book has names and values for; ask for fewer, or put the contexts of several seeds "
            "together",
            argument="passages",
            code="too-many",
        )

    def _name(self, kind: str) -> str:
        first, last = self.book.syllables
        ends = {"person": "", "town": "burg", "firm": " Works", "river": "a"}
        return self._fresh(lambda: self._any(first) + self._any(last) + ends[kind])

    def _who(self, relation: Relation) -> str:
        first, last = self.book.syllables
        if relation.who == "firm":  # the factory or the hotel of this name
            return self._fresh(lambda: self._any(first) + self._any(last))
        return self._name(relation.who)

    def _what(self, relation: Relation) -> str:
        values = relation.values
        return self._name(values) if isinstance(values, str) else self._fresh(lambda: self._any(values))

    def planted(self, kind: str, passages: int, known: tuple[str, str]) -> Planted:
        relation = self.book.relations[int(self.rng.integers(len(self.book.relations)))]
        who, what = self._who(relation), self._what(relation)
        query, answer = relation.asks.format(who=who), relation.answers.format(who=who, what=what)
        near, far = (form.format(who=who, what=what) for form in relation.says)
        otherwise = relation.says[0].format(who=who, what=self._what(relation))
        gold: list[str] = []
        if kind in ("plain", "added"):
            gold = [near]
        elif kind == "paraphrase":
            gold = [relation.around.format(who=who, what=what)]
        elif kind == "redundant":
            gold = [near, far]
        elif kind == "joint":
            other = self._who(relation)
            gold = [relation.same.format(who=who, other=other), relation.says[0].format(who=other, what=what)]
        elif kind == "contradicted":
            gold = [otherwise]
        elif kind == "misattributed":
            gold = [otherwise, relation.says[0].format(who=self._who(relation), what=what)]
        elif kind == "memory":
            query, answer = known
        if kind == "added":
            more = self._another(relation)
            answer += " " + more.answers.format(who=who, what=self._what(more))
        beside = [self._beside(relation if i < 2 else self._another(relation)) for i in range(passages - len(gold))]
        context, where = self._shuffle(gold, beside)
        says = ORIGIN_OF_KIND[kind] is Origin.PASSAGES
        sets = [{where[0]}, {where[1]}] if kind == "redundant" else [set(where)] if says else []
        return Planted(kind, context, query, answer, tuple(frozenset(each) for each in sets))

    def _another(self, relation: Relation) -> Relation:
        """A relation other than this one, about the same kind of thing if there is one."""
        rest = [each for each in self.book.relations if each is not relation]
        others = [each for each in rest if each.who == relation.who] or rest
        return others[int(self.rng.integers(len(others)))]

    def _beside(self, relation: Relation) -> str:
        """A fact about somebody else."""
        form = relation.says[int(self.rng.integers(2))]
        return form.format(who=self._who(relation), what=self._what(relation))

    def _shuffle(self, gold: list[str], beside: list[str]) -> tuple[tuple[str, ...], list[int]]:
        said = [self._longer(each) for each in [*gold, *beside]]
        order = self.rng.permutation(len(said)).tolist()
        return tuple(said[i] for i in order), [order.index(i) for i in range(len(gold))]

    def _longer(self, passage: str) -> str:
        passage = passage[0].upper() + passage[1:]
        return f"{passage} {self._any(self.book.beside)}" if self.rng.random() < TWICE else passage
