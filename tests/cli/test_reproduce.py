"""`accredit reproduce` writes reports and says what holds."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from accredit.cli import accredit


@pytest.mark.slow
def test_all_pages_run_one_after_the_other(tmp_path):
    pytest.importorskip("transformers")
    words = ["reproduce", "all", "--quick", "--pages", "choices", "--json", "--out", str(tmp_path)]
    result = CliRunner().invoke(accredit, words)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["report"] == "choices" and told["verdicts"][0]["found"] == "holds"
    assert told["verdicts"][0]["said"].startswith("No two of the four values")
    assert f"written: {tmp_path / 'choices.md'}" in result.stderr
    assert re.search(
        r"\npages run: 1, in [\d.]+ minutes, [\d.]+ of CPU: 4 statements hold, 0 are refuted, 1 cannot", result.stderr
    )
    assert "`accredit reproduce choices --quick`" in (tmp_path / "choices.md").read_text()
    refused = CliRunner().invoke(accredit, ["reproduce", "all", "--pages", "selection"])
    assert refused.exit_code == 1 and "there are chapter, propositions" in str(refused.exception)


def test_an_unknown_name_is_refused():
    assert CliRunner().invoke(accredit, ["reproduce", "nothing"]).exit_code == 2
