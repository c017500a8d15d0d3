"""Words that turn a statement: what a passage says with them and a sentence without, and what a later passage says."""

from __future__ import annotations

import pytest

from accredit.answers.new_words import exchanges, new_words, rivals, telling
from accredit.answers.qualifiers import crossed, left_out, overtaken, put_in


@pytest.mark.parametrize(
    ("sentence", "asked", "passage", "turn"),
    [
        ("The post is held by Anna.", "Who holds the post?", "The post was once held by Anna.", "once"),
        ("The post was held by Anna.", "Who held the post?", "The post was once held by Anna.", ""),
        ("Anna lives in Altenried.", "Where does Anna live?", "Until May Anna lived in Altenried.", "Until"),
        ("Its trade was tourism.", "What was its trade in 1970?", "Its trade was fish; today tourism feeds it.", "today"),
        ("Its trade is tourism.", "What is its trade?", "Its trade was fish; today tourism feeds it.", ""),
        ("Anna sold the mill.", "Who sold the mill?", "The mill was sold by Boris and never by Anna.", "never"),
        ("A fox did it.", "What did it?", "It was not the dog but a fox that did it.", ""),
        ("It holds radium.", "What does it hold?", "A leaflet claimed that it holds radium.", "claimed"),
        ("A leaflet claimed that it holds radium.", "What does it hold?", "A leaflet claimed that it holds radium.", ""),
        ("It was built by Anna.", "Who built it?", "It may have been built by Anna.", "may"),
        ("It was built in July.", "When was it built?", "Work ended in May; it was built in July.", ""),
        ("500 people came.", "How many people came?", "Up to 500 people came.", "Up to"),
        ("80 trees died.", "How many trees died?", "Of the 80 trees half died.", "Of the"),
        ("In 1907 it was sold.", "When was it sold?", "On the first of the month, in 1907, it was sold.", ""),
        ("Anna got the house.", "Who got the house?", "The nephew of Anna got the house.", "nephew of"),
        ("The bells are silver.", "What are the bells?", "Some of the bells are silver.", "Some of"),
        ("Anna ist die Leiterin.", "Wer ist die Leiterin?", "Bis 2012 war Anna die Leiterin.", "Bis"),
        ("Der Keller ist 36 m tief.", "Wie tief ist der Keller?", "Bis zum Grund ist der Keller 36 m tief.", ""),
        ("It is red.", "Which colour is it?", "It is said to be red. The door is red.", ""),  # once plainly
    ],
)
def test_what_turns_a_statement_must_not_be_left_out(sentence, asked, passage, turn):
    assert left_out(sentence, asked, [passage]) == turn


@pytest.mark.parametrize(
    ("sentence", "passage", "more"),
    [
        ("All bells are silver.", "Some bells are silver.", "all"),
        ("Every bell is silver.", "All the bells are silver.", ""),
        ("It is always closed.", "It is closed in winter.", "always"),
        ("The longest river is the Ruhm.", "The Ruhm is the second-longest river.", "longest"),
        ("Fewer than 40 came.", "More than 40 came.", "fewer than"),
    ],
)
def test_how_much_and_how_often_must_be_said(sentence, passage, more):
    assert put_in(sentence, [passage]) == more


def test_a_later_passage_counts_and_an_earlier_one_does_not():
    asked, old, new = "When does the choir meet?", "The choir meets on the 12th.", "Correction: the choir meets on the 14th."
    assert overtaken("The choir meets on the 12th.", asked, [old], [new]) == new
    assert not overtaken("The choir meets on the 14th.", asked, [new], [old])
    assert not overtaken("The choir meets on the 12th.", asked, [old], ["Since then the band meets on the 14th."])


def test_two_facts_of_one_sentence_are_not_mixed():
    told = ["Adults pay 14 crowns in Holm, and 5 crowns in Lund."]
    assert crossed("In Lund adults pay 14 crowns.", "What do adults pay in Lund?", told) == "“Holm”, not “Lund”"
    assert not crossed("In Holm adults pay 14 crowns.", "What do adults pay in Holm?", told)


def test_what_could_stand_in_its_place_is_of_the_same_form():
    told = ["Fishing fed Ostrand until 1980, before Anna came."]
    found = rivals("Tourism fed Ostrand in 1950.", "What fed Ostrand?", told)
    places = [("Tourism", other) for other in ("Fishing", "Anna")] + [("1950", "1980")]
    assert [("Tourism fed Ostrand in 1950."[a:b], other) for (a, b), other in found] == places


def test_single_letters_and_numbers_of_items_tell_nothing():
    text = "Hall C shows ploughs."
    assert telling(text, new_words(text, "What do they show?")) == [True] * 4
    assert exchanges("It was founded by Aled Pryce in 1931.", "Who founded it?") == []
