"""Is a function named by a past participle? Such a name says neither what is done nor what comes out."""

from __future__ import annotations

_IRREGULAR = """
    beaten been begun bent bitten blown borne bought bound bred broken brought built caught chosen clung crept dealt done drawn
    driven dug eaten fallen fed felt flown forbidden forgiven forgotten fought found frozen given gone gotten ground grown heard
    held hidden hung kept knelt known laid led left lent lit lost made meant met mistaken paid proven ridden risen rung said
    seen sent sewn shaken shone shown shrunk slain slept slid sold sought spent spoken spun sped stolen stood stricken struck
    stuck stung sung sunk swept swollen sworn swum swung taken taught thought thrown told torn understood wept woken won worn
    wound woven written
"""
# Ending like participles: verbs in their first form, nouns, adjectives, numbers
_ONLY_ALIKE = """
    bed biped bleed breed creed deed embed exceed feed greed heed hundred indeed kindred naked need proceed red reed rugged
    sacred seed shed shred sled speed steed succeed tweed weed wed wicked
"""
# One form for both: `read_model` is an action and `read` may be either, so they are counted apart
_SAME = "bet bid burst cast come cost cut hit hurt let overcome put quit read reset rid run set shut split spread"
IRREGULAR, ONLY_ALIKE, SAME_AS_INFINITIVE = (frozenset(words.split()) for words in (_IRREGULAR, _ONLY_ALIKE, _SAME))
PREFIXES = ("un", "re", "fore", "over", "out", "mis", "under", "with", "pre")


def head(name: str) -> str:
    """The first word of a name in snake case.

    >>> head("_checked_seed"), head("read_model")
    ('checked', 'read')
    """
    return name.strip("_").split("_")[0].lower()


def is_participle(word: str) -> bool:
    """A past participle that is no other form of its verb.

    >>> list(filter(is_participle, ("fitted", "foretold", "seed", "embed", "drawn", "read", "token", "redrawn", "speed")))
    ['fitted', 'foretold', 'drawn', 'redrawn']
    """
    if word in ONLY_ALIKE or word in SAME_AS_INFINITIVE:
        return False
    bare = [word, *(word.removeprefix(prefix) for prefix in PREFIXES if word.startswith(prefix))]
    return (word.endswith("ed") and len(word) > 3) or any(each in IRREGULAR for each in bare)
