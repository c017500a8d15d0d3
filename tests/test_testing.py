"""What other projects assert: a claim that is refuted fails their test by name."""

from dataclasses import replace

import pytest

from accredit import TableGame, shapley
from accredit.testing import assert_claims

COOKIES = TableGame(("alice", "bob"), [0, 5, 3, 10])


def test_true_claims_pass_and_the_findings_come_back():
    findings = assert_claims(shapley(COOKIES), COOKIES, shapley)
    assert {finding.axiom for finding in findings} == {"efficiency", "symmetry", "null player", "linearity"}


def test_a_refuted_claim_is_an_assertion_that_names_it():
    wrong = replace(shapley(COOKIES), credit=[6.0, 3.0])
    with pytest.raises(AssertionError, match="claims efficiency exactly"):
        assert_claims(wrong, COOKIES)
