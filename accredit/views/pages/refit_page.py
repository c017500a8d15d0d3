"""Credit over refits, as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accredit.explanation.refits import RefitExplanation
from accredit.views.language.headlines import headline
from accredit.views.language.phrases import sentence
from accredit.views.pages.engine import render
from accredit.views.pages.parts import claims_table
from accredit.views.terminal.table_text import asked, facts

if TYPE_CHECKING:
    from markupsafe import Markup

from accredit.views.terminal.refit_text import header, lines_of

QUESTION = "Which columns matter, whatever the sample?"


def refit_body(found: RefitExplanation) -> Markup:
    """The page."""
    return render(
        "refits",
        "body",
        answer=headline(found).text,
        asked=sentence(asked(found.table)),
        header=header(found),
        lines=[cells for cells, _ in lines_of(found)],
        facts=[sentence(fact) for fact in facts(found.table)],
        failed=[(str(number), why) for number, why in found.failed.items()],
        claims=claims_table(found.table.row(0)),
    )
