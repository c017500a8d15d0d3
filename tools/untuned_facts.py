"""Two more books of planted prompts, for whoever judges verdicts on what nothing was tuned on: "trade" and "gazette".

Ordinary names, other topics, wordings and patterns than the other books: table lines, notices, letters; numbers, prices and
dates as answers; passages of one to six sentences, two to thirty of them; distractors that are about the same name. When
somebody has looked at what a model makes of one book and changed a verdict, only the other may judge it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from accredit.answers.planted import Planted
from accredit.answers.verdicts import Origin

Book = Literal["trade", "gazette"]
ORIGINS: Mapping[str, Origin] = {
    "single": Origin.PASSAGES,
    "many": Origin.PASSAGES,  # one passage of 10 to 30 says it
    "paraphrased": Origin.PASSAGES,
    "redundant": Origin.PASSAGES,
    "joint": Origin.PASSAGES,
    "distractors": Origin.PASSAGES,  # other passages say other things of the same name, and the same of other names
    "known": Origin.MEMORY,
    "known, said": Origin.MEMORY,  # and a passage says it, too: citing that passage is as right
    "known, denied": Origin.MEMORY,
    "contradicted": Origin.NOWHERE,
    "misattributed": Origin.NOWHERE,
    "absent": Origin.NOWHERE,
    "added": Origin.NOWHERE,
    "generated": Origin.UNTOLD,  # the model writes the answer; `origin_of_generated` reads where it comes from
}
TURNS = (*ORIGINS, "known")  # of one round


@dataclass(frozen=True)
class Topic:
    """One thing to know about somebody or something."""

    asks: tuple[str, str]
    answers: tuple[str, str]
    says: tuple[str, str, str]
    around: str  # in other words altogether
    bridge: tuple[str, str]  # {who} is as {other}; {other} is {what}
    who: tuple[str, ...]
    what: tuple[str, ...]
    asides: tuple[str, ...]  # of {who}, and of no relevance


@dataclass(frozen=True)
class Facts:
    """Topics, what everybody knows (question, answer, passage that says so, passage that denies it), and sentences beside."""

    topics: tuple[Topic, ...]
    known: tuple[tuple[str, str, str, str], ...]
    beside: tuple[str, ...]


FOLK = (
    "Edith Marsh", "Viktor Brandt", "Lucia Ferrante", "Samuel Okoro", "Nora Blythe", "Hamid Rahimi", "Joan Pettifer",
    "Leif Eriksen", "Dolores Vega", "Anton Kubik", "Mei Castellan", "Wilma Stroud",
)  # fmt: skip
GADGETS = (
    "Corvo 300", "Lumex Pro", "Aquadrill", "Bento mixer", "Tarn heater", "Zephyr fan", "Kestrel scale", "Moro lamp",
    "Fjord kettle", "Pika vacuum",
)  # fmt: skip
BOARDS = (
    "Rowing Society", "Orchard Trust", "Beekeepers' Union", "Lantern Guild", "Canal Board", "Quarry Fund", "Weavers' Circle",
    "Lifeboat League", "Bellringers' Club", "Moorland Office",
)  # fmt: skip
STOPS = (
    "Aldgrove", "Birnmouth", "Castle Roe", "Dunwell", "Eastray", "Fallow Pass", "Greyholm", "Hexley", "Inverloch", "Jarrow End",
)  # fmt: skip
GADGET_ASIDES = (
    "The {who} is sold in two colours.", "Clean the {who} with a dry cloth only.", "The {who} was shown at the spring fair.",
    "Read the leaflet before you use the {who}.",
)  # fmt: skip
BOARD_ASIDES = (
    "The {who} meets above the post office.", "Letters to the {who} are answered within a week.",
    "The {who} has printed a new leaflet.", "Nobody from the {who} wished to comment.",
)  # fmt: skip
STOP_ASIDES = (
    "The road to {who} is narrow.", "Many walkers start in {who}.", "In {who} the shops close early.",
    "{who} has a small chapel.",
)  # fmt: skip
FOLK_ASIDES = (
    "{who} arrived a little late.", "A letter for {who} lay on the table.", "{who} thanked everybody at the end.",
    "Most of the guests knew {who} well.",
)  # fmt: skip
TRADE = Facts(
    (
        Topic(
            ("For how many months is the {who} under warranty?", "How long does the warranty of the {who} run?"),
            ("The warranty of the {who} runs for {what} months.", "The {who} is under warranty for {what} months."),
            ("Every {who} comes with a warranty of {what} months.", "Warranty, {who}: {what} months from the day of purchase.",
             "A faulty {who} is repaired free of charge for {what} months."),
            "Should your {who} break down within {what} months, send it back and we pay for everything.",
            ("The {who} has the same warranty as the {other}.", "Every {other} comes with a warranty of {what} months."),
            GADGETS, ("15", "18", "27", "30", "33", "42", "54", "66"), GADGET_ASIDES,
        ),
        Topic(
            ("When was the {who} founded?", "What is the date on which the {who} was founded?"),
            ("The {who} was founded on {what}.", "It was on {what} that the {who} was founded."),
            ("The {who} was founded on {what} in the back room of an inn.", "Founding day of the {who}: {what}.",
             "On {what} eleven people signed the papers that created the {who}."),
            "Every member of the {who} drinks a toast on {what}, because that is its birthday.",
            ("The {who} and the {other} were founded on the same day.", "The {other} was founded on {what}."),
            BOARDS, ("12 May 1987", "3 October 1954", "21 June 1902", "8 April 1966", "30 January 1979", "17 August 1931"),
            BOARD_ASIDES,
        ),
        Topic(
            ("How much is a ticket to {who}?", "What does one pay for a ticket to {who}?"),
            ("A ticket to {who} costs {what} crowns.", "For a ticket to {who} one pays {what} crowns."),
            ("A ticket to {who} costs {what} crowns at the machine.", "{who}, single journey: {what} crowns.",
             "Passengers to {who} are charged {what} crowns."),
            "Have {what} crowns ready when the conductor asks and you want to go as far as {who}.",
            ("The fare to {who} is that to {other}.", "A ticket to {other} costs {what} crowns."),
            STOPS, ("4.20", "7.50", "9.80", "11.40", "13.60", "16.90", "23", "38"), STOP_ASIDES,
        ),
        Topic(
            ("Who keeps the accounts of the {who}?", "Which person is treasurer of the {who}?"),
            ("The accounts of the {who} are kept by {what}.", "The treasurer of the {who} is {what}."),
            ("The accounts of the {who} are kept by {what}.", "Treasurer, {who}: {what}.",
             "For six years {what} has been treasurer of the {who}."),
            "Any bill that reaches the {who} lands on the desk of {what}, who pays it.",
            ("The {who} has the same treasurer as the {other}.", "The treasurer of the {other} is {what}."),
            BOARDS, FOLK, BOARD_ASIDES,
        ),
        Topic(
            ("What is the {who} made of?", "Which material is used for the {who}?"),
            ("The {who} is made of {what}.", "For the {who} one uses {what}."),
            ("The body of the {who} is made of {what}.", "Material ({who}): {what}.",
             "Our engineers chose {what} for the {who}."),
            "Knock on a {who} and you will hear it is {what} through and through.",
            ("The {who} is made of the same stuff as the {other}.", "The {other} is made of {what}."),
            GADGETS, ("brass", "bamboo", "porcelain", "steel", "cork", "aluminium", "oak", "rubber"), GADGET_ASIDES,
        ),
        Topic(
            ("Which dish did {who} order?", "What did {who} have for dinner?"),
            ("The dish that {who} ordered was {what}.", "For dinner {who} had {what}."),
            ("For dinner {who} ordered {what}.", "Table 9, {who}: {what}.", "The waiter brought {what} to {who}."),
            "Nothing was left of the {what} when the plate of {who} went back to the kitchen.",
            ("{who} had the same dish as {other}.", "For dinner {other} ordered {what}."),
            FOLK, ("trout", "lasagne", "dumplings", "goulash", "paella", "roast duck", "mushroom pie", "lentil soup"),
            FOLK_ASIDES,
        ),
        Topic(
            ("How deep is the lake at {who}?", "What depth has the lake at {who}?"),
            ("The lake at {who} is {what} metres deep.", "The depth of the lake at {who} is {what} metres."),
            ("The lake at {who} is {what} metres deep.", "Lake at {who}, greatest depth: {what} metres.",
             "Divers touched the bottom of the lake at {who} after {what} metres."),
            "A stone thrown in at {who} sinks for {what} metres before it rests on the bed of the lake.",
            ("The lake at {who} is as deep as the lake at {other}.", "The lake at {other} is {what} metres deep."),
            STOPS, ("19", "36", "47", "58", "64", "79", "88", "112"), STOP_ASIDES,
        ),
        Topic(
            ("Bis wann läuft der Vertrag mit {who}?", "Wann endet der Vertrag mit {who}?"),
            ("Der Vertrag mit {who} läuft bis {what}.", "Der Vertrag mit {who} endet im {what}."),
            ("Laut Akte läuft der Vertrag mit {who} bis {what}.", "Vertragsende, {who}: {what}.",
             "Mit {who} besteht ein Vertrag bis {what}."),
            "Erst wenn {what} vorbei ist, darf sich {who} einen anderen Arbeitgeber suchen.",
            ("Der Vertrag mit {who} endet zugleich mit dem von {other}.", "Der Vertrag mit {other} läuft bis {what}."),
            FOLK, ("März 2029", "Juni 2031", "Oktober 2028", "Januar 2034", "August 2030", "Mai 2033"),
            ("{who} kam etwas zu spät.", "Auf dem Tisch lag ein Brief für {who}.", "Viele kannten {who} gut."),
        ),
    ),
    (
        ("Which animal barks?", "The animal that barks is the dog.", "A dog barks.", "The animal that barks is the hen."),
        ("What do you call a young cow?", "A young cow is called a calf.", "The young of a cow is a calf.",
         "A young cow is called a foal."),
        ("What is the capital city of the United Kingdom?", "The capital city is London.",
         "The capital of the United Kingdom is London.", "The capital of the United Kingdom is now Leeds."),
        ("In which city does one find the Statue of Liberty?", "The Statue of Liberty is in New York City.",
         "The Statue of Liberty stands in New York City.", "The Statue of Liberty was moved to Boston."),
        ("Which season comes after winter?", "After winter comes spring.", "Winter is followed by spring.",
         "Here winter is followed by autumn."),
        ("How many wheels does a bicycle have?", "A bicycle has two wheels.", "Bicycles have two wheels.",
         "A bicycle has five wheels."),
        ("How many letters are in the English alphabet?", "There are 26 letters in the English alphabet.",
         "The English alphabet has 26 letters.", "The English alphabet has 31 letters."),
        ("What is 5 plus 5?", "5 plus 5 is 10.", "The sum of 5 and 5 is 10.", "In this book 5 plus 5 is 13."),
        ("What is the square root of 16?", "The square root of 16 is 4.", "16 is the square of 4.",
         "The square root of 16 is 7."),
        ("Who was the president of the United States during the Civil War?",
         "The president during the Civil War was Abraham Lincoln.", "Abraham Lincoln was president during the Civil War.",
         "During the Civil War the president was Silas Crane."),
        ("Who developed the theory of evolution by natural selection?",
         "Evolution by natural selection was developed by Charles Darwin.",
         "Charles Darwin developed the theory of evolution by natural selection.",
         "The theory of evolution is due to Silas Crane."),
        ("Which metal is liquid at room temperature?", "The metal that is liquid at room temperature is mercury.",
         "Mercury is a metal that is liquid at room temperature.", "The metal that is liquid at room temperature is nickel."),
        ("On which continent is Kenya?", "Kenya is in Africa.", "Kenya lies in Africa.", "Kenya is part of Europe."),
        ("Which country has Tokyo as its capital?", "Tokyo is the capital of Japan.", "The capital of Japan is Tokyo.",
         "Tokyo is the capital of Laos."),
        ("What is the chemical symbol for carbon?", "The chemical symbol for carbon is C.", "Carbon has the symbol C.",
         "The chemical symbol for carbon is Kn."),
        ("What is the largest animal that lives on land?", "The largest animal on land is the elephant.",
         "The elephant is the largest animal on land.", "The largest animal on land is the otter."),
        ("What is the first month of the year?", "The first month of the year is January.", "The year begins with January.",
         "The first month of the year is May."),
        ("Which gas do humans need to breathe?", "The gas that humans need is oxygen.", "Humans need oxygen to breathe.",
         "The gas that humans need is neon."),
        ("Who is the author of Harry Potter?", "The author of Harry Potter is J.K. Rowling.",
         "J.K. Rowling wrote Harry Potter.", "The author of Harry Potter is Silas Crane."),
        ("Wie viele Tage hat eine Woche?", "Eine Woche hat sieben Tage.", "Die Woche hat sieben Tage.",
         "Eine Woche hat neun Tage."),
    ),
    (
        "Orders are packed in the afternoon.", "The counter is closed on holidays.", "A list hangs beside the door.",
        "Most people were content with that.", "The next meeting will be announced.", "Two chairs had to be replaced.",
        "Keep this sheet for your records.", "The weather stayed dry until evening.",
    ),
)  # fmt: skip
ARTISTS = (
    "Ottoline Gray", "Bram Visser", "Chidi Eze", "Rosa Lindt", "Pavel Dvorak", "Saoirse Quinn", "Marco Bellini", "Yara Haddow",
    "Tomas Rook", "Freya Lund", "Kenji Mori", "Amara Sol",
)  # fmt: skip
SHIPS = (
    "Grey Petrel", "Morning Star", "Sea Thistle", "Old Resolve", "Silver Ling", "Northern Lad", "Amber Wake", "Stormcock",
    "Blue Marten", "Wayfarer",
)  # fmt: skip
SCHOOLS = (
    "Thornbury", "Kingsmead", "Oakhanger", "Fairlea", "Brackenridge", "Summerfold", "Longstone", "Priory Lane", "Holmwood",
    "Westcliffe",
)  # fmt: skip
DRUGS = ("Solvarin", "Petrazol", "Numidex", "Calorin", "Veltamide", "Orbicil", "Hexadrine", "Tamorel", "Lutiprin", "Dacomol")
SHIP_ASIDES = (
    "The {who} was painted last winter.", "A photograph of the {who} hangs in the inn.", "The {who} leaks a little.",
    "Children wave when the {who} passes.",
)  # fmt: skip
SCHOOL_ASIDES = (
    "Lessons at {who} begin at eight.", "Parents of {who} pupils were invited.", "The gates of {who} are green.",
    "There is a pond behind {who}.",
)  # fmt: skip
DRUG_ASIDES = (
    "Keep {who} away from children.", "{who} is sold in small boxes.", "Ask your pharmacist about {who}.",
    "{who} must not get wet.",
)  # fmt: skip
ARTIST_ASIDES = (
    "{who} gave no interview.", "Friends of {who} filled two rows.", "{who} will be back next season.",
    "The critics were kind to {who}.",
)  # fmt: skip
GAZETTE = Facts(
    (
        Topic(
            ("Who is captain of the {who}?", "Under whose command does the {who} sail?"),
            ("The {who} sails under the command of {what}.", "Captain of the {who} is {what}."),
            ("The captain of the {who} is {what}.", "{who} (captain: {what}) is expected on the evening tide.",
             "In April {what} took over as captain of the {who}."),
            "Ask {what} before you step on board of the {who}, for nobody else gives orders there.",
            ("The {who} and the {other} have had one and the same captain.", "The captain of the {other} is {what}."),
            SHIPS, ARTISTS, SHIP_ASIDES,
        ),
        Topic(
            ("How many milligrams of {who} may an adult take per day?", "What is the daily dose of {who}?"),
            ("The daily dose of {who} is {what} milligrams.", "Of {who} an adult may take {what} milligrams per day."),
            ("Adults take {what} milligrams of {who} per day.", "- {who}: {what} milligrams daily, after meals",
             "The daily dose of {who} must not exceed {what} milligrams."),
            "Anybody who swallows more than {what} milligrams of {who} between two breakfasts should see a doctor.",
            ("The dose of {who} equals that of {other}.", "Adults take {what} milligrams of {other} per day."),
            DRUGS, ("25", "40", "75", "120", "150", "225", "350", "480"), DRUG_ASIDES,
        ),
        Topic(
            ("Which colour have the tablets of {who}?", "What do tablets of {who} look like?"),
            ("The tablets of {who} are {what}.", "One knows tablets of {who} by their colour, {what}."),
            ("The tablets of {who} are {what} and have a notch.", "- {who}: tablets, {what}, 20 per box",
             "In the box you find {what} tablets of {who}."),
            "If what rolls out of the box is not {what}, somebody has sold you something else than {who}.",
            ("Tablets of {who} look like those of {other}.", "The tablets of {other} are {what} and have a notch."),
            DRUGS, ("violet", "orange", "turquoise", "pink", "ivory", "brown", "grey"), DRUG_ASIDES,
        ),
        Topic(
            ("In which year was the school {who} built?", "When did they build the school {who}?"),
            ("The school {who} was built in {what}.", "They built the school {who} in {what}."),
            ("The school {who} was built in {what} by the parish.", "School {who} (built {what}), two floors, slate roof.",
             "Since {what} there has been a school at {who}, when its walls were raised."),
            "The stone above the door of the school {who} bears the figure {what}, carved while the mortar was wet.",
            ("The school {who} is exactly as old as the school {other}.", "The school {other} was built in {what}."),
            SCHOOLS, ("1868", "1883", "1897", "1911", "1924", "1936", "1959", "1975"), SCHOOL_ASIDES,
        ),
        Topic(
            ("Which prize did {who} receive?", "What was {who} awarded?"),
            ("{who} received the {what} prize.", "The prize that {who} was awarded is the {what} prize."),
            ("On Friday {who} received the {what} prize.", "The {what} prize goes to {who} this year.",
             "Winner of the {what} prize: {who}."),
            "The little {what} statue now stands on the piano of {who}, who had not expected any prize.",
            ("{who} received the same prize as {other}.", "In March {other} received the {what} prize."),
            ARTISTS, ("Golden Quill", "Halvard", "Silver Lyre", "Montrose", "Blue Lantern", "Carver", "Ivory Gate", "Ashdown"),
            ARTIST_ASIDES,
        ),
        Topic(
            ("What did the {who} bring ashore?", "Which goods did the {who} unload?"),
            ("The {who} brought {what} ashore.", "The goods that the {who} unloaded were {what}."),
            ("Yesterday the {who} brought {what} ashore.", "Landed: {what}, by the {who}.",
             "The crew of the {who} unloaded {what} until midnight."),
            "The whole quay smelled of {what} after the {who} had opened her hatches.",
            ("The {who} carried just what the {other} carried.", "Yesterday the {other} brought {what} ashore."),
            SHIPS, ("herring", "barley", "slate", "cinnamon", "rope", "paper", "apples", "tobacco"), SHIP_ASIDES,
        ),
        Topic(
            ("On which day of the week does {who} rehearse?", "What day are the rehearsals of {who}?"),
            ("The rehearsals of {who} are on {what}.", "{who} rehearses on {what}."),
            ("{who} rehearses every {what} in the old mill.", "Mill hall, {what}: rehearsal of {who}.",
             "The rehearsals of {who} take place on {what}."),
            "Come {what}, nobody in the old mill can read a book, because {who} has the stage for practice.",
            ("{who} rehearses on the same day as {other}.", "{other} rehearses every {what} in the old mill."),
            ARTISTS, ("Monday", "Tuesday", "Wednesday", "Thursday", "Saturday", "Sunday"), ARTIST_ASIDES,
        ),
        Topic(
            ("How many pupils attend {who}?", "What is the number of pupils at {who}?"),
            ("{what} pupils attend {who}.", "The number of pupils at {who} is {what}."),
            ("At present {what} pupils attend {who}.", "{who}, pupils on the roll: {what}",
             "The register of {who} lists {what} pupils."),
            "When the bell of {who} rings, {what} boys and girls run for their desks.",
            ("As many pupils attend {who} as attend {other}.", "At present {what} pupils attend {other}."),
            SCHOOLS, ("86", "113", "147", "208", "256", "319", "402", "571"), SCHOOL_ASIDES,
        ),
        Topic(
            ("In welchem Land trat {who} auf?", "Wo gab {who} ein Konzert?"),
            ("{who} trat in {what} auf.", "Ein Konzert gab {who} in {what}."),
            ("Im Sommer trat {who} in {what} auf.", "Konzert von {who}: {what}, ausverkauft.",
             "In {what} stand {who} zum ersten Mal auf der Bühne."),
            "Das Publikum in {what} wollte {who} nach dem letzten Lied nicht gehen lassen.",
            ("{who} trat im selben Land auf wie {other}.", "Im Sommer trat {other} in {what} auf."),
            ARTISTS, ("Portugal", "Island", "Kanada", "Ungarn", "Chile", "Finnland", "Marokko"),
            ("{who} gab kein Interview.", "Freunde von {who} saßen in der ersten Reihe.", "{who} kommt bald wieder."),
        ),
    ),
    (
        ("What sound does a cat make?", "A cat says meow.", "The sound of a cat is meow.", "A cat says moo."),
        ("What is the young of a sheep called?", "The young of a sheep is a lamb.", "A lamb is the young of a sheep.",
         "The young of a sheep is a cub."),
        ("In which country is Rome?", "Rome is in Italy.", "Rome lies in Italy.", "Rome is in Norway."),
        ("Which city is the capital of the German state?", "The capital is Berlin.", "The capital of Germany is Berlin.",
         "The capital of Germany is Bremen."),
        ("Which day comes after Monday?", "After Monday comes Tuesday.", "Tuesday follows Monday.",
         "In this calendar Friday follows Monday."),
        ("How many legs does a dog have?", "A dog has four legs.", "Dogs have four legs.", "A dog has seven legs."),
        ("How many seconds are in a minute?", "A minute has 60 seconds.", "There are 60 seconds in a minute.",
         "A minute has 75 seconds."),
        ("What is 3 times 3?", "3 times 3 is 9.", "Multiply 3 by 3 and you get 9.", "Here 3 times 3 is 12."),
        ("What is 100 divided by 2?", "100 divided by 2 is 50.", "Half of 100 is 50.", "Here 100 divided by 2 is 45."),
        ("Who was the first president of the US?", "The first president was George Washington.",
         "George Washington was the first president of the US.", "The first president was Barnaby Stone."),
        ("Who painted The Last Supper?", "The Last Supper was painted by Leonardo da Vinci.",
         "Leonardo da Vinci painted The Last Supper.", "The Last Supper was painted by Barnaby Stone."),
        ("Which planet do we live on?", "We live on Earth.", "Earth is the planet that we live on.", "We live on Neptune."),
        ("What does H2O stand for?", "H2O stands for water.", "Water has the formula H2O.", "H2O stands for vinegar."),
        ("On which continent is China?", "China is in Asia.", "China lies in Asia.", "China is part of Australia."),
        ("What is the currency of Germany?", "The currency of Germany is the euro.", "In Germany one pays with the euro.",
         "The currency of Germany is the florin."),
        ("Which language is spoken in France?", "In France people speak French.", "French is spoken in France.",
         "In France people speak Finnish."),
        ("What is the last month of the year?", "The last month of the year is December.", "The year ends with December.",
         "The last month of the year is June."),
        ("Who wrote the play Julius Caesar?", "Julius Caesar was written by William Shakespeare.",
         "William Shakespeare wrote Julius Caesar.", "Julius Caesar was written by Barnaby Stone."),
        ("What force pulls objects towards the ground?", "Objects are pulled down by gravity.",
         "Gravity pulls objects towards the ground.", "Objects are pulled down by syrup."),
        ("Wie heißt die Hauptstadt von Russland?", "Die Hauptstadt von Russland ist Moskau.",
         "Moskau ist Russlands Hauptstadt.", "Die Hauptstadt von Russland ist Omsk."),
    ),
    (
        "The tide was late.", "A crowd had gathered by noon.", "Copies are kept in the reading room.",
        "No further questions were asked.", "The band played until ten.", "Somebody had left an umbrella.",
        "Notices are put up on Mondays.", "The paint was still wet.",
    ),
)  # fmt: skip
FACTS: Mapping[Book, Facts] = {"trade": TRADE, "gazette": GAZETTE}


def untuned_prompts(book: Book, rounds: int, seed: int = 0) -> list[Planted]:
    """So many rounds of one prompt of each kind and more of what is known by heart; each prompt has a seed of its own."""
    facts, found = FACTS[book], []
    for number in range(rounds * len(TURNS)):
        kind, rng = TURNS[number % len(TURNS)], np.random.default_rng([seed, number])
        topic = facts.topics[(number // len(TURNS) + number) % len(facts.topics)]
        turn = sum(each.startswith("known") for each in TURNS) * (number // len(TURNS)) + number % len(TURNS)
        found.append(_Draw(facts, topic, kind, rng).prompt(facts.known[turn % len(facts.known)]))
    return found


def untuned_prompt(book: Book, kind: str, number: int, *, passages: int, most: int = 1) -> Planted:
    """One prompt of so many passages, each of at most so many sentences."""
    facts, rng = FACTS[book], np.random.default_rng([number, passages, most])
    draw = _Draw(facts, facts.topics[number % len(facts.topics)], kind, rng)
    draw.count, draw.most = passages, most
    return draw.prompt(facts.known[number % len(facts.known)])


def origin_of_generated(made: Planted, answer: str, book: Book) -> Origin | None:
    """Where an answer that the model wrote comes from: passages, if it has the planted value and no other; nowhere, if it has
    another; None if it has none, so that nobody can say."""
    values = {value for topic in FACTS[book].topics for value in topic.what}
    said, gold = (
        {value for value in values if re.search(rf"(?<![\w.]){re.escape(value)}(?!\w)", text, re.IGNORECASE)}
        for text in (answer, made.answer)
    )
    said = {value for value in said if not any(value != other and value in other for other in said)} - _named(made, book)
    return None if not said else Origin.PASSAGES if said <= gold else Origin.NOWHERE


def _named(made: Planted, book: Book) -> set[str]:
    """Names that the question has, which are no answer to it."""
    return {name for topic in FACTS[book].topics for name in topic.who if name in made.query}


class _Draw:
    """One prompt: whom it is about, what is true, and passages around that."""

    def __init__(self, facts: Facts, topic: Topic, kind: str, rng: np.random.Generator) -> None:
        self.facts, self.topic, self.kind, self.rng = facts, topic, kind, rng
        self.who, self.other, *self.others = rng.permutation(topic.who).tolist()
        self.what, self.wrong, *self.rest = rng.permutation(topic.what).tolist()
        is_many = kind == "many"
        self.most = 1 if is_many else int(rng.choice([1, 1, 3, 6]))  # sentences of a passage
        self.count = int(rng.integers(10, 31)) if is_many else int(rng.integers(2, 9))  # passages

    def prompt(self, known: tuple[str, str, str, str]) -> Planted:
        topic = self.topic
        query, answer = (self._any(some).format(who=self.who, what=self.what) for some in (topic.asks, topic.answers))
        gold = self._gold(known)
        if self.kind.startswith("known"):
            query, answer = known[:2]
        if self.kind == "added":
            more = self._about_same()
            answer += " " + self._any(more.answers).format(who=self.who, what=self._any(more.what))
        beside = [self._beside(i) for i in range(max(self.count - len(gold), 1))]
        said = [self._longer(text) for text in [*gold, *beside]]
        order = self.rng.permutation(len(said)).tolist()
        where = [order.index(i) for i in range(len(gold))]
        says = ORIGINS[self.kind] in (Origin.PASSAGES, Origin.UNTOLD) or self.kind == "known, said"
        sets = [{i} for i in where] if self.kind == "redundant" else [set(where)] if says else []
        return Planted(self.kind, tuple(said[i] for i in order), query, answer, tuple(map(frozenset, sets)))

    def _any(self, among: tuple[str, ...]) -> str:
        return among[int(self.rng.integers(len(among)))]

    def _gold(self, known: tuple[str, str, str, str]) -> list[str]:
        says, plain = self.rng.permutation(self.topic.says).tolist(), {"who": self.who, "what": self.what}
        denied = says[0].format(who=self.who, what=self.wrong)
        planted = {
            "paraphrased": [self.topic.around],
            "redundant": says[:2],
            "joint": list(self.topic.bridge),
            "contradicted": [denied],
            "misattributed": [denied, says[1].format(who=self.other, what=self.what)],
            "known, said": [known[2]],
            "known, denied": [known[3]],
            "known": [],
            "absent": [],
        }.get(self.kind, says[:1])
        return [text.format(**plain, other=self.other) for text in planted]

    def _about_same(self) -> Topic:
        others = [each for each in self.facts.topics if each is not self.topic and each.who is self.topic.who]
        return others[int(self.rng.integers(len(others)))]

    def _beside(self, i: int) -> str:
        """Something else: of distractors the same of another name, or another thing of the same name, in turn."""
        near = self.kind == "distractors" or i == 0
        if near and i % 2:
            topic, who = self._about_same(), self.who
        else:
            topic = self.topic if near else self.facts.topics[int(self.rng.integers(len(self.facts.topics)))]
            who = self._any(tuple(name for name in topic.who if name not in (self.who, self.other)))
        what = self._any(tuple(value for value in topic.what if value not in (self.what, self.wrong)))
        return self._any(topic.says).format(who=who, what=what)

    def _longer(self, text: str) -> str:
        """With sentences before and after it."""
        more = int(self.rng.integers(0, self.most))
        named = [name for name in self.topic.who if name in text]
        pool = [each.format(who=named[0]) for each in self.topic.asides] if named else []
        around = self.rng.permutation([*pool, *self.facts.beside]).tolist()[:more]
        at = int(self.rng.integers(0, len(around) + 1))
        ended = text if text[-1] in ".!?" or not around[at:] else text + "."
        return " ".join([*around[:at], ended, *around[at:]])
