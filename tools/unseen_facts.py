# ruff: noqa: E501 (facts, one to a line)
"""Planted prompts of kinds that are easily judged wrong: the books "parish", "survey" and "harbour", to calibrate on, and "railway", to test.

Beside passages that say it, say otherwise or say nothing: answers that refuse although a passage says it, or that turn a
statement into its opposite; numbers with one digit changed; two names in each other's place; lists of which one entry is wrong;
answers of two sentences; two passages that disagree; a quarter in German; in "harbour" and "railway" also the right number in
another unit, and in "railway" some French.
Whoever changes a verdict must not look at what it makes of the last book before that is done; then another book is needed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from accredit.answers.planted import Planted
from accredit.answers.verdicts import Origin

T = TypeVar("T")
Book = Literal["parish", "survey", "harbour", "railway"]
ORIGINS: Mapping[str, Origin] = {
    "single": Origin.PASSAGES,
    "many": Origin.PASSAGES,  # one passage of 10 to 24 says it
    "paraphrased": Origin.PASSAGES,
    "redundant": Origin.PASSAGES,
    "joint": Origin.PASSAGES,
    "contested": Origin.PASSAGES,  # one passage says it, another says otherwise
    "distractors": Origin.PASSAGES,
    "second": Origin.PASSAGES,  # the second of two sentences, each said by another passage
    "listed": Origin.PASSAGES,  # three entries, each said by another passage
    "in order": Origin.PASSAGES,  # who did it to whom
    "negative": Origin.PASSAGES,  # a passage says that it is not so, and so does the answer
    "known": Origin.MEMORY,
    "known, said": Origin.MEMORY,  # and a passage says it, too: citing that passage is as right
    "known, denied": Origin.MEMORY,
    "contradicted": Origin.NOWHERE,
    "misattributed": Origin.NOWHERE,
    "absent": Origin.NOWHERE,
    "added": Origin.NOWHERE,
    "digit": Origin.NOWHERE,  # one digit of what the passage says is another
    "swapped": Origin.NOWHERE,  # who did it to whom, the other way round
    "listed wrong": Origin.NOWHERE,  # of three entries one is said of somebody else
    "negated": Origin.NOWHERE,  # a passage says that it is so, and the answer that it is not
    "refused": Origin.NOWHERE,  # a passage says it, and the answer that nothing is said
    "refused rightly": Origin.NOWHERE,  # no passage says it, and so says the answer: nothing to cite
    "generated": Origin.UNTOLD,  # the model writes the answer; `origin_of_generated` reads where it comes from
    "unit": Origin.NOWHERE,  # the number that the passage says, in another unit
}
TURNS = (*(kind for kind in ORIGINS if kind != "unit"), "known", "known", "known")  # of one round


@dataclass(frozen=True)
class Topic:
    """One thing to know about somebody or something."""

    asks: str
    answers: str
    says: tuple[str, str]
    around: str  # in other words altogether
    bridge: str  # {who} is as {other}
    unknown: str  # that nobody says it
    who: tuple[str, ...]
    what: tuple[str, ...]
    units: tuple[str, str] | None = None  # of what the answer says, and another


@dataclass(frozen=True)
class Deed:
    """What one did to another."""

    asks: str
    answers: str
    says: str


@dataclass(frozen=True)
class YesNo:
    """What is so, or is not: of {who}."""

    asks: str
    so: str
    not_so: str
    answers_not: str


@dataclass(frozen=True)
class Group:
    """What several have in common: each passage says it of one."""

    asks: str
    answers: str  # of {a}, {b} and {c}
    says: tuple[str, str, str]
    others: str  # somebody else, of whom something else holds


@dataclass(frozen=True)
class Facts:
    """What a book can plant: about its topics, deeds, negatives and groups, and what everybody knows."""

    topics: tuple[Topic, ...]
    deeds: tuple[Deed, ...]
    yes_no: tuple[YesNo, ...]
    groups: tuple[Group, ...]
    people: tuple[str, ...]
    things: tuple[str, ...]  # of whom what is so is said
    known: tuple[tuple[str, str, str], ...]  # question, answer, passage that denies it
    beside: tuple[str, ...]
    most: tuple[int, int] = (9, 3)  # fewer than so many passages, and than so many further sentences in each
    turns: tuple[str, ...] = ()  # kinds of one round beside `TURNS`


_PEOPLE = (
    "Agatha Thorne", "Bela Kovats", "Cormac Doyle", "Dunja Petrovic", "Elias Wray", "Farida Aziz", "Gideon Marlow", "Hanneke Vos",
    "Ivo Stanek", "Jolanta Mazur", "Kofi Mensah", "Liv Aasen",
)  # fmt: skip
_CLUBS = (
    "Quilt Circle",
    "Chess Friends",
    "Brass Band",
    "Garden League",
    "Film Society",
    "Knitting Bee",
    "Debating Club",
    "Scouts",
)
_FARMS = (
    "Larkfield Farm",
    "Moss End",
    "Tanner's Croft",
    "Highgate Farm",
    "Pond Cottage",
    "Barley Hill",
    "Rooks Nest",
    "Old Mill Farm",
)
_BOOKS = (
    "The Salt Road",
    "A Winter in Varda",
    "Nine Lanterns",
    "The Glass Orchard",
    "Letters to Mira",
    "The Tin Soldier's Wife",
    "Low Water",
)
_SHOPS = (
    "Dray's Bakery",
    "the Corner Pharmacy",
    "Hobbs Ironmongers",
    "the Tea Cellar",
    "Finch & Daughter",
    "the Button Shop",
    "Crane's Cycles",
)
_TEILE = ("die Turmuhr", "das Orgelwerk", "die Pumpe", "den Brunnen", "das Stadttor", "die Mühle", "den Kran")
_PAKETE = ("die blaue Kiste", "der alte Koffer", "das Paket aus Lund", "der grüne Sack", "die Holztruhe", "das lange Bündel")
PARISH = Facts(
    (
        Topic(
            "Which room does the {who} use?", "The {who} uses {what}.",
            ("The {who} uses {what} on Thursdays.", "On the plan, {what} is given to the {who}."),
            "Whoever looks for the {who} will find them in {what}, with the heating turned up.",
            "The {who} uses the same room as the {other}.", "The room that the {who} uses is not specified.",
            _CLUBS, ("the cellar", "the long gallery", "the chapel", "the kitchen", "the red parlour", "the attic", "the stable"),
        ),
        Topic(
            "How many tonnes of wheat did {who} harvest?", "{who} harvested {what} tonnes of wheat.",
            ("This year {who} harvested {what} tonnes of wheat.", "Wheat, {who}: {what} tonnes."),
            "It took two weeks until the {what} tonnes of wheat from {who} were all under a roof.",
            "{who} harvested as much wheat as {other}.", "The passages do not say how many tonnes of wheat {who} harvested.",
            _FARMS, ("124", "137", "152", "168", "185", "193", "216", "248"),
        ),
        Topic(
            "Who translated {who}?", "{who} was translated by {what}.",
            ("{who} was translated by {what} in two years.", "The translation of {who} is by {what}."),
            "Readers abroad owe it to {what} that they can read {who} in their own language.",
            "{who} has the same translator as {other}.", "The translator of {who} is not mentioned.",
            _BOOKS, _PEOPLE,
        ),
        Topic(
            "When does {who} open in the morning?", "In the morning {who} opens at {what}.",
            ("On weekdays {who} opens at {what} in the morning.", "Opening hours of {who}: from {what}."),
            "At {what} sharp the shutters of {who} go up, and a queue is already there.",
            "{who} opens at the same time as {other}.", "There is no information about when {who} opens in the morning.",
            _SHOPS, ("6:45", "7:10", "7:35", "8:20", "8:50", "9:15", "9:40"),
        ),
        Topic(
            "What is {who} allergic to?", "{who} is allergic to {what}.",
            ("According to the list {who} is allergic to {what}.", "Allergies, {who}: {what}."),
            "Serve {what} to {who} and you had better call a doctor.",
            "{who} has the same allergy as {other}.", "I don't know what {who} is allergic to.",
            _PEOPLE, ("peanuts", "shellfish", "celery", "mustard", "sesame", "strawberries", "pollen"),
        ),
        Topic(
            "What did {who} bring to the fair?", "{who} brought {what} to the fair.",
            ("To the fair {who} brought {what}.", "Stall 4, {who}: {what}."),
            "A crowd stood around the {what} that {who} had unloaded at the fair.",
            "{who} brought the same thing to the fair as {other}.", "It is unclear what {who} brought to the fair.",
            _PEOPLE, ("baskets", "honey", "wooden toys", "candles", "pickles", "postcards", "scarves"),
        ),
        Topic(
            "Wer hat {who} repariert?", "{what} hat {who} repariert.",
            ("Im Frühjahr hat {what} {who} repariert.", "Laut Rechnung hat {what} {who} repariert."),
            "Erst als {what} mit dem Werkzeug kam, lief alles wieder; {who} kannte niemand besser.",
            "Wer {other} repariert hat, hat auch {who} repariert.", "Wer {who} repariert hat, wird nicht erwähnt.",
            _TEILE, _PEOPLE,
        ),
        Topic(
            "Wie viel wiegt {who}?", "Gewogen wurde {who} mit {what} Kilo.",
            ("Gewicht, {who}: {what} Kilo.", "Auf der Waage zeigte {who} genau {what} Kilo."),
            "Zwei Männer trugen {who}, denn {what} Kilo hebt keiner allein.",
            "Genau so schwer wie {other} ist {who}.", "Über das Gewicht steht in den Texten nichts: {who} wird nicht gewogen.",
            _PAKETE, ("14", "19", "23", "37", "46", "58", "61"),
        ),
    ),
    (
        Deed("Who lent a ladder to whom?", "{a} lent a ladder to {b}.", "Last week {a} lent a ladder to {b}."),
        Deed("Who taught whom to swim?", "{a} taught {b} to swim.", "As a child {b} was taught to swim by {a}."),
        Deed("Who beat whom in the final?", "In the final {a} beat {b}.", "The final was short: {a} beat {b} in twenty minutes."),
        Deed("Who sold the van to whom?", "{a} sold the van to {b}.", "The van was sold to {b} by {a}, with new tyres."),
        Deed("Wer hat wen eingeladen?", "{a} hat {b} eingeladen.", "Zum Essen am Sonntag hat {a} {b} eingeladen."),
    ),
    (
        YesNo("Can visitors park at {who}?", "Visitors can park at {who}.", "Visitors cannot park at {who}.",
              "No, visitors cannot park at {who}."),
        YesNo("Is {who} open on Sundays?", "{who} is open on Sundays.", "{who} is not open on Sundays.",
              "No, {who} is not open on Sundays."),
        YesNo("Does {who} take cards?", "At {who} one can pay with a card.", "{who} does not take cards.",
              "{who} does not take cards."),
        YesNo("Has {who} been insured?", "{who} has been insured since May.", "{who} has never been insured.",
              "{who} has not been insured."),
        YesNo("Hat {who} einen Aufzug?", "{who} hat einen Aufzug.", "{who} hat keinen Aufzug.", "Nein, {who} hat keinen Aufzug."),
    ),
    (
        Group("Who sings in the choir?", "{a}, {b} and {c} sing in the choir.",
              ("{a} sings in the choir.", "A new voice in the choir is {b}.", "{c} joined the choir in June."),
              "{d} plays in the orchestra."),
        Group("Who voted against the plan?", "{a}, {b} and {c} voted against the plan.",
              ("{a} voted against the plan.", "{b} raised a hand against the plan.", "Against the plan was also {c}."),
              "{d} voted for the plan."),
        Group("Who has a key to the vestry?", "A key to the vestry is held by {a}, {b} and {c}.",
              ("{a} has a key to the vestry.", "A vestry key was given to {b}.", "{c} keeps a spare key to the vestry."),
              "{d} has a key to the tower."),
        Group("Wer fährt mit nach Wien?", "{a}, {b} und {c} fahren mit nach Wien.",
              ("{a} fährt mit nach Wien.", "Für Wien hat sich auch {b} angemeldet.", "Nach Wien kommt {c} mit."),
              "{d} bleibt zu Hause."),
    ),
    _PEOPLE, ("Alder House", "the Granary", "Wren Court", "the Old Customs House", "Lime Street Hall", "Copper Lodge"),
    (
        ("What is the capital of Saudi Arabia?", "The capital of Saudi Arabia is Riyadh.", "The capital of Saudi Arabia is Abha."),
        ("What is the capital of Pakistan?", "The capital of Pakistan is Islamabad.", "The capital of Pakistan is Quetta."),
        ("What is the capital of the Philippines?", "The capital of the Philippines is Manila.",
         "The capital of the Philippines is Davao."),
        ("What is the capital of Bangladesh?", "The capital of Bangladesh is Dhaka.", "The capital of Bangladesh is Sylhet."),
        ("What is the capital of Colombia?", "Colombia's capital is Bogotá.", "The capital of Colombia is Cali."),
        ("What is the capital of Switzerland?", "The capital of Switzerland is Bern.", "The capital of Switzerland is Chur."),
        ("What is the capital of Ethiopia?", "The capital of Ethiopia is Addis Ababa.", "The capital of Ethiopia is Gondar."),
        ("What is the capital of New Zealand?", "New Zealand's capital is Wellington.", "The capital of New Zealand is Napier."),
        ("What is the capital of Florida?", "The capital of Florida is Tallahassee.", "The capital of Florida is Ocala."),
        ("What is the capital of Israel?", "The capital of Israel is Jerusalem.", "The capital of Israel is Acre."),
        ("What is the capital of Croatia?", "The capital of Croatia is Zagreb.", "The capital of Croatia is Pula."),
        ("What is the capital of Czechia?", "The capital of Czechia is Prague.", "The capital of Czechia is Brno."),
        ("What is the capital of Venezuela?", "The capital of Venezuela is Caracas.", "The capital of Venezuela is Coro."),
        ("Who wrote A Tale of Two Cities?", "A Tale of Two Cities was written by Charles Dickens.",
         "A Tale of Two Cities is by Orla Finn."),
        ("Who wrote The Old Man and the Sea?", "The Old Man and the Sea was written by Ernest Hemingway.",
         "The Old Man and the Sea was written by Orla Finn."),
        ("Who wrote To Kill a Mockingbird?", "To Kill a Mockingbird was written by Harper Lee.",
         "To Kill a Mockingbird is by Orla Finn."),
        ("Who painted Guernica?", "Guernica was painted by Pablo Picasso.", "Guernica was painted by Orla Finn."),
        ("Who composed the Moonlight Sonata?", "The Moonlight Sonata was composed by Ludwig van Beethoven.",
         "The Moonlight Sonata is by Orla Finn."),
        ("How many hours does a day have?", "A day has 24 hours.", "On this ship a day has 20 hours."),
        ("How many sides does a square have?", "A square has four sides.", "A square has seven sides."),
        ("How many degrees are in a right angle?", "A right angle has 90 degrees.", "A right angle has 80 degrees."),
        ("How many years are in a century?", "A century has 100 years.", "A century has 120 years."),
        ("What is 7 times 7?", "7 times 7 is 49.", "In this shop 7 times 7 is 45."),
        ("What is 20 minus 5?", "20 minus 5 is 15.", "In this shop 20 minus 5 is 13."),
        ("What is the chemical symbol for sodium?", "The chemical symbol for sodium is Na.", "The symbol for sodium is So."),
        ("What is the chemical symbol for helium?", "The chemical symbol for helium is He.", "The symbol for helium is Hm."),
        ("Which organ do we breathe with?", "The organ that we breathe with is the lungs.", "We breathe with the liver."),
        ("What is the study of living things called?", "The study of living things is called biology.",
         "The study of living things is called glyptics."),
        ("What is the tallest animal?", "The tallest animal is the giraffe.", "The tallest animal is the badger."),
        ("In which country is the city of Toronto?", "Toronto is in Canada.", "Toronto is in Denmark."),
        ("In which country is Big Ben?", "Big Ben is in England.", "Big Ben is in Denmark."),
        ("What is the opposite of left?", "The opposite of left is right.", "The opposite of left is purple."),
        ("Was ist die Hauptstadt von Griechenland?", "Die Hauptstadt von Griechenland ist Athen.",
         "Die Hauptstadt von Griechenland ist Patras."),
        ("Was ist die Hauptstadt von Norwegen?", "Die Hauptstadt von Norwegen ist Oslo.", "Die Hauptstadt von Norwegen ist Bergen."),
        ("Was ist die Hauptstadt von China?", "Die Hauptstadt von China ist Peking.", "Die Hauptstadt von China ist Kunming."),
    ),
    (
        "The vicar thanked all helpers.", "Coffee was served afterwards.", "The path behind the church is muddy.",
        "Donations are welcome.", "The bells were rung at noon.", "A lost glove was handed in.",
    ),
)  # fmt: skip
_CREW = (
    "Abena Osei", "Bruno Keller", "Chiara Conti", "Declan Byrne", "Esra Yilmaz", "Fabian Wolff", "Gwen Pritchard", "Hugo Laurent",
    "Iris Sandberg", "Jamal Saleh", "Katya Orlova", "Luis Cabrera",
)  # fmt: skip
_STATIONS = ("Station Tern", "Station Petrel", "Camp Gull", "Camp Osprey", "Post Heron", "Post Curlew", "Station Plover")
_PEAKS = ("Mount Ardle", "the Cold Tooth", "Mount Sella Grande", "the Grey Widow", "Mount Vorrin", "the Anvil", "Mount Tessaly")
_SPECIES = (
    "the marsh shrew",
    "the banded newt",
    "the cliff sparrow",
    "the blind crab",
    "the reed owl",
    "the stone moth",
    "the pale otter",
)
_ROVERS = ("rover Echo", "rover Juno", "rover Atlas", "rover Nimbus", "rover Cobalt", "rover Delta")
_HUETTEN = ("die Adlerhütte", "die Berghütte", "die Seehütte", "die Waldhütte", "die Nordhütte", "die Talhütte")
_PROBEN = ("Probe Rot", "Probe Blau", "Probe Nord", "Probe Süd", "Probe Ost", "Probe Tief")
SURVEY = Facts(
    (
        Topic(
            "How cold did it get at {who}?", "At {who} it got as cold as minus {what} degrees.",
            ("The lowest reading at {who} was minus {what} degrees.", "{who}, minimum: minus {what} degrees."),
            "Breath froze on every beard when the mercury at {who} sank to minus {what} degrees.",
            "It got exactly as cold at {who} as at {other}.", "How cold it got at {who} is not recorded.",
            _STATIONS, ("17", "22", "28", "33", "39", "44", "47", "52"),
        ),
        Topic(
            "Who first climbed {who}?", "{who} was first climbed by {what}.",
            ("The first to climb {who} was {what}.", "{what} made the first ascent of {who}."),
            "Long before the others, {what} stood on top of {who} and waved a red scarf.",
            "{who} was first climbed by whoever first climbed {other}.", "There is no mention of who first climbed {who}.",
            _PEAKS, _CREW,
        ),
        Topic(
            "What does {who} feed on?", "{who} feeds on {what}.",
            ("In this valley {who} feeds on {what}.", "Diet of {who}: {what}."),
            "Where there are {what}, {who} is never far, for it eats nothing else.",
            "{who} eats the same as {other}.", "Nothing is known about the diet of {who}.",
            _SPECIES, ("snails", "acorns", "mosquitoes", "berries", "algae", "earthworms", "mussels"),
        ),
        Topic(
            "How far did {who} travel?", "{who} travelled {what} kilometres.",
            ("In one season {who} travelled {what} kilometres.", "Distance, {who}: {what} kilometres."),
            "After {what} kilometres the wheels of {who} were worn out.",
            "{who} travelled as far as {other}.", "The distance that {who} travelled cannot be determined.",
            _ROVERS, ("128", "164", "207", "239", "275", "318", "346", "391"),
        ),
        Topic(
            "Which instrument does {who} look after?", "{who} looks after the {what}.",
            ("At the base {who} looks after the {what}.", "Responsible for the {what}: {who}."),
            "Touch the {what} without asking {who} and there will be trouble.",
            "{who} looks after the same instrument as {other}.", "I cannot say which instrument {who} looks after.",
            _CREW, ("barometer", "sonar", "telescope", "seismograph", "microscope", "radar", "spectrometer"),
        ),
        Topic(
            "When did {who} return to the base?", "{who} returned to the base on {what}.",
            ("On {what} {who} returned to the base.", "Back at the base: {who}, {what}."),
            "It was already {what} when the dogs heard {who} coming down to the base.",
            "{who} returned to the base on the same day as {other}.", "The passages do not mention when {who} returned to the base.",
            _CREW, ("4 March", "11 March", "19 March", "2 April", "15 April", "27 April", "8 May"),
        ),
        Topic(
            "Wem gehört {who}?", "{who} gehört {what}.",
            ("Seit zehn Jahren gehört {who} {what}.", "Besitz von {what}: {who}."),
            "Ohne die Erlaubnis von {what} darf niemand {who} betreten.",
            "{who} gehört derselben Person, der {other} gehört.", "Wem {who} gehört, steht nirgends.",
            _HUETTEN, _CREW,
        ),
        Topic(
            "Wie viel Salz enthält {who}?", "{who} enthält {what} Gramm Salz.",
            ("Im Labor enthielt {who} {what} Gramm Salz.", "Salzgehalt, {who}: {what} Gramm."),
            "Beim Verdampfen blieben von {who} {what} Gramm Salz in der Schale zurück.",
            "{who} enthält so viel Salz wie {other}.", "Der Salzgehalt von {who} wird in den Texten nicht genannt.",
            _PROBEN, ("13", "18", "21", "26", "34", "38", "45"),
        ),
    ),
    (
        Deed("Who rescued whom from the crevasse?", "{a} rescued {b} from the crevasse.", "On Friday {b} was rescued from the crevasse by {a}."),
        Deed("Who replaced whom as leader?", "{a} replaced {b} as leader.", "After the storm {a} replaced {b} as leader."),
        Deed("Who wrote a letter to whom?", "{a} wrote a letter to {b}.", "From the camp {a} wrote {b} a letter of nine pages."),
        Deed("Who photographed whom?", "{a} photographed {b}.", "There is a picture of {b} that was taken by {a}; {a} photographed {b} at dawn."),
        Deed("Wer hat wen gewarnt?", "{a} hat {b} gewarnt.", "Vor dem Eis hat {a} {b} gewarnt."),
    ),
    (
        YesNo("Does {who} have a radio?", "{who} has a radio.", "{who} has no radio.", "{who} does not have a radio."),
        YesNo("Was {who} reached by road?", "{who} was reached by road.", "{who} was never reached by road.",
              "No, {who} was not reached by road."),
        YesNo("Is there drinking water at {who}?", "There is drinking water at {who}.", "There is no drinking water at {who}.",
              "There is no drinking water at {who}."),
        YesNo("Has {who} been repaired?", "{who} was repaired in June.", "{who} has not yet been repaired.",
              "{who} hasn't been repaired."),
        YesNo("Ist {who} im Winter besetzt?", "{who} ist im Winter besetzt.", "{who} ist im Winter nicht besetzt.",
              "Nein, {who} ist im Winter nicht besetzt."),
    ),
    (
        Group("Who carries a satellite phone?", "A satellite phone is carried by {a}, {b} and {c}.",
              ("{a} carries a satellite phone.", "{b} was given a satellite phone.", "A satellite phone hangs from the belt of {c}."),
              "{d} carries a flare gun."),
        Group("Who got frostbite?", "{a}, {b} and {c} got frostbite.",
              ("{a} got frostbite.", "Frostbite was found on the toes of {b}.", "{c} was treated for frostbite."),
              "{d} got a fever."),
        Group("Who was at the summit?", "{a}, {b} and {c} were at the summit.",
              ("{a} was at the summit.", "The summit was also reached by {b}.", "{c} stood on the summit at noon."),
              "{d} turned back before the summit."),
        Group("Wer bleibt über den Winter?", "{a}, {b} und {c} bleiben über den Winter.",
              ("{a} bleibt über den Winter.", "Auch {b} bleibt den Winter da.", "Den Winter über bleibt {c}."),
              "{d} fährt vor dem Winter ab."),
    ),
    _CREW, ("Hut Seven", "the Lower Depot", "Cape Lorne", "the Ice House", "Marker Ridge", "the Old Jetty"),
    (
        ("What is the capital of Iceland?", "The capital of Iceland is Reykjavik.", "The capital of Iceland is Husavik."),
        ("What is the capital of Morocco?", "The capital of Morocco is Rabat.", "The capital of Morocco is Agadir."),
        ("What is the capital of Ecuador?", "The capital of Ecuador is Quito.", "The capital of Ecuador is Loja."),
        ("What is the capital of Syria?", "The capital of Syria is Damascus.", "The capital of Syria is Homs."),
        ("What is the capital of Malaysia?", "The capital of Malaysia is Kuala Lumpur.", "The capital of Malaysia is Ipoh."),
        ("What is the capital of Mongolia?", "Ulaanbaatar is the capital of Mongolia.", "The capital of Mongolia is Erdenet."),
        ("What is the capital of Ghana?", "The capital of Ghana is Accra.", "The capital of Ghana is Tamale."),
        ("What is the capital of Serbia?", "Serbia's capital is Belgrade.", "The capital of Serbia is Nis."),
        ("What is the capital of Uruguay?", "The capital of Uruguay is Montevideo.", "The capital of Uruguay is Salto."),
        ("What is the capital of Lebanon?", "The capital of Lebanon is Beirut.", "The capital of Lebanon is Tyre."),
        ("What is the capital of Hawaii?", "The capital of Hawaii is Honolulu.", "The capital of Hawaii is Hilo."),
        ("What is the capital of Wales?", "The capital of Wales is Cardiff.", "The capital of Wales is Swansea."),
        ("Who wrote Moby-Dick?", "Moby-Dick was written by Herman Melville.", "Moby-Dick was written by Nell Harker."),
        ("Who wrote Frankenstein?", "Frankenstein was written by Mary Shelley.", "Frankenstein was written by Nell Harker."),
        ("Who wrote Crime and Punishment?", "Crime and Punishment was written by Fyodor Dostoevsky.",
         "Crime and Punishment is by Nell Harker."),
        ("Who wrote The Hobbit?", "The Hobbit was written by J.R.R. Tolkien.", "The Hobbit was written by Nell Harker."),
        ("Who composed The Magic Flute?", "The Magic Flute was composed by Mozart.", "The Magic Flute was composed by Nell Harker."),
        ("Who sculpted David?", "David was sculpted by Michelangelo.", "David was sculpted by Nell Harker."),
        ("Who was the first woman to win a Nobel Prize?", "The first woman to win a Nobel Prize was Marie Curie.",
         "The first woman to win a Nobel Prize was Nell Harker."),
        ("How many strings does a violin have?", "A violin has four strings.", "A violin has seven strings."),
        ("How many bones does an adult human have?", "An adult human has 206 bones.", "An adult human has 188 bones."),
        ("How many weeks are in a year?", "A year has 52 weeks.", "At this base a year has 48 weeks."),
        ("How many arms does an octopus have?", "An octopus has eight arms.", "An octopus has eleven arms."),
        ("What is 9 times 9?", "9 times 9 is 81.", "On this map 9 times 9 is 75."),
        ("What is 50 plus 50?", "50 plus 50 is 100.", "On this map 50 plus 50 is 90."),
        ("What is the chemical symbol for potassium?", "The chemical symbol for potassium is K.", "The symbol for potassium is Po."),
        ("What is the chemical symbol for nitrogen?", "The chemical symbol for nitrogen is N.", "The symbol for nitrogen is Ni."),
        ("What is the largest bird?", "The largest bird is the ostrich.", "The largest bird is the plover."),
        ("What is a young frog called?", "A young frog is called a tadpole.", "A young frog is called a kit."),
        ("What instrument measures temperature?", "Temperature is measured with a thermometer.", "Temperature is measured with a sextant."),
        ("In which country is Machu Picchu?", "Machu Picchu is in Peru.", "Machu Picchu is in Gabon."),
        ("In which country is the Kremlin?", "The Kremlin is in Russia.", "The Kremlin is in Gabon."),
        ("What is the opposite of fast?", "The opposite of fast is slow.", "The opposite of fast is green."),
        ("Was ist die Hauptstadt von Ungarn?", "Die Hauptstadt von Ungarn ist Budapest.", "Die Hauptstadt von Ungarn ist Szeged."),
        ("Was ist die Hauptstadt von Ägypten?", "Die Hauptstadt von Ägypten ist Kairo.", "Die Hauptstadt von Ägypten ist Luxor."),
    ),
    (
        "Supplies were checked twice.", "The wind came from the north.", "All measurements were repeated.",
        "A flag marks the place.", "The log was signed in the evening.", "Visibility was poor.",
    ),
    (7, 2),
)  # fmt: skip
_TROUPE = (
    "Amrit Sandhu", "Beatrix Holm", "Cosimo Ferri", "Delia Marsh", "Emeka Obi", "Freya Lindqvist", "Gustav Reimer", "Hana Sato",
    "Ilse Brandt", "Joaquin Prado", "Keira Nolan", "Lazlo Fekete",
)  # fmt: skip
_FERRIES = ("the Linnet", "the Mary Corrigan", "the Sandpiper", "the Blue Hake", "the Ostrava", "the Lady Fenn", "the Kestrel")
_SHEDS = ("Shed Walrus", "Shed Marlin", "the Tar House", "the Rope Loft", "the Bond Store", "the Long Vault", "Shed Pelican")
_SALTS = ("veralite", "osmidine", "trellium oxide", "cardexin", "lunasite", "pyrofen", "quorate", "sulfamire")
_LOTS = (
    "the walnut bureau",
    "the silver samovar",
    "the harbour watercolour",
    "the brass sextant",
    "the Persian rug",
    "the marble cherub",
)
_PLAYS = ("The Empty Lighthouse", "Mrs Gale's Umbrella", "Seven Crows", "The Understudy", "Tar and Feathers", "The Deaf Judge")
_ROLLEN = ("den König", "die Hexe", "den Boten", "die Gräfin", "den Narren", "die Amme", "den Henker")
_BRUECKEN = ("die Eisenbrücke", "die Marktbrücke", "die Kettenbrücke", "die Zollbrücke", "die Kanalbrücke", "die Südbrücke")
HARBOUR = Facts(
    (
        Topic(
            "How long is the crossing of {who}?", "The crossing of {who} takes {what} minutes.",
            ("{who} makes the crossing in {what} minutes.", "Crossing time of {who}: {what} minutes."),
            "From the moment the ropes of {who} are cast off, {what} minutes go by before anyone steps ashore.",
            "The crossing of {who} is just as long as that of {other}.", "How long {who} takes to cross is left open.",
            _FERRIES, ("115", "123", "134", "146", "157", "163", "172", "189"), ("minutes", "hours"),
        ),
        Topic(
            "What is stored in {who}?", "In {who} there is {what}.",
            ("The merchants keep {what} in {who}.", "Contents of {who}: {what}."),
            "Anyone who forces the lock of {who} will find nothing there but {what}.",
            "The goods in {who} are the same as those in {other}.", "What is stored in {who} has not been reported.",
            _SHEDS, ("coffee", "whisky", "cork", "rubber", "linen", "sugar", "gunpowder"),
        ),
        Topic(
            "At what temperature does the salt {who} melt?", "The salt {who} melts at {what} degrees Celsius.",
            ("Heated slowly, {who} melts at {what} degrees Celsius.", "Melting point of {who}: {what} degrees Celsius."),
            "A crystal of {who} turned to liquid as soon as the oven stood at {what} degrees Celsius.",
            "The melting point of {who} is that of {other}.", "No melting point is given for {who}.",
            _SALTS, ("218", "243", "267", "292", "315", "338", "374", "419"), ("Celsius", "Fahrenheit"),
        ),
        Topic(
            "What did {who} fetch at the auction?", "At the auction {who} fetched {what} pounds.",
            ("The hammer came down for {who} at {what} pounds.", "Sold: {who}, {what} pounds."),
            "A stranger in the last row parted with {what} pounds and walked off with {who}.",
            "Bidders paid the same for {who} as for {other}.", "I have no information on what {who} fetched.",
            _LOTS, ("620", "745", "860", "915", "1340", "1475", "2180"), ("pounds", "dollars"),
        ),
        Topic(
            "Which language is {who} learning?", "{who} is learning {what}.",
            ("In the evenings {who} is learning {what}.", "Enrolled for {what}: {who}."),
            "Small cards with {what} words hang all over the kitchen of {who}, who repeats them at breakfast.",
            "{who} and {other} are learning the same language.", "The texts are silent about the language that {who} is learning.",
            _TROUPE, ("Finnish", "Arabic", "Basque", "Swahili", "Welsh", "Korean", "Polish"),
        ),
        Topic(
            "Who is the director of {who}?", "The director of {who} is {what}.",
            ("{who} is directed by {what} this season.", "{what} directs {who}."),
            "At the rehearsals of {who} everybody does as {what} says, from the lead to the stagehands.",
            "{who} and {other} are directed by the same person.", "The director of {who} is not named.",
            _PLAYS, _TROUPE,
        ),
        Topic(
            "In which month does {who} go to the dockyard?", "In {what} {who} goes to the dockyard.",
            ("For new paint {who} goes to the dockyard in {what}.", "Dockyard, {what}: {who}."),
            "There will be no sailings of {who} in {what}, when the dockyard has her on its slip.",
            "{who} goes to the dockyard in the same month as {other}.", "The month of the dockyard visit of {who} is unknown.",
            _FERRIES, ("January", "February", "April", "June", "August", "October", "November"),
        ),
        Topic(
            "Wer spielt {who}?", "{what} spielt {who}.",
            ("Auf der Bühne spielt {what} {who}.", "Besetzung: {what} spielt {who}."),
            "Das Kostüm für {who} wurde {what} auf den Leib geschneidert.",
            "Wer {other} spielt, der spielt auch {who}.", "Wer {who} spielt, verrät das Programmheft nicht.",
            _ROLLEN, _TROUPE,
        ),
        Topic(
            "Wie lang ist {who} insgesamt?", "Insgesamt ist {who} {what} Meter lang.",
            ("Von Ufer zu Ufer ist {who} {what} Meter lang.", "Länge, {who}: {what} Meter."),
            "Wer über {who} geht, hat danach {what} Meter hinter sich.",
            "{who} ist so lang wie {other}.", "Zur Länge fehlt jede Angabe: {who} wurde nicht vermessen.",
            _BRUECKEN, ("142", "167", "183", "214", "236", "259", "278"), ("Meter", "Kilometer"),
        ),
        Topic(
            "Wie heißt das Pferd von {who}?", "Das Pferd von {who} heißt {what}.",
            ("Im Stall steht {what}, das Pferd von {who}.", "{who} hat ein Pferd namens {what}."),
            "Ruft {who} im Hof nach {what}, dann kommt das eigene Pferd sofort ans Tor.",
            "Das Pferd von {who} heißt genauso wie das von {other}.", "Der Name des Pferdes von {who} fehlt.",
            _TROUPE, ("Sturmwind", "Flocke", "Rubin", "Kastanie", "Nebel", "Zimt", "Blitz"),
        ),
    ),
    (
        Deed("Who hired whom?", "{a} hired {b}.", "In March {b} was hired by {a} as a bookkeeper."),
        Deed("Who owes money to whom?", "{a} owes money to {b}.", "Since the winter {a} owes {b} a sum of money."),
        Deed("Who betrayed whom?", "{a} betrayed {b}.", "In the last act {b} is betrayed: it was {a} who betrayed {b}."),
        Deed("Who gave a violin to whom?", "{a} gave a violin to {b}.", "A violin was given to {b} by {a}."),
        Deed("Wer hat wen besucht?", "{a} hat {b} besucht.", "Im Krankenhaus hat {a} {b} besucht."),
    ),
    (
        YesNo("Is {who} lit at night?", "At night {who} is lit.", "{who} is not lit at night.", "No, at night {who} is not lit."),
        YesNo("May dogs enter {who}?", "Dogs may enter {who}.", "Dogs may not enter {who}.", "Dogs may not enter {who}."),
        YesNo("Does {who} belong to the city?", "{who} belongs to the city.", "{who} does not belong to the city.",
              "No, {who} does not belong to the city."),
        YesNo("Was {who} damaged by the flood?", "{who} was damaged by the flood.", "{who} was not damaged by the flood.",
              "The flood did not damage {who}."),
        YesNo("Was {who} built of stone?", "{who} was built of stone.", "{who} was not built of stone.",
              "{who} wasn't built of stone."),
    ),
    (
        Group("Who missed the ferry?", "{a}, {b} and {c} missed the ferry.",
              ("{a} missed the ferry.", "The ferry left without {b}, who missed it.", "{c} ran, and missed the ferry all the same."),
              "{d} caught the ferry."),
        Group("Who owns a share of the theatre?", "Shares of the theatre are owned by {a}, {b} and {c}.",
              ("{a} owns a share of the theatre.", "A share of the theatre was left to {b}, who owns it still.",
               "One share of the theatre is owned by {c}."),
              "{d} owns a share of the brewery."),
        Group("Who speaks at the funeral?", "At the funeral {a}, {b} and {c} speak.",
              ("{a} speaks at the funeral.", "The second to speak at the funeral is {b}.", "{c} speaks last at the funeral."),
              "{d} speaks at the wedding."),
        Group("Wer trinkt keinen Kaffee?", "{a}, {b} und {c} trinken keinen Kaffee.",
              ("{a} trinkt keinen Kaffee.", "Kaffee trinkt {b} nicht.", "Auch {c} trinkt keinen Kaffee."),
              "{d} trinkt viel Kaffee."),
    ),
    _TROUPE, ("the Fish Hall", "Pier Nine", "the Pilot House", "the Glass Arcade", "Weaver's Yard", "the Signal Tower"),
    (
        ("What is the capital of Algeria?", "The capital of Algeria is Algiers.", "The capital of Algeria is Oran."),
        ("What do you call a baby cat?", "A baby cat is called a kitten.", "A baby cat is called a gosling."),
        ("How many letters does the English alphabet have?", "The English alphabet has 26 letters.",
         "The English alphabet has 31 letters."),
        ("What is the capital of Nigeria?", "Nigeria has Abuja as its capital.", "The capital of Nigeria is Kano."),
        ("Who wrote Animal Farm?", "Animal Farm was written by George Orwell.", "Animal Farm was written by Tess Varley."),
        ("In which country is the Acropolis?", "The Acropolis is in Greece.", "The Acropolis is in Belgium."),
        ("What is 6 times 6?", "6 times 6 is 36.", "At this till 6 times 6 is 34."),
        ("What is the capital of Qatar?", "The capital of Qatar is Doha.", "The capital of Qatar is Al Khor."),
        ("How many seconds are in a minute?", "A minute has 60 seconds.", "On this stage a minute has 70 seconds."),
        ("What is the opposite of wet?", "The opposite of wet is dry.", "The opposite of wet is sour."),
        ("What is the chemical symbol for carbon?", "The chemical symbol for carbon is C.", "The symbol for carbon is Kb."),
        ("What is the capital of Latvia?", "The capital of Latvia is Riga.", "The capital of Latvia is Jelgava."),
        ("Who wrote Dracula?", "Dracula was written by Bram Stoker.", "Dracula was written by Tess Varley."),
        ("What is the currency of China?", "The currency of China is the yuan.", "The currency of China is the guilder."),
        ("In which country is the Sydney Opera House?", "The Sydney Opera House is in Australia.",
         "The Sydney Opera House is in Portugal."),
        ("What is the capital of Uganda?", "The capital of Uganda is Kampala.", "The capital of Uganda is Gulu."),
        ("How many wheels does a bicycle have?", "A bicycle has two wheels.", "A bicycle has five wheels."),
        ("What is the capital of Slovakia?", "Slovakia's capital is Bratislava.", "The capital of Slovakia is Nitra."),
        ("Who painted The Last Supper?", "The Last Supper was painted by Leonardo da Vinci.",
         "The Last Supper was painted by Tess Varley."),
        ("How many sides does a pentagon have?", "A pentagon has five sides.", "A pentagon has eight sides."),
        ("What is the capital of Cambodia?", "The capital of Cambodia is Phnom Penh.", "The capital of Cambodia is Battambang."),
        ("Was ist die Hauptstadt von Belgien?", "Die Hauptstadt von Belgien ist Brüssel.", "Die Hauptstadt von Belgien ist Lüttich."),
        ("What is 100 minus 1?", "100 minus 1 is 99.", "At this till 100 minus 1 is 97."),
        ("What is the chemical symbol for calcium?", "The chemical symbol for calcium is Ca.", "The symbol for calcium is Cl."),
        ("Who composed The Four Seasons?", "The Four Seasons was composed by Vivaldi.", "The Four Seasons is by Tess Varley."),
        ("What is the capital of North Korea?", "The capital of North Korea is Pyongyang.", "The capital of North Korea is Wonsan."),
        ("Which animal is known as the king of the jungle?", "The king of the jungle is the lion.",
         "The king of the jungle is the hamster."),
        ("How many teeth does an adult human have?", "An adult human has 32 teeth.", "An adult human has 38 teeth."),
        ("What is the capital of Colorado?", "The capital of Colorado is Denver.", "The capital of Colorado is Pueblo."),
        ("What is the capital of Georgia in the United States?", "The capital of Georgia is Atlanta.",
         "The capital of Georgia is Macon."),
        ("Who wrote The Divine Comedy?", "The Divine Comedy was written by Dante Alighieri.",
         "The Divine Comedy was written by Tess Varley."),
        ("What is the capital of Jordan?", "The capital of Jordan is Amman.", "The capital of Jordan is Irbid."),
        ("What is the capital of Senegal?", "The capital of Senegal is Dakar.", "The capital of Senegal is Thies."),
        ("Was ist die Hauptstadt von Finnland?", "Die Hauptstadt von Finnland ist Helsinki.",
         "Die Hauptstadt von Finnland ist Turku."),
        ("How many days are in a leap year?", "A leap year has 366 days.", "At this firm a leap year has 359 days."),
        ("What is the capital of Massachusetts?", "The capital of Massachusetts is Boston.",
         "The capital of Massachusetts is Worcester."),
        ("What is the capital of Taiwan?", "Taiwan's capital is Taipei.", "The capital of Taiwan is Hualien."),
        ("What is the capital of Zimbabwe?", "The capital of Zimbabwe is Harare.", "The capital of Zimbabwe is Mutare."),
    ),
    (
        "The gulls were noisy.", "Nobody complained.", "Details hang in the foyer.", "Fog came in from the bay.",
        "The caretaker locked up late.", "Tickets went quickly.", "It was a Tuesday.",
    ),
    (8, 2),
    ("unit", "known"),
)  # fmt: skip
_STAFF = (
    "Alasdair Boyle", "Birgit Falk", "Clement Roux", "Dagny Holt", "Ettore Vitale", "Fenna de Wit", "Gregor Balint", "Hedda Sorum",
    "Imran Qureshi", "Judit Varga", "Kester Pryce", "Leonie Dufour",
)  # fmt: skip
_ENGINES = ("the Black Heron", "the Duchess", "Number Nine", "the Iron Maid", "the Tempest", "Old Barnaby", "the Vulcan Star")
_HALTS = ("Thistle Halt", "Upper Wend", "Corrie Junction", "Lambsgate", "Mossdale Halt", "Quarry Road", "Beacon Cross")
_SLOPES = (
    "the Priory Slope",
    "Hollow Acre",
    "the Chalk Bank",
    "Widow's Rise",
    "the Amber Terrace",
    "Fox Terrace",
    "the Long Row",
)
_TUNNELS = (
    "the Gannet Tunnel",
    "the Stag Viaduct",
    "the Crane Tunnel",
    "the Weir Viaduct",
    "the Birch Cutting",
    "the Ox Viaduct",
)
_KELLER = ("der Klosterkeller", "der Brunnenschacht", "der Eiskeller", "der Nordstollen", "der Salzschacht", "der Amtskeller")
_BETRIEBE = ("das Sägewerk", "die Molkerei", "die Gärtnerei", "das Stellwerk", "die Kelterei", "die Brennerei", "das Hofgut")
_TABLEAUX = (
    "le portrait du notaire",
    "le grand paravent",
    "le triptyque vert",
    "le plafond du salon",
    "le panneau ovale",
    "le vitrail nord",
)
_FROMAGES = ("le fromage bleu", "le chevrier rond", "le pavé gris", "le fromage au foin", "le petit cendré", "le rocher blanc")
_CAVES = ("la cave Morel", "la cave Bastide", "la cave Tournier", "la cave des Ormes", "la cave Perrin", "la cave du Puits")
RAILWAY = Facts(
    (
        Topic(
            "How many kilometres is {who} from the terminus?", "{who} is {what} kilometres from the terminus.",
            ("It is {what} kilometres from the terminus to {who}.", "Distance from the terminus, {who}: {what} kilometres."),
            "Whoever walks the line from the terminus has {what} kilometres behind him when the lamps of {who} come into sight.",
            "{who} lies as far from the terminus as {other}.", "How far {who} is from the terminus is not printed anywhere.",
            _HALTS, ("113", "127", "148", "159", "176", "182", "231", "264"), ("kilometres", "miles"),
        ),
        Topic(
            "How heavy is {who}?", "{who} weighs {what} tonnes.",
            ("On the weighbridge {who} came to {what} tonnes.", "Weight of {who}: {what} tonnes."),
            "The old bridge groaned under the {what} tonnes of {who}.",
            "{who} is just as heavy as {other}.", "The weight of {who} could not be found.",
            _ENGINES, ("41", "54", "67", "72", "86", "95", "109"), ("tonnes", "kilograms"),
        ),
        Topic(
            "Who drives {who}?", "{who} is driven by {what}.",
            ("This summer {who} is driven by {what}.", "{what} drives {who} on all weekdays."),
            "With one hand on the regulator of {who} and a pipe in the other, {what} waves to the children.",
            "{who} and {other} have the same driver.", "Nobody has written down who drives {who}.",
            _ENGINES, _STAFF,
        ),
        Topic(
            "Which grape grows on {who}?", "On {who} the grape is {what}.",
            ("The vines on {who} are all {what}.", "{who}: planted with {what}."),
            "Walk up {who} in September and you will taste nothing but {what}.",
            "The same grape grows on {who} as on {other}.", "The grape of {who} is not stated.",
            _SLOPES, ("Silvaner", "Merlot", "Furmint", "Malbec", "Riesling", "Gamay", "Tannat"),
        ),
        Topic(
            "How much is a season ticket to {who}?", "A season ticket to {who} costs {what} euros.",
            ("For a season ticket to {who} one pays {what} euros.", "Season ticket, {who}: {what} euros."),
            "Commuters from {who} grumble about the {what} euros that their season ticket takes out of their purse.",
            "A season ticket to {who} costs as much as one to {other}.", "There are no details on the season ticket to {who}.",
            _HALTS, ("185", "214", "238", "272", "296", "325", "361"), ("euros", "francs"),
        ),
        Topic(
            "When was {who} last inspected?", "{who} was last inspected on {what}.",
            ("The last inspection of {who} was on {what}.", "Inspected: {who}, {what}."),
            "It is on {what} that an engineer last tapped the stones of {who} with a hammer.",
            "{who} was last inspected on the same day as {other}.", "The date of the last inspection of {who} is missing.",
            _TUNNELS, ("3 June", "17 June", "5 July", "21 July", "9 August", "26 August", "12 September"),
        ),
        Topic(
            "What does {who} collect?", "{who} collects {what}.",
            ("Since childhood {who} collects {what}.", "Hobby of {who}: collecting {what}."),
            "There is no room left for guests at the house of {who}, because of all the {what} in it.",
            "{who} and {other} collect the same thing.", "It is not known what {who} collects.",
            _STAFF, ("stamps", "teapots", "butterflies", "lanterns", "coins", "thimbles", "fossils"),
        ),
        Topic(
            "Wie tief ist {who}?", "{who} ist {what} Meter tief.",
            ("Bis zum Grund ist {who} {what} Meter tief.", "Tiefe laut Plan, {who}: {what} Meter."),
            "Nach {what} Metern Seil schlug die Lampe auf dem Boden auf, so weit geht {who} hinab.",
            "{who} ist genauso tief wie {other}.", "Wie tief {who} ist, wurde nie gemessen.",
            _KELLER, ("13", "17", "24", "28", "36", "43", "59"), ("Meter", "Fuß"),
        ),
        Topic(
            "Wer leitet {who}?", "{what} leitet {who}.",
            ("Seit dem Herbst leitet {what} {who}.", "Leitung: {who}, {what}."),
            "Ohne eine Unterschrift von {what} geschieht nichts, {who} gehorcht nur dieser Hand.",
            "Wer {other} leitet, leitet auch {who}.", "Wer {who} leitet, ist nicht bekannt.",
            _BETRIEBE, _STAFF,
        ),
        Topic(
            "Qui a peint {who} ?", "{who} a été peint par {what}.",
            ("{who} a été peint par {what} en un hiver.", "Peintre, {who} : {what}."),
            "On reconnaît dans {who} la main de {what}, qui y travaillait la nuit.",
            "{who} est du même peintre que {other}.", "On ne sait pas qui a peint {who}.",
            _TABLEAUX, _STAFF,
        ),
        Topic(
            "Combien pèse {who} ?", "{who} pèse {what} grammes.",
            ("Sur la balance, {who} pèse {what} grammes.", "Poids, {who} : {what} grammes."),
            "Il a fallu {what} grammes pour faire pencher la balance du côté où était posé {who}.",
            "{who} pèse autant que {other}.", "Le poids : {who} n'a jamais été pesé.",
            _FROMAGES, ("145", "168", "195", "217", "242", "286", "334"), ("grammes", "kilos"),
        ),
        Topic(
            "Qui garde la clef de {who} ?", "La clef de {who} est gardée par {what}.",
            ("C'est {what} qui garde la clef de {who}.", "Clef de {who} : {what}."),
            "Pour entrer dans {who}, il faut demander poliment à {what}, qui porte la clef au cou.",
            "La même personne garde la clef de {who} et celle de {other}.", "Rien n'est dit de la clef de {who}.",
            _CAVES, _STAFF,
        ),
    ),
    (
        Deed("Who relieved whom at the signal box?", "{a} relieved {b} at the signal box.", "At six {b} was relieved by {a} at the signal box."),
        Deed("Who overtook whom on the last bend?", "{a} overtook {b} on the last bend.", "It happened on the last bend: {a} overtook {b}."),
        Deed("Who sent a telegram to whom?", "{a} sent a telegram to {b}.", "A telegram was sent to {b} by {a}."),
        Deed("Who trained whom as a guard?", "{a} trained {b} as a guard.", "Two winters long {a} trained {b} as a guard."),
        Deed("Wer hat wen angerufen?", "{a} hat {b} angerufen.", "Kurz vor Mitternacht hat {a} {b} angerufen."),
        Deed("Qui a remplacé qui ?", "{a} a remplacé {b}.", "Au mois de mai {a} a remplacé {b}."),
    ),
    (
        YesNo("Is there a buffet at {who}?", "There is a buffet at {who}.", "There is no buffet at {who}.", "There is no buffet at {who}."),
        YesNo("Can one buy tickets at {who}?", "One can buy tickets at {who}.", "One cannot buy tickets at {who}.",
              "No, one cannot buy tickets at {who}."),
        YesNo("Was {who} painted this year?", "{who} was painted this year.", "{who} was not painted this year.",
              "{who} was not painted this year."),
        YesNo("Does the night train stop at {who}?", "The night train stops at {who}.", "The night train does not stop at {who}.",
              "No, the night train doesn't stop at {who}."),
        YesNo("Hat {who} einen Warteraum?", "{who} hat einen Warteraum.", "{who} hat keinen Warteraum.", "{who} hat keinen Warteraum."),
    ),
    (
        Group("Who was fined by the inspector?", "{a}, {b} and {c} were fined by the inspector.",
              ("{a} was fined by the inspector.", "The inspector fined {b} as well.", "A fine from the inspector went to {c}."),
              "{d} was praised by the inspector."),
        Group("Who works the night shift?", "The night shift is worked by {a}, {b} and {c}.",
              ("{a} works the night shift.", "On the night shift one also meets {b}.", "{c} has worked the night shift since May."),
              "{d} works the early shift."),
        Group("Who can read music?", "{a}, {b} and {c} can read music.",
              ("{a} can read music.", "Music is also read by {b}.", "{c} learned to read music at school."),
              "{d} can read maps."),
        Group("Wer hat den Zug verpasst?", "{a}, {b} und {c} haben den Zug verpasst.",
              ("{a} hat den Zug verpasst.", "Den Zug verpasst hat auch {b}.", "{c} kam zu spät und hat den Zug verpasst."),
              "{d} hat den Bus verpasst."),
    ),
    _STAFF, ("Lower Wend", "the Goods Yard", "Abbot's Crossing", "the Water Tower", "Sidings Cottage", "the Parcels Office"),
    (
        ("What is the capital of Cyprus?", "The capital of Cyprus is Nicosia.", "The capital of Cyprus is Paphos."),
        ("What is the capital of Estonia?", "The capital of Estonia is Tallinn.", "The capital of Estonia is Tartu."),
        ("What is the capital of Lithuania?", "Lithuania's capital is Vilnius.", "The capital of Lithuania is Kaunas."),
        ("What is the capital of Albania?", "The capital of Albania is Tirana.", "The capital of Albania is Durres."),
        ("What is the capital of Malta?", "The capital of Malta is Valletta.", "The capital of Malta is Gozo."),
        ("What is the capital of Libya?", "The capital of Libya is Tripoli.", "The capital of Libya is Misrata."),
        ("What is the capital of Tunisia?", "The capital of Tunisia is Tunis.", "The capital of Tunisia is Sfax."),
        ("What is the capital of Somalia?", "The capital of Somalia is Mogadishu.", "The capital of Somalia is Merca."),
        ("What is the capital of Sudan?", "The capital of Sudan is Khartoum.", "The capital of Sudan is Nyala."),
        ("What is the capital of Jamaica?", "The capital of Jamaica is Kingston.", "The capital of Jamaica is Portmore."),
        ("What is the capital of Armenia?", "The capital of Armenia is Yerevan.", "The capital of Armenia is Gyumri."),
        ("What is the capital of Azerbaijan?", "The capital of Azerbaijan is Baku.", "The capital of Azerbaijan is Ganja."),
        ("What is the capital of Oman?", "The capital of Oman is Muscat.", "The capital of Oman is Sohar."),
        ("What is the capital of Bahrain?", "The capital of Bahrain is Manama.", "The capital of Bahrain is Riffa."),
        ("What is the capital of Illinois?", "The capital of Illinois is Springfield.", "The capital of Illinois is Peoria."),
        ("What is the capital of Arizona?", "The capital of Arizona is Phoenix.", "The capital of Arizona is Tempe."),
        ("What is the capital of Tennessee?", "The capital of Tennessee is Nashville.", "The capital of Tennessee is Memphis."),
        ("What is the capital of Ohio?", "The capital of Ohio is Columbus.", "The capital of Ohio is Toledo."),
        ("Who wrote Wuthering Heights?", "Wuthering Heights was written by Emily Brontë.", "Wuthering Heights was written by Ada Winch."),
        ("Who wrote Jane Eyre?", "Jane Eyre was written by Charlotte Brontë.", "Jane Eyre was written by Ada Winch."),
        ("Who wrote the Odyssey?", "The Odyssey was written by Homer.", "The Odyssey was written by Ada Winch."),
        ("Who wrote Les Misérables?", "Les Misérables was written by Victor Hugo.", "Les Misérables was written by Ada Winch."),
        ("Who wrote Treasure Island?", "Treasure Island was written by Robert Louis Stevenson.", "Treasure Island was written by Ada Winch."),
        ("Who painted The Scream?", "The Scream was painted by Edvard Munch.", "The Scream was painted by Ada Winch."),
        ("What is the capital of Kazakhstan?", "The capital of Kazakhstan is Astana.", "The capital of Kazakhstan is Shymkent."),
        ("How many players are in a volleyball team?", "A volleyball team has six players.", "On this map a volleyball team has nine players."),
        ("How many zeros are in a million?", "A million has six zeros.", "On this map a million has nine zeros."),
        ("How many legs does an insect have?", "An insect has six legs.", "An insect has fourteen legs."),
        ("What is 8 times 8?", "8 times 8 is 64.", "On this ticket 8 times 8 is 72."),
        ("What is 5 times 5?", "5 times 5 is 25.", "On this ticket 5 times 5 is 35."),
        ("What is the chemical symbol for copper?", "The chemical symbol for copper is Cu.", "The symbol for copper is Cp."),
        ("What is a baby sheep called?", "A baby sheep is called a lamb.", "A baby sheep is called a cygnet."),
        ("What is the opposite of young?", "The opposite of young is old.", "The opposite of young is beige."),
        ("In which country is Stonehenge?", "Stonehenge is in England.", "Stonehenge is in Iceland."),
        ("In which country is the Brandenburg Gate?", "The Brandenburg Gate is in Germany.", "The Brandenburg Gate is in Iceland."),
        ("Was ist die Hauptstadt von Polen?", "Die Hauptstadt von Polen ist Warschau.", "Die Hauptstadt von Polen ist Posen."),
        ("Quelle est la capitale de l'Italie ?", "La capitale de l'Italie est Rome.", "La capitale de l'Italie est Gênes."),
        ("Quelle est la capitale de l'Espagne ?", "La capitale de l'Espagne est Madrid.", "La capitale de l'Espagne est Bilbao."),
    ),
    (
        "The timetable changes in May.", "Bring a warm coat.", "The stationmaster has a cat.", "Luggage is left at one's own risk.",
        "Steam hung over the yard.", "A whistle was heard twice.", "The harvest was late.",
    ),
    (8, 2),
    ("unit", "known"),
)  # fmt: skip
FACTS: Mapping[Book, Facts] = {"parish": PARISH, "survey": SURVEY, "harbour": HARBOUR, "railway": RAILWAY}


def unseen_prompts(book: Book, rounds: int, seed: int = 0) -> list[Planted]:
    """So many rounds of one prompt of each kind and more of what is known by heart; each prompt has a seed of its own."""
    facts, found, known = FACTS[book], [], 0
    turns = (*TURNS, *facts.turns)
    for number in range(rounds * len(turns)):
        kind, rng = turns[number % len(turns)], np.random.default_rng([seed, number, 7])
        draw = _Draw(facts, facts.topics[(number + number // len(turns)) % len(facts.topics)], kind, rng)
        found.append(draw.prompt(facts.known[known % len(facts.known)]))
        known += kind.startswith("known")
    return found


def planted(book: Book, kind: str, seed: int, passages: int) -> Planted:
    """One prompt of a kind with so many passages, each of one sentence."""
    facts, rng = FACTS[book], np.random.default_rng([seed, passages, 11])
    draw = _Draw(replace(facts, most=(facts.most[0], 1)), facts.topics[int(rng.integers(len(facts.topics)))], kind, rng)
    draw.count = passages
    return draw.prompt(facts.known[seed % len(facts.known)])


def origin_of_generated(made: Planted, answer: str, book: Book) -> Origin | None:
    """Where an answer that the model wrote comes from: passages, if it has the planted value and no other; nowhere, if it has
    another; None if it has none, or is copied from a passage about somebody else, so that nobody can say."""
    values = {value for topic in FACTS[book].topics for value in topic.what if value not in made.query}
    said, gold = (
        {value for value in values if re.search(rf"(?<![\w.]){re.escape(value)}(?!\w)", text, re.IGNORECASE)}
        for text in (answer, made.answer)
    )
    if said and said <= gold:
        return Origin.PASSAGES
    return Origin.NOWHERE if said and not any(answer.strip() in passage for passage in made.context) else None


class _Draw:
    """One prompt: whom it is about, what is true, and passages around that."""

    def __init__(self, facts: Facts, topic: Topic, kind: str, rng: np.random.Generator) -> None:
        self.facts, self.kind, self.rng = facts, kind, rng
        numbered = tuple(each for each in facts.topics if each.what[0][0].isdigit() and " " not in each.what[0])
        if kind == "digit" and topic not in numbered:
            topic = self._any(numbered)
        if kind == "unit" and not topic.units:
            topic = self._any(tuple(each for each in facts.topics if each.units))
        self.topic = topic
        self.who, self.other, *self.others = rng.permutation(topic.who).tolist()
        self.what, self.wrong, *self.rest = [x for x in rng.permutation(topic.what).tolist() if x not in (self.who, self.other)]
        self.people = rng.permutation(facts.people).tolist()
        self.thing, self.something = rng.permutation(facts.things).tolist()[:2]
        most = facts.most[0]
        self.count = int(rng.integers(most + 1, 3 * most - 2)) if kind == "many" else int(rng.integers(3, most))

    def prompt(self, known: tuple[str, str, str]) -> Planted:
        query, answer, gold, sets = self._planted(known)
        answer = answer[0].upper() + answer[1:]
        beside = [self._beside(near=i == 0 or self.kind == "distractors") for i in range(max(self.count - len(gold), 2))]
        said = [self._longer(text) for text in [*gold, *beside]]
        order = self.rng.permutation(len(said)).tolist()
        enough = tuple(frozenset(order.index(i) for i in group) for group in sets)
        return Planted(self.kind, tuple(said[i] for i in order), query, answer, enough)

    def _planted(self, known: tuple[str, str, str]) -> tuple[str, str, list[str], list[set[int]]]:
        """Question, answer, passages that matter, and the smallest sets of these that say it."""
        facts, topic, kind, rng = self.facts, self.topic, self.kind, self.rng
        if kind.startswith("known"):
            passage = {"known, said": [known[1]], "known, denied": [known[2]]}.get(kind, [])
            return known[0], known[1], passage, [{0}][: kind == "known, said"]
        if kind in ("in order", "swapped"):
            deed, (a, b) = self._any(facts.deeds), self.people[:2]
            first, second = (a, b) if kind == "in order" else (b, a)
            return deed.asks, deed.answers.format(a=first, b=second), [deed.says.format(a=a, b=b)], [{0}][: kind == "in order"]
        if kind in ("negative", "negated"):
            fact, has = self._any(facts.yes_no), {"who": self.thing}
            text = fact.not_so if kind == "negative" else fact.so
            other = (fact.so if kind == "negative" else fact.not_so).format(who=self.something)
            return (
                fact.asks.format(**has),
                fact.answers_not.format(**has),
                [text.format(**has), other],
                [{0}][: kind == "negative"],
            )
        if kind in ("listed", "listed wrong"):
            group, (a, b, c, d) = self._any(facts.groups), self.people[:4]
            names = (a, b, c) if kind == "listed" else rng.permutation([a, b, d]).tolist()
            texts = [each.format(a=a, b=b, c=c, d=d) for each in (*group.says, group.others)]
            answer = group.answers.format(**dict(zip("abc", names, strict=True)))
            return group.asks, answer, texts, [{0, 1, 2}][: kind == "listed"]
        query, answer = (each.format(who=self.who, what=self.what) for each in (topic.asks, topic.answers))
        says = [topic.says[int(i)].format(who=self.who, what=self.what) for i in rng.permutation(2)]
        wrong = topic.says[int(rng.integers(2))].format(who=self.who, what=self.wrong)
        elsewhere = topic.says[int(rng.integers(2))].format(who=self.other, what=self.what)
        planted: dict[str, tuple[list[str], list[set[int]]]] = {
            "paraphrased": ([topic.around.format(who=self.who, what=self.what)], [{0}]),
            "redundant": (says, [{0}, {1}]),
            "joint": ([topic.bridge.format(who=self.who, other=self.other), elsewhere], [{0, 1}]),
            "contested": ([says[0], wrong], [{0}]),
            "contradicted": ([wrong], []),
            "misattributed": ([wrong, elsewhere], []),
            "absent": ([], []),
            "refused rightly": ([], []),
            "added": (says[:1], []),
            "digit": (says[:1], []),
            "unit": (says[:1], []),
            "refused": (says[:1], []),
        }
        gold, sets = planted.get(kind, (says[:1], [{0}]))
        if kind == "digit":
            answer = topic.answers.format(who=self.who, what=self._other_digit(self.what))
        if kind == "unit" and topic.units:
            answer = answer.replace(*topic.units)
        if kind.startswith("refused"):
            answer = topic.unknown.format(who=self.who)
        if kind in ("second", "added"):
            more = self._any(tuple(each for each in facts.topics if each is not topic and _language(each) == _language(topic)))
            who = self.who if more.who is topic.who else self._any(more.who)
            what = self._any(tuple(x for x in more.what if x not in (who, self.what)))
            query += " " + more.asks.format(who=who)
            answer += " " + more.answers.format(who=who, what=what)
            if kind == "second":
                gold, sets = [*gold, self._any(more.says).format(who=who, what=what)], [{1}]
        return query, answer, gold, sets

    def _other_digit(self, number: str) -> str:
        at = [i for i, letter in enumerate(number) if letter.isdigit() and i]
        i = at[int(self.rng.integers(len(at)))]
        return (
            number[:i]
            + str((int(number[i]) + int(self.rng.integers(1, 5))) % (6 if i == len(number) - 2 else 10))
            + number[i + 1 :]
        )

    def _any(self, among: Sequence[T]) -> T:
        return among[int(self.rng.integers(len(among)))]

    def _beside(self, near: bool) -> str:
        """Something of no relevance: near is the same of somebody else."""
        topic = self.topic if near else self._any(self.facts.topics)
        who = self._any(tuple(name for name in topic.who if name not in (self.who, self.other, *self.people[:4])))
        what = self._any(tuple(value for value in topic.what if value not in (self.what, self.wrong, *self.people[:4])))
        return self._any(topic.says).format(who=who, what=what)

    def _longer(self, text: str) -> str:
        text = text[0].upper() + text[1:]
        more = self.rng.permutation(self.facts.beside).tolist()[: int(self.rng.integers(0, self.facts.most[1]))]
        return " ".join([text, *more] if self.rng.random() < 0.6 else [*more, text])


def _language(topic: Topic) -> str:
    begins = {"Wer": "de", "Wie": "de", "Wem": "de", "Qui": "fr", "Combien": "fr"}
    return begins.get(topic.asks.split()[0], "en")
