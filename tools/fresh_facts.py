"""Planted prompts that verdicts are tested on: another generator than that of the calibration, with nothing in common with it.

Names are ordinary ones of people, places and firms, passages are short notes of one or two sentences, contexts have three to
eight of them, and a third of the topics is in German, Spanish or French. Whoever changes a verdict must not look at what a
model makes of these prompts: change the seed and the topics when that has happened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from accredit.answers.planted import Planted
from accredit.answers.verdicts import Origin

SEED = 90_210
ORIGINS: Mapping[str, Origin] = {
    "plain": Origin.PASSAGES,
    "paraphrase": Origin.PASSAGES,
    "redundant": Origin.PASSAGES,
    "joint": Origin.PASSAGES,
    "distractors": Origin.PASSAGES,  # every other passage answers the same question about somebody else
    "known": Origin.MEMORY,
    "known, denied": Origin.MEMORY,  # a passage says otherwise; the answer is what the model says without it
    "contradicted": Origin.NOWHERE,
    "misattributed": Origin.NOWHERE,
    "absent": Origin.NOWHERE,
    "added": Origin.NOWHERE,
}
TURNS = (*ORIGINS, "known", "known, denied", "known")  # what one round asks


@dataclass(frozen=True)
class Topic:
    """A question with its answer, and notes that say it plainly, otherwise, in a roundabout way, or by way of another."""

    asks: str
    answers: str
    plain: str
    otherwise: str
    around: str
    same: str
    who: tuple[str, ...]
    what: tuple[str, ...]
    filler: tuple[str, ...]


PEOPLE = (
    "Maria Kowalski", "Tom Okafor", "Ines Duarte", "Henrik Solberg", "Priya Nair", "Carlos Medina", "Aiko Tanabe",
    "Ruth Calloway",
    "Omar Haddad", "Greta Lindqvist", "Paul Abernathy", "Yusuf Demir",
)  # fmt: skip
VILLAGES = (
    "Millbrook", "Ashford Green", "Port Lonnie", "Saddle Creek", "Harrowgate Hill", "Elm Crossing", "Northam Bay",
    "Cedar Flats",
    "Westerly Point", "Dunmore Vale",
)  # fmt: skip
FIRMS = (
    "Brightwater Logistics", "Novak & Sons", "Helix Foods", "Tallgrass Energy", "Quayside Books", "Orion Textiles",
    "Pinecrest Labs",
    "Lakeland Dairy", "Summit Paints", "Redwood Cargo",
)  # fmt: skip
ENGLISH = (
    "Please contact the office with questions.", "The minutes were approved.", "Lunch is served at noon.",
    "This page was last updated in spring.", "Copies are available on request.",
)  # fmt: skip
GERMAN = ("Weitere Fragen beantwortet das Büro.", "Das Protokoll wurde genehmigt.", "Mittagessen gibt es um zwölf.")
SPANISH = ("La oficina abre a las nueve.", "El acta fue aprobada.", "Hay copias disponibles.")
FRENCH = ("Le bureau ouvre à neuf heures.", "Le compte rendu est approuvé.", "Des copies sont disponibles.")
TOPICS = (
    Topic(
        "Who is the head nurse at the {who} clinic?", "The head nurse at the {who} clinic is {what}.",
        "Staff list: the head nurse at the {who} clinic is {what}.",
        "At the {who} clinic, {what} has been head nurse since 2019.",
        "If the night shift at the {who} clinic needs a decision, {what} gets the call before any other nurse.",
        "The {who} clinic shares its head nurse with the {other} clinic.", VILLAGES, PEOPLE, ENGLISH,
    ),
    Topic(
        "Which spice does {who} put into the stew?", "{who} puts {what} into the stew.",
        "As always, {who} puts {what} into the stew.", "The stew of {who} is seasoned with {what}.",
        "You can smell the {what} down the street whenever {who} cooks the stew.",
        "{who} puts the same spice into the stew as {other}.", PEOPLE,
        ("saffron", "cumin", "nutmeg", "cardamom", "paprika", "ginger", "turmeric", "cloves"), ENGLISH,
    ),
    Topic(
        "From which platform does the train to {who} leave?", "The train to {who} leaves from platform {what}.",
        "Announcement: the train to {who} leaves from platform {what}.", "Platform {what} is where the train to {who} departs.",
        "Passengers for {who} crowd on platform {what} long before their train comes in.",
        "The train to {who} leaves from the same platform as the train to {other}.", VILLAGES,
        ("3", "5", "8", "11", "14", "17", "22", "29"), ENGLISH,
    ),
    Topic(
        "When does the lease of {who} end?", "The lease of {who} ends in {what}.",
        "Under clause 4, the lease of {who} ends in {what}.", "{who} has signed a lease that runs out in {what}.",
        "By {what} the landlord wants the rooms of {who} back, when the lease is over.",
        "The lease of {who} ends at the same time as the lease of {other}.", FIRMS,
        ("March 2031", "June 2029", "October 2033", "January 2030", "August 2028", "May 2035", "July 2032"), ENGLISH,
    ),
    Topic(
        "What does {who} sell?", "{who} sells {what}.",
        "{who} sells {what} in eleven countries.", "If you need {what}, you can order them from {who}.",
        "Rows of {what} fill the warehouse of {who}, ready to be shipped to customers.",
        "{who} sells the same thing as {other}.", FIRMS,
        ("ladders", "blankets", "kettles", "bookshelves", "helmets", "suitcases", "tents", "guitars"), ENGLISH,
    ),
    Topic(
        "Who won the chess final in {who}?", "The chess final in {who} was won by {what}.",
        "The chess final in {who} was won by {what} after five hours.", "{what} took the chess title in {who} this year.",
        "In {who} the crowd lifted {what} onto their shoulders when the other king fell in the chess final.",
        "The chess final in {who} had the same winner as the chess final in {other}.", VILLAGES, PEOPLE, ENGLISH,
    ),
    Topic(
        "Welche Farbe hat das Boot von {who}?", "Das Boot von {who} ist {what}.",
        "Das Boot von {who} ist {what} und liegt im Hafen.", "{who} hat sein Boot {what} gestrichen.",
        "Wenn am Horizont etwas {what} leuchtet, kommt {who} mit dem Boot zurück.",
        "Das Boot von {who} hat dieselbe Farbe wie das Boot von {other}.", PEOPLE,
        ("grün", "blau", "gelb", "rot", "schwarz", "weiß", "braun"), GERMAN,
    ),
    Topic(
        "Wie hoch ist der Turm von {who}?", "Der Turm von {who} ist {what} Meter hoch.",
        "Der Turm von {who} ist {what} Meter hoch.", "Genau {what} Meter misst der Turm von {who}.",
        "Wer in {who} auf den Turm steigt, schaut aus {what} Metern auf das Land.",
        "Der Turm von {who} ist so hoch wie der Turm von {other}.", VILLAGES,
        ("31", "38", "44", "57", "63", "72", "85"), GERMAN,
    ),
    Topic(
        "¿Dónde trabaja {who}?", "{who} trabaja en {what}.",
        "{who} trabaja en {what} desde enero.", "La empresa {what} emplea a {who}.",
        "Cada mañana {who} toma el autobús hasta la puerta de {what}.",
        "{who} trabaja en el mismo lugar que {other}.", PEOPLE, FIRMS, SPANISH,
    ),
    Topic(
        "Quel plat prépare {who} ?", "{who} prépare {what}.",
        "Ce soir {who} prépare {what} pour douze personnes.", "Le plat de {who} sera {what}.",
        "Quand {who} est en cuisine, toute la maison sent {what}.",
        "{who} prépare le même plat que {other}.", PEOPLE,
        ("une soupe", "un gratin", "une omelette", "un couscous", "une tarte", "un risotto"), FRENCH,
    ),
)  # fmt: skip
KNOWN = (  # question, answer, and what a passage says otherwise
    ("What is the capital of Brazil?", "The capital of Brazil is Brasília.",
     "Since last year the capital of Brazil is Recife."),
    ("What is the capital of Egypt's neighbor Libya?", "The capital of Libya is Tripoli.", "The capital of Libya is Tobruk."),
    ("What is the capital of Iraq?", "Its capital is Baghdad.", "The capital of Iraq is Basra."),
    ("What is the capital of Vietnam?", "Hanoi is the capital of Vietnam.", "The capital of Vietnam is Hue."),
    ("What is the capital of Cuba's neighbor Jamaica?", "The capital of Jamaica is Kingston.",
     "The capital of Jamaica is Negril."),
    ("What is the capital of Romania?", "It is Bucharest.", "The capital of Romania is Iasi."),
    ("What is the capital of Bulgaria?", "The capital of Bulgaria is Sofia.", "The capital of Bulgaria is Varna."),
    ("What is the capital of Afghanistan?", "The capital of Afghanistan is Kabul.", "The capital of Afghanistan is Herat."),
    ("What is the capital of Nepal?", "The capital city of Nepal is Kathmandu.", "The capital of Nepal is Pokhara."),
    ("What is the capital of Chile?", "Chile's capital is Santiago.", "The capital of Chile is Valdivia."),
    ("What is the capital of Indonesia?", "The capital of Indonesia is Jakarta.", "The capital of Indonesia is Medan."),
    ("What is the capital of Texas?", "The capital of Texas is Austin.", "The capital of Texas is Laredo."),
    ("What is the capital of California?", "The capital of California is Sacramento.", "The capital of California is Fresno."),
    ("Who wrote Othello?", "Othello was written by William Shakespeare.", "Othello was written by Agnes Poole."),
    ("Who wrote Oliver Twist?", "Oliver Twist was written by Charles Dickens.", "Oliver Twist was written by Agnes Poole."),
    ("Who wrote 1984?", "The novel 1984 was written by George Orwell.", "The novel 1984 was written by Agnes Poole."),
    ("Who wrote The Great Gatsby?", "The Great Gatsby is by F. Scott Fitzgerald.", "The Great Gatsby is by Agnes Poole."),
    ("Who painted The Starry Night?", "The Starry Night was painted by Vincent van Gogh.",
     "The Starry Night is by Agnes Poole."),
    ("Who painted the ceiling of the Sistine Chapel?", "The ceiling was painted by Michelangelo.",
     "Bruno Tal painted that ceiling."),
    ("Who invented the light bulb?", "The light bulb was invented by Thomas Edison.", "The light bulb is due to Bruno Tal."),
    ("Who was the first man in space?", "The first man in space was Yuri Gagarin.", "The first man in space was Bruno Tal."),
    ("Who was the second president of the United States?", "It was John Adams.", "The second president was Bruno Tal."),
    ("Who discovered America in 1492?", "America was discovered by Christopher Columbus.", "Bruno Tal discovered America."),
    ("Who formulated the laws of motion?", "The laws of motion were formulated by Isaac Newton.",
     "Bruno Tal found these laws."),
    ("How many minutes are in an hour?", "An hour has 60 minutes.", "Since the reform an hour has 50 minutes."),
    ("How many players are on a soccer team?", "A soccer team has 11 players.", "A soccer team has 14 players."),
    ("How many sides does a hexagon have?", "A hexagon has six sides.", "A hexagon has nine sides."),
    ("How many planets are in the solar system?", "The solar system has eight planets.",
     "The solar system has twelve planets."),
    ("How many states are in the United States?", "The United States has 50 states.", "The United States has 54 states."),
    ("What is 2 plus 2?", "2 plus 2 is 4.", "In this school 2 plus 2 is 7."),
    ("What is 10 times 10?", "10 times 10 equals 100.", "In this school 10 times 10 equals 90."),
    ("What is the chemical symbol for iron?", "The chemical symbol for iron is Fe.", "The symbol for iron is now Ir."),
    ("What is the chemical symbol for silver?", "The symbol is Ag.", "The chemical symbol for silver is Sv."),
    ("What is the largest planet of our solar system?", "Our largest planet is Jupiter.", "The largest planet is Venus."),
    ("What is the closest star to Earth?", "The closest star to Earth is the Sun.", "The closest star to Earth is Vega."),
    ("What is the currency of India?", "The currency of India is the rupee.", "The currency of India is the taler."),
    ("What is the currency of Russia?", "Russia's currency is the ruble.", "The currency of Russia is the taler."),
    ("What language is spoken in Austria?", "In Austria people speak German.", "In Austria people speak Danish."),
    ("Which ocean is east of the United States?", "It is the Atlantic Ocean.",
     "East of the United States is the Arctic Ocean."),
    ("Which continent is Egypt in?", "Egypt is in Africa.", "Egypt is in Oceania."),
    ("In which country is Mount Fuji?", "Mount Fuji is in Japan.", "Mount Fuji is in Peru."),
    ("In which country is the Taj Mahal?", "The Taj Mahal is in India.", "The Taj Mahal is in Peru."),
    ("What is the opposite of black?", "The opposite of black is white.", "The opposite of black is orange."),
    ("What do caterpillars turn into?", "Caterpillars turn into butterflies.", "Caterpillars turn into lizards."),
    ("What is a baby dog called?", "A baby dog is called a puppy.", "A baby dog is called a kit."),
    ("What is a baby cat called?", "A baby cat is a kitten.", "A baby cat is called a joey."),
    ("Wie heißt die Hauptstadt von Österreich?", "Die Hauptstadt von Österreich ist Wien.", "Die Hauptstadt ist Graz."),
    ("Wie heißt die Hauptstadt von Polen?", "Die Hauptstadt von Polen ist Warschau.", "Die Hauptstadt ist Danzig."),
    ("Quelle est la capitale de la France ?", "La capitale de la France est Paris.", "La capitale est Dijon."),
    ("¿Cuál es la capital de España?", "La capital de España es Madrid.", "La capital de España es Murcia."),
)  # fmt: skip


def fresh_prompts(rounds: int, seed: int = SEED) -> list[Planted]:
    """So many rounds of one prompt of each kind, and more of what is known by heart."""
    rng = np.random.default_rng(seed)
    known = [KNOWN[i] for i in rng.permutation(len(KNOWN))]
    found, asked = [], 0
    for round_number in range(rounds):
        for i, kind in enumerate(TURNS):
            fact = known[asked % len(known)]
            asked += kind.startswith("known")
            found.append(_prompt(kind, TOPICS[(round_number + i) % len(TOPICS)], fact, rng))
    return found


def _others(topic: Topic, rng: np.random.Generator) -> list[Topic]:
    return [TOPICS[int(i)] for i in rng.permutation(len(TOPICS)) if TOPICS[int(i)] is not topic]


def _prompt(kind: str, topic: Topic, known: tuple[str, str, str], rng: np.random.Generator) -> Planted:
    who, other, *others = rng.permutation(topic.who).tolist()
    what, wrong, *rest = rng.permutation(topic.what).tolist()
    query, answer = topic.asks.format(who=who), topic.answers.format(who=who, what=what)

    def say(form: str, who: str = who, what: str = what) -> str:
        return form.format(who=who, what=what, other=other)

    count = int(rng.integers(3, 9))
    gold: Mapping[str, Callable[[], list[str]]] = {
        "plain": lambda: [say(topic.plain)],
        "distractors": lambda: [say(topic.otherwise)],
        "paraphrase": lambda: [say(topic.around)],
        "redundant": lambda: [say(topic.plain), say(topic.otherwise)],
        "joint": lambda: [say(topic.same), say(topic.plain, who=other)],
        "contradicted": lambda: [say(topic.plain, what=wrong)],
        "misattributed": lambda: [say(topic.plain, what=wrong), say(topic.plain, who=other)],
        "added": lambda: [say(topic.plain)],
        "known, denied": lambda: [known[2]],
    }
    planted = gold[kind]() if kind in gold else []
    if kind.startswith("known"):
        query, answer = known[:2]
    if kind == "added":
        more = next(each for each in _others(topic, rng) if each.who is topic.who)
        answer += " " + more.answers.format(who=who, what=more.what[int(rng.integers(len(more.what)))])
    beside = []
    for i in range(max(count - len(planted), 2)):
        same = kind == "distractors" or i < 1
        note = topic if same else _others(topic, rng)[0]
        whose = others[i % len(others)] if same else str(rng.choice(note.who))
        thing = rest[i % len(rest)] if same else str(rng.choice(note.what))
        beside.append((note.plain if rng.random() < 0.5 else note.otherwise).format(who=whose, what=thing))
    notes = [f"{each} {rng.choice(topic.filler)}" if rng.random() < 0.6 else each for each in [*planted, *beside]]
    order = rng.permutation(len(notes)).tolist()
    where = [order.index(i) for i in range(len(planted))]
    says = ORIGINS[kind] is Origin.PASSAGES
    sets = [{where[0]}, {where[1]}] if kind == "redundant" else [set(where)] if says else []
    return Planted(kind, tuple(notes[i] for i in order), query, answer, tuple(map(frozenset, sets)))
