"""What a sentence says beyond the question: its new words, and the names that question and sentence share.

"The capital of France is Paris." answers "What is the capital of France?" by one word, Paris. The others would be likely after
any passages, or unlikely only because the model would put it in another way; neither tells where the sentence comes from.
"""

from __future__ import annotations

import re

WORD = re.compile(r"\w+(?:[’'\-]\w+)*")
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


def new_words(text: str, asked: str) -> list[tuple[int, int]]:
    """First and last character (one past it) of each content word of a text that the question does not say.

    Of a text without any, all content words; of a text without content words, all words.

    >>> [text[a:b] for text in ["The dog of Anna is called Rex."] for a, b in new_words(text, "What is Anna's dog called?")]
    ['Rex']
    """
    said = {key for word in WORD.findall(asked) for key in (_plain(word), _plain(word)[:STEM])}
    every = [(found.start(), found.end(), found.group()) for found in WORD.finditer(text)]
    content = [each for each in every if each[2].lower() not in LITTLE]
    new = [each for each in content if _key(each[2]) not in said]
    return [(start, stop) for start, stop, _ in new or content or every]


def shared_names(text: str, asked: str) -> frozenset[str]:
    """The names (words with a capital letter or a digit, but for the first of a question) that a text and a question share.

    >>> sorted(shared_names("The dog of Anna is called Rex.", "What is Anna's dog called?"))
    ['anna']
    """
    names = {_plain(word) for word in WORD.findall(asked)[1:] if word[0].isupper() or any(c.isdigit() for c in word)}
    return frozenset(names & {_plain(word) for word in WORD.findall(text)}) - LITTLE


def holds(text: str, names: frozenset[str]) -> bool:
    """Whether every name is among the words of a text."""
    return names <= {_plain(word) for word in WORD.findall(text)}


def _plain(word: str) -> str:
    """In lower case, without the ending of a genitive."""
    return re.sub(r"[’']s?$", "", word.lower())


def _key(word: str) -> str:
    """By what two words are the same: names and numbers letter by letter, others by their beginning."""
    named = word[0].isupper() or any(letter.isdigit() for letter in word)
    return _plain(word) if named else _plain(word)[:STEM]
