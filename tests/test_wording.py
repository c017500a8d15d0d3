"""Sentences of errors are compared with one file, and written into it anew."""

import tempfile

import pytest

from accredit.errors import InvalidInput, TooManyPlayers
from tests.wording import FILE, Book, merge, plain, refused

KNOWN = {"tests/a.py::one": ["k is 0; write 1"], "tests/b.py::two": ["x is empty"]}


def test_a_sentence_that_is_known_is_read_in_silence_and_another_is_shown_beside_it():
    book = Book(KNOWN)
    book.turn_to("tests/a.py::one")
    book.read("k is 0; write 1")
    book.turn_to("tests/a.py::one")
    with pytest.raises(pytest.fail.Exception) as failed:
        book.read("k is 0; write 2")
    assert (
        failed.value.msg.splitlines()[1:] == ["- k is 0; write 1", "+ k is 0; write 2"] and "make wording" in failed.value.msg
    )


def test_a_sentence_more_than_are_known_fails():
    book = Book(KNOWN)
    book.turn_to("tests/b.py::two")
    book.read("x is empty")
    with pytest.raises(pytest.fail.Exception, match="make wording"):
        book.read("y is empty")


def test_places_of_this_machine_are_not_part_of_a_sentence():
    base = tempfile.gettempdir()
    told = f"'{base}/pytest-of-ada/pytest-7/popen-gw1/test_x0/a.csv' and {FILE.parents[1]}/b.csv and {base}/tmpq8_x/c.csv"
    assert plain(told) == "'TMP/a.csv' and ROOT/b.csv and TMP/c.csv"


def test_tests_that_failed_or_did_not_run_keep_what_they_had():
    book = Book(KNOWN, rewrites=True)
    book.turn_to("tests/a.py::one")
    book.read("k is 0; write 2")
    assert merge(KNOWN, book.written_anew(), KNOWN) == KNOWN
    book.passed.add("tests/a.py::one")
    assert merge(KNOWN, book.written_anew(), KNOWN) == KNOWN | {"tests/a.py::one": ["k is 0; write 2"]}


def test_tests_that_are_gone_leave_the_file_and_those_elsewhere_stay():
    assert merge(KNOWN, {}, ["tests/a.py::another"]) == {"tests/b.py::two": KNOWN["tests/b.py::two"]}
    assert merge(KNOWN, {}, []) == KNOWN


WRONG = {
    "another code": (InvalidInput("k", argument="k", code="type"), AssertionError),
    "another argument": (InvalidInput("k", argument="j", code="range"), AssertionError),
    "a narrower kind": (TooManyPlayers("k", argument="k", code="range"), AssertionError),
    "no error of accredit": (ValueError("k"), ValueError),
}


@pytest.mark.parametrize("error, outcome", WRONG.values(), ids=WRONG)
def test_another_error_is_not_taken_for_the_one_that_is_stated(error, outcome):
    with pytest.raises(outcome), refused("range", "k"):
        raise error


def test_no_error_at_all_fails():
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"), refused("range", "k"):
        pass
