"""Every worked problem of the chapter on credit attribution, run."""

from __future__ import annotations

from accredit_papers import chapter_data, chapter_influence, chapter_saliency, chapter_shapley, chapter_synergy
from accredit_papers.report import Report


def chapter(quick: bool = False, seed: int = 0) -> Report:
    """Run every problem; `quick` draws fewer random matrices, games and data sets."""
    report = Report("chapter", "The chapter's problems, run")
    report.say(
        "The chapter “Interpreting output of Deep Nets: Credit Attribution” states theorems and leaves problems to the "
        "reader. Here each of them is a program. Where the text is wrong, the counterexample is printed, with what holds."
    )
    chapter_influence.influence_theorem(report, seed)
    chapter_data.influence_assumption(report, seed)
    chapter_influence.series(report, seed, 10 if quick else 200)
    chapter_shapley.definitions(report, seed, 5 if quick else 50)
    chapter_shapley.estimation(report, seed, 5 if quick else 50)
    chapter_shapley.datamodels_and_gradients(report, seed)
    chapter_data.harmonic_analysis(report, seed)
    chapter_saliency.gradient_axioms(report)
    chapter_saliency.concepts_per_input(report, seed)
    chapter_synergy.matched_pair(report, seed, 4 if quick else 40)
    chapter_synergy.blame(report)
    chapter_synergy.pricing(report)
    chapter_synergy.corner(report)
    return report
