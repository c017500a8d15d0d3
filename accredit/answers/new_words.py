"""What a sentence says beyond the question: its new words, and the names that question and sentence share.

"The capital of France is Paris." answers "What is the capital of France?" by one word, Paris. The others would be likely after
any passages, or unlikely only because the model would put it in another way; neither tells where the sentence comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

WORD = re.compile(r"\w+(?:[’'\-]\w+)*")
BEGINS = re.compile(r"(?:^|[.!?:]\s+)[^\w\s]*\Z")  # what stands before the first word of a sentence
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


def _has_digit(word: str) -> bool:
    return any(letter.isdigit() for letter in word)


def _plain(word: str) -> str:
    """In lower case, without the ending of a genitive."""
    return re.sub(r"[’']s?$", "", word.lower())


def _key(word: str) -> str:
    """By what two words are the same: names and numbers letter by letter, others by their beginning."""
    named = word[0].isupper() or _has_digit(word)
    return _plain(word) if named else _plain(word)[:STEM]
