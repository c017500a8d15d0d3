# ruff: noqa: E501 (facts, one to a line)
"""Planted prompts whose passages turn on a small word: out of date, replaced, denied, doubted, only reported, compared, or half true.

Two books of single cases: "almanac", which the rule of verdicts was changed with, and "gazette", written and its key checked before
anything of either was read, to test that change. Of each kind some sentences are said by their passage and some are not, so that
saying nothing is no way to be right. Names are invented. Whoever changes the rule after reading "gazette" writes another book.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from accredit.answers.planted import Planted

Book = Literal["almanac", "gazette"]
KINDS = {
    "outdated": "what was so, or what is so now",
    "replaced": "two passages, of which the later one counts",
    "denied": "said with a word that denies it, or of what is so instead",
    "doubted": "said as possible, planned or all but done",
    "reported": "said by somebody, rightly or not",
    "counted": "with another number, or a bound, beside it",
    "compared": "which of two is more, and which is the most of all",
    "turned": "who did it to whom",
    "half": "two facts, each about one thing",
    "how many": "all, some, always or only",
}
BESIDE = 3  # passages of no relevance in each context
Case = tuple[
    str, tuple[str, ...], str, str, tuple[int, ...]
]  # kind, what matters, question, answer, what says it (none: not said)
ALMANAC: tuple[Case, ...] = (
    ("outdated", ("Fishing was the main trade of Ostrand until the 1980s; today most people there work in tourism.",), "What was the main trade of Ostrand in the 1970s?", "The main trade of Ostrand was tourism.", ()),
    ("outdated", ("Petra Holm ran the ferry office until March; since then Jonas Reck has run it.",), "Who runs the ferry office?", "The ferry office is run by Petra Holm.", ()),
    ("outdated", ("Until last year the bakery belonged to Ida Marsh; now it belongs to Tobias Fenn.",), "Who owns the bakery now?", "The bakery now belongs to Tobias Fenn.", (0,)),
    ("outdated", ("Before the war Velden grew flax, and since then it has grown potatoes.",), "What did Velden grow before the war?", "Before the war Velden grew flax.", (0,)),
    ("outdated", ("The school in Harlow Cross used to teach Latin, but now teaches Spanish instead.",), "Which language does the school in Harlow Cross teach?", "The school in Harlow Cross teaches Latin.", ()),
    ("outdated", ("Bis 2012 war Jutta Kern Bürgermeisterin von Altenried, heute ist es Bernd Voss.",), "Wer ist Bürgermeister von Altenried?", "Bürgermeisterin von Altenried ist Jutta Kern.", ()),
    ("replaced", ("In 2009 the Larch Hotel had 40 rooms.", "Since the extension of 2020 the Larch Hotel has 64 rooms."), "How many rooms does the Larch Hotel have?", "The Larch Hotel has 40 rooms.", ()),
    ("replaced", ("The 2015 guide put the entry fee of Castle Rohr at 6 euros.", "Update, June 2023: the entry fee of Castle Rohr is 9 euros."), "What is the entry fee of Castle Rohr today?", "The entry fee of Castle Rohr is 9 euros.", (1,)),
    ("replaced", ("Minutes of 4 May: the meeting of the choir is on Tuesday the 12th.", "Correction of 6 May: the meeting of the choir has been moved to Thursday the 14th."), "When is the meeting of the choir?", "The meeting of the choir is on Tuesday the 12th.", ()),
    ("denied", ("Contrary to the sign on the door, Amara Diallo does not work at the Linden practice; Felix Brandt does.",), "Who works at the Linden practice?", "Amara Diallo works at the Linden practice.", ()),
    ("denied", ("Lars Tind failed to reach the summit of Mount Orrel.",), "Who reached the summit of Mount Orrel?", "Lars Tind reached the summit of Mount Orrel.", ()),
    ("denied", ("Instead of wheat, the farm at Dunwell planted barley this year.",), "What did the farm at Dunwell plant this year?", "The farm at Dunwell planted wheat.", ()),
    ("denied", ("Instead of trams, the town of Brack bought electric buses.",), "What did the town of Brack buy?", "The town of Brack bought electric buses.", (0,)),
    ("denied", ("Nobody but Karin Oster has crossed the Sillfjord by canoe.",), "Who has crossed the Sillfjord by canoe?", "Karin Oster has crossed the Sillfjord by canoe.", (0,)),
    ("denied", ("Every member of the council voted for the dam except Ruth Adler.",), "Which member of the council voted for the dam?", "Ruth Adler voted for the dam.", ()),
    ("doubted", ("Who painted the altar in Sonnfeld is open; it may have been Matteo Brini.",), "Who painted the altar in Sonnfeld?", "The altar in Sonnfeld was painted by Matteo Brini.", ()),
    ("doubted", ("The bridge at Corm was possibly built by Anselm Roth.",), "Who possibly built the bridge at Corm?", "The bridge at Corm was possibly built by Anselm Roth.", (0,)),
    ("doubted", ("Novalith had planned to open a shop in Tessen, but the lease was never signed.",), "Where did Novalith open a shop?", "Novalith opened a shop in Tessen.", ()),
    ("doubted", ("If the vote of the society had gone the other way, Clara Venn would have become its chair.",), "Who became chair of the society?", "Clara Venn became chair of the society.", ()),
    ("reported", ("A leaflet claimed that the Moorbad spring contains radium; chemists found none.",), "What does the Moorbad spring contain?", "The Moorbad spring contains radium.", ()),
    ("reported", ("For years the tale went round that Otto Prell had robbed the mill; in the end his brother confessed.",), "Who robbed the mill?", "Otto Prell robbed the mill.", ()),
    ("reported", ("A poster claimed that the water of Bad Lenz cures gout.",), "What did a poster claim of the water of Bad Lenz?", "A poster claimed that the water of Bad Lenz cures gout.", (0,)),
    ("reported", ("According to the survey office, Lake Mirn is 48 metres deep.",), "How deep is Lake Mirn?", "Lake Mirn is 48 metres deep.", (0,)),
    ("counted", ("More than 300 guests came to the wedding at Hof Lindner.",), "How many guests came to the wedding at Hof Lindner?", "Fewer than 300 guests came to the wedding at Hof Lindner.", ()),
    ("counted", ("The tower of Grau was built 90 metres high, of which 30 fell down in a storm.",), "How high is the tower of Grau today?", "The tower of Grau is 90 metres high.", ()),
    ("counted", ("The path from Elm to Sedd is 12 kilometres long.",), "How long is the path from Elm to Sedd?", "The path from Elm to Sedd is 12 km long.", (0,)),
    ("counted", ("A return ticket to Varn costs 18 euros, a single one 11.",), "What does a single ticket to Varn cost?", "A single ticket to Varn costs 18 euros.", ()),
    ("counted", ("Adults pay 14 crowns at the Kestrel pool, children 5.",), "What do children pay at the Kestrel pool?", "Children pay 5 crowns at the Kestrel pool.", (0,)),
    ("counted", ("Between 20 and 25 of the 60 houses in Rast burned down.",), "How many houses in Rast burned down?", "60 houses in Rast burned down.", ()),
    ("compared", ("The Aller bridge is longer than the Benn bridge.",), "Which of the two bridges is longer?", "The Benn bridge is longer than the Aller bridge.", ()),
    ("compared", ("Silja Karu is older than Mette Dahl.",), "Who is older, Silja Karu or Mette Dahl?", "Silja Karu is older than Mette Dahl.", (0,)),
    ("compared", ("After the Gross Horn, the Kleinspitz is the highest mountain of the range.",), "Which is the highest mountain of the range?", "The highest mountain of the range is the Kleinspitz.", ()),
    ("compared", ("The Ruhm is the second-longest river in Tarland.",), "Which is the longest river in Tarland?", "The longest river in Tarland is the Ruhm.", ()),
    ("compared", ("No lake in Tarland is deeper than Lake Ivel.",), "Which is the deepest lake in Tarland?", "Lake Ivel is the deepest lake in Tarland.", (0,)),
    ("turned", ("It was Greta Holt who sued Marten Pike, over a hedge.",), "Who sued whom?", "Marten Pike sued Greta Holt.", ()),
    ("turned", ("Nils Aro was taught the violin by Sonja Brekke.",), "Who taught whom the violin?", "Sonja Brekke taught Nils Aro the violin.", (0,)),
    ("turned", ("Vera Lindt left her house to the nephew of Paul Orth.",), "Who got the house of Vera Lindt?", "Paul Orth got the house of Vera Lindt.", ()),
    ("half", ("Emil Tarn was born in Wisk in 1921 and died in Perlach in 1988.",), "When and where was Emil Tarn born?", "Emil Tarn was born in 1921 in Perlach.", ()),
    ("half", ("Rosa Quell was born in Amrun in 1934 and died in Tolk in 1990.",), "When and where was Rosa Quell born?", "Rosa Quell was born in Amrun in 1934.", (0,)),
    ("half", ("The inn at Krumau serves trout on Fridays and duck on Sundays.",), "What does the inn at Krumau serve on Sundays?", "On Sundays the inn at Krumau serves trout.", ()),
    ("half", ("The Golden Lamb serves soup at noon and stew in the evening.",), "What does the Golden Lamb serve in the evening?", "In the evening the Golden Lamb serves stew.", (0,)),
    ("half", ("The clockmaker Hanno Weiss lives above the chemist, the tailor Emma Stark above the bank.",), "Where does Hanno Weiss live?", "Hanno Weiss lives above the chemist.", (0,)),
    ("how many", ("Some of the bells of Saint Orla are made of silver.",), "What are the bells of Saint Orla made of?", "All the bells of Saint Orla are made of silver.", ()),
    ("how many", ("Only members of the club may fish in the Tarn pond.",), "Who may fish in the Tarn pond?", "Everybody may fish in the Tarn pond.", ()),
    ("how many", ("All houses in Little Wend are built of red brick.",), "What are the houses in Little Wend built of?", "The houses in Little Wend are built of red brick.", (0,)),
    ("how many", ("Alle Boote in Seeham sind grün gestrichen.",), "Welche Farbe haben die Boote in Seeham?", "Die Boote in Seeham sind grün gestrichen.", (0,)),
    ("how many", ("The keys of the Tower of Ness are kept by Ada Crane, who is never without them.",), "Who keeps the keys of the Tower of Ness?", "The keys of the Tower of Ness are kept by Ada Crane.", (0,)),
    ("how many", ("The ferry to Holm sails twice a day in summer.",), "How often does the ferry to Holm sail in summer?", "In summer the ferry to Holm sails twice a day.", (0,)),
)  # fmt: skip
GAZETTE: tuple[Case, ...] = (
    ("outdated", ("The Astoria in Dorn, once a cinema, has been a gym since 2018.",), "What is the Astoria in Dorn?", "The Astoria in Dorn is a cinema.", ()),
    ("outdated", ("Marit Solheim has handed the orchestra of Fjell over to Edvard Lunde.",), "Who leads the orchestra of Fjell?", "The orchestra of Fjell is led by Marit Solheim.", ()),
    ("outdated", ("Coal is no longer mined in Brennach, where a solar park was built.",), "What is mined in Brennach?", "Coal is mined in Brennach.", ()),
    ("outdated", ("The former post office of Kestle now houses a library.",), "What does the former post office of Kestle house?", "The former post office of Kestle houses a library.", (0,)),
    ("outdated", ("Das Freibad in Moosach war früher kostenlos; inzwischen kostet es 4 Euro.",), "Was kostet das Freibad in Moosach?", "Das Freibad in Moosach ist kostenlos.", ()),
    ("outdated", ("In her youth Helka Aalto was a dancer; these days she repairs watches.",), "What was Helka Aalto in her youth?", "In her youth Helka Aalto was a dancer.", (0,)),
    ("outdated", ("Signe Ravn, a dancer in her youth, repairs watches these days.",), "What does Signe Ravn do these days?", "Signe Ravn is a dancer.", ()),
    ("replaced", ("A note from 1998: the Blue Line bus leaves Orry at 7:15.", "From this winter on, the Blue Line bus leaves Orry at 7:40."), "When does the Blue Line bus leave Orry?", "The Blue Line bus leaves Orry at 7:15.", ()),
    ("replaced", ("The first survey says that the Tamm glacier is 9 km long.", "The latest survey says that the Tamm glacier is 6 km long."), "How long is the Tamm glacier according to the latest survey?", "According to the latest survey the Tamm glacier is 6 km long.", (1,)),
    ("replaced", ("Press release of 2 March: Imke Stahl is the new head of the zoo in Rieth.", "Press release of 9 March: Imke Stahl has declined; the zoo in Rieth will be headed by Ole Brandt."), "Who is the new head of the zoo in Rieth?", "The new head of the zoo in Rieth is Imke Stahl.", ()),
    ("denied", ("Dagny Moe turned down the post of harbour master in Skarv.",), "Who is harbour master in Skarv?", "Dagny Moe is harbour master in Skarv.", ()),
    ("denied", ("It is a mistake to think that Pavel Duda invented the Kolin stove.",), "Who invented the Kolin stove?", "The Kolin stove was invented by Pavel Duda.", ()),
    ("denied", ("Apart from Tuesdays, the museum of Wold is open every day.",), "When is the museum of Wold open?", "The museum of Wold is open on Tuesdays.", ()),
    ("denied", ("It was not the storm but a beaver that brought down the power line in Elk Ford.",), "What brought down the power line in Elk Ford?", "A beaver brought down the power line in Elk Ford.", (0,)),
    ("denied", ("Rather than sell the mill, Anton Grieg gave it to the town of Sulz.",), "What did Anton Grieg do with the mill?", "Anton Grieg sold the mill.", ()),
    ("denied", ("The vaccine from Helvar prevented neither measles nor mumps.",), "What did the vaccine from Helvar prevent?", "The vaccine from Helvar prevented measles.", ()),
    ("denied", ("No dogs are allowed in the park of Thrums.",), "Are dogs allowed in the park of Thrums?", "No, dogs are not allowed in the park of Thrums.", (0,)),
    ("doubted", ("Rumour has it that Baron Vesk hid his gold in the well of Tarr.",), "Where did Baron Vesk hide his gold?", "Baron Vesk hid his gold in the well of Tarr.", ()),
    ("doubted", ("Geologists expect to find copper under Mount Brann.",), "What did geologists find under Mount Brann?", "Geologists found copper under Mount Brann.", ()),
    ("doubted", ("The bones from the Hollow Cave probably belong to a bear.",), "To which animal do the bones from the Hollow Cave probably belong?", "The bones from the Hollow Cave probably belong to a bear.", (0,)),
    ("doubted", ("Angeblich wurde die Glocke von Steinach in Lyon gegossen.",), "Wo wurde die Glocke von Steinach gegossen?", "Die Glocke von Steinach wurde in Lyon gegossen.", ()),
    ("doubted", ("Ana Brito very nearly won the regatta of Lagoa.",), "Who won the regatta of Lagoa?", "Ana Brito won the regatta of Lagoa.", ()),
    ("reported", ("The Evening Star wrote that the fire in Cobb Street was set by a lodger, and had to take it back.",), "Who set the fire in Cobb Street?", "The fire in Cobb Street was set by a lodger.", ()),
    ("reported", ("Mayor Quill says that he paid for the fountain himself; the accounts show that the town paid.",), "Who paid for the fountain?", "Mayor Quill paid for the fountain himself.", ()),
    ("reported", ("The jury found that Hedda Born wrote the letters.",), "Who wrote the letters?", "Hedda Born wrote the letters.", (0,)),
    ("reported", ("As the log of the Meridian shows, the cargo was tea.",), "What was the cargo of the Meridian?", "The cargo of the Meridian was tea.", (0,)),
    ("counted", ("The hall of Rudd holds up to 500 people, but only 120 came to the concert.",), "How many people came to the concert in the hall of Rudd?", "500 people came to the concert in the hall of Rudd.", ()),
    ("counted", ("Of the 80 apple trees in the orchard of Gant, half died in the frost.",), "How many apple trees died in the orchard of Gant?", "80 apple trees died in the orchard of Gant.", ()),
    ("counted", ("Tea costs 2 pounds at the Copper Kettle, cake 3.",), "What does cake cost at the Copper Kettle?", "At the Copper Kettle cake costs 3 pounds.", (0,)),
    ("counted", ("The statue of Queen Isme weighs 4 tonnes, its base 9.",), "How much does the statue of Queen Isme weigh?", "The statue of Queen Isme weighs 9 tonnes.", ()),
    ("counted", ("Some 1,200 swans spend the winter on Lake Odern.",), "How many swans spend the winter on Lake Odern?", "About 1,200 swans spend the winter on Lake Odern.", (0,)),
    ("counted", ("Barely 40 of the islanders of Hirta could read.",), "How many islanders of Hirta could read?", "More than 40 of the islanders of Hirta could read.", ()),
    ("compared", ("Runa Falk ran faster than Tyra Holm in the Skog race.",), "Who ran faster in the Skog race?", "Tyra Holm ran faster than Runa Falk.", ()),
    ("compared", ("Cape Dorn gets less rain than Cape Lund.",), "Which of the two capes gets less rain?", "Cape Dorn gets less rain than Cape Lund.", (0,)),
    ("compared", ("Among the castles of the Weir valley only Burg Hain is older than Burg Falken.",), "Which is the oldest castle of the Weir valley?", "The oldest castle of the Weir valley is Burg Falken.", ()),
    ("compared", ("Tove Lie came third in the Norrby chess open, behind Jan Stolt.",), "Who came first in the Norrby chess open?", "Tove Lie came first in the Norrby chess open.", ()),
    ("turned", ("The painting was bought from Jorge Pinto by Luisa Amaral.",), "Who sold the painting to whom?", "Luisa Amaral sold the painting to Jorge Pinto.", ()),
    ("turned", ("Ragnar Ness owes Olaf Bye 200 crowns.",), "Who owes whom 200 crowns?", "Ragnar Ness owes Olaf Bye 200 crowns.", (0,)),
    ("turned", ("Selma Ott treated the daughter of Karl Reiss for fever.",), "Who was treated for fever by Selma Ott?", "Selma Ott treated Karl Reiss for fever.", ()),
    ("half", ("Bo Lind studied law in Uppsala and medicine in Lund.",), "What did Bo Lind study in Lund?", "Bo Lind studied law in Lund.", ()),
    ("half", ("Ylva Ek studied botany in Turku and music in Riga.",), "What did Ylva Ek study in Riga?", "In Riga Ylva Ek studied music.", (0,)),
    ("half", ("The red train goes to Arvo, the green one to Belm.",), "Where does the green train go?", "The green train goes to Arvo.", ()),
    ("half", ("The north gate of Tarim is made of oak, the south gate of iron.",), "What is the north gate of Tarim made of?", "The north gate of Tarim is made of oak.", (0,)),
    ("half", ("Familie Brandl hat zwei Hunde und fünf Katzen.",), "Wie viele Hunde hat Familie Brandl?", "Familie Brandl hat fünf Hunde.", ()),
    ("how many", ("Most of the wines of Castell are white.",), "Which colour are the wines of Castell?", "All the wines of Castell are white.", ()),
    ("how many", ("In winter the road to Passau-Alm is closed.",), "When is the road to Passau-Alm closed?", "The road to Passau-Alm is always closed.", ()),
    ("how many", ("Each child in the school of Yarrow learns to sail.",), "What do the children in the school of Yarrow learn?", "The children in the school of Yarrow learn to sail.", (0,)),
    ("how many", ("The lighthouse of Skerry is kept by Morag Innes, and always has been.",), "Who keeps the lighthouse of Skerry?", "The lighthouse of Skerry is kept by Morag Innes.", (0,)),
    ("how many", ("When the street lamps of Fenwick go out, it is Gil Aster alone who repairs them.",), "Who repairs the street lamps of Fenwick?", "The street lamps of Fenwick are repaired by Gil Aster.", (0,)),
    ("how many", ("Kaja Dyrnes plays the cello in the Bergh quartet.",), "What does Kaja Dyrnes play in the Bergh quartet?", "Kaja Dyrnes plays the cello in the Bergh quartet.", (0,)),
)  # fmt: skip
CASES: Mapping[Book, tuple[Case, ...]] = {"almanac": ALMANAC, "gazette": GAZETTE}
FILLERS: Mapping[Book, tuple[str, ...]] = {
    "almanac": (
        "The mill at Corran was repaired by Jens Ohm in 1996.", "Lake Sorn is 31 metres deep and freezes in January.",
        "Mina Feld has played the organ of Haldau since 2004.", "The market of Pirk is held on Saturdays.",
        "A ticket to the caves of Oll costs 8 euros.", "The Hotel Stern in Wien-Au has 22 rooms.", "In Tolm people grow hops and rye.",
        "Gerda Ruud is the vet of Nesby.",
    ),
    "gazette": (
        "The chapel of Inver was painted by Rory Kent in 1974.", "The gym of Lossie opens at 6:30.",
        "Astrid Vold is the head of the nursery in Hamre.", "The river Teith is 26 km long.", "Bread costs 4 pounds at the Corner Mill.",
        "On the farm of Uist there are three horses and nine sheep.", "Callum Orr plays the harp.", "The west door of Roslin is made of elm.",
    ),
}  # fmt: skip


def twisted_prompts(book: Book) -> list[Planted]:
    """The cases of a book, what matters among passages of no relevance, at another place in each."""
    return [_planted(book, number, case) for number, case in enumerate(CASES[book])]


def _planted(book: Book, number: int, case: Case) -> Planted:
    kind, told, query, answer, saying = case
    beside = [FILLERS[book][(number + i) % len(FILLERS[book])] for i in range(BESIDE)]
    first = number % (BESIDE + 1)
    context = (*beside[:first], *told, *beside[first:])
    return Planted(kind, context, query, answer, tuple(frozenset([first + i]) for i in saying))
