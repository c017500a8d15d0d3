"""The detectors of the leakage report by name, and what each needs."""

from __future__ import annotations

from collections.abc import Mapping

PROBE = "mask-only probe"
SURROGATE = "surrogate gap"
EVALX = "EVAL-X gap"
SURENESS = "sureness gap"
METER = "encode-meter"
SCORES = "score code"
INERT = "inert players"
SCRAMBLE = "value scramble"
TRANSPLANT = "mask transplant"
RANDOM = "random selector"
NAMES = (PROBE, SURROGATE, EVALX, SURENESS, METER, SCORES, INERT, SCRAMBLE, TRANSPLANT, RANDOM)
READ = "share that the black box reads through random holes"  # in the details of the surrogate gap
EXCESS_MARGIN = 0.05  # of a share, or nats: excess that is not worth an alarm
NEEDS: Mapping[str, str] = {
    SURROGATE: "needs the explainer's own surrogate and the black box",
    EVALX: "needs the explainer's own surrogate and EVAL-X",
    SURENESS: "needs the explainer's own surrogate and EVAL-X",
    METER: "needs the kind of inputs, to train EVAL-X and a reader",
    SCORES: "needs the scores by which players were ranked",
    INERT: "needs to know which players cannot inform",
    SCRAMBLE: "needs the explainer's own surrogate",
    TRANSPLANT: "needs the explainer's own surrogate",
    RANDOM: "needs EVAL-X or the black box",
}
