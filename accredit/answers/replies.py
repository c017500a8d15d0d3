"""The share of sampled replies that say an answer, as a payoff, and the error that sampling leaves in credit.

v(S) is the probability that the model says the answer when only the parts of S are left; k of m replies estimate it. Credit
that is linear in the payoffs, φᵢ = Σ aᵢ(S) v̂(S), has the variance Σ aᵢ(S)² p(1 − p)/m on top of what drawing coalitions
leaves. The weights aᵢ are those of whichever method runs, so they are not written down a second time: every coalition also
pays some *noise*, independent normal draws of variance p̃(1 − p̃)/m with p̃ = (k + 1)/(m + 2), and the spread of the credit of
the noise is the standard error. p̃ keeps it from being 0 where all replies agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, final

import numpy as np
from scipy import special

from accredit import defaults
from accredit.answers.hosted_model import CHARACTERS_PER_TOKEN, Bill, HostedModel, reply_text, says
from accredit.answers.prompt import WHOLE, Parts, Prompt
from accredit.answers.said import SCORE, Currency
from accredit.answers.server import ServerError
from accredit.core import Attribution, BoolArray, Claim, FloatArray, Holds, Procedure
from accredit.core.estimate import Precision

NOISE = tuple(f"noise {k + 1}" for k in range(64))  # draws of noise that every coalition pays
SPREAD_LEVEL = 0.95  # how sure it is that the standard error, itself estimated from the noise, is not too small


def noise_of(share: FloatArray, samples: int, keys: list[bytes]) -> FloatArray:
    """Normal draws with the variance of a share of some samples: (batch,), a key for each -> (batch, draws)."""
    smooth = (share * samples + 1) / (samples + 2)
    draws = [
        np.random.default_rng(int.from_bytes(hashlib.sha256(key).digest()[:16])).standard_normal(len(NOISE)) for key in keys
    ]
    return np.sqrt(smooth * (1 - smooth) / samples)[:, None] * np.array(draws).reshape(len(share), len(NOISE))


def with_noise(credit: Attribution, noise: Mapping[str, Attribution], samples: int) -> Attribution:
    """Credit with an interval that covers both draws: of coalitions, as the method says, and of replies.

    The method's own error, measured on noisy payoffs, holds part of that of the replies already; adding all of it is never too
    narrow. Where the method gives no interval although it drew coalitions, there is none.
    """
    because = f"payoffs are shares of {samples} sampled replies"
    claims = tuple(
        claim if claim.axiom == "efficiency" or claim.holds is not Holds.EXACTLY
        else Claim(claim.axiom, Holds.IN_EXPECTATION, f"{claim.because}; {because}")
        for claim in credit.claims
    )  # fmt: skip
    if not credit.exact and credit.interval is None:
        return replace(credit, claims=claims, precision=Precision.unknown(f"{credit.interval_because}; {because}"))
    count = len(noise)
    spread = np.sqrt((np.stack([one.credit for one in noise.values()]) ** 2).mean(axis=0))
    stderr = spread * np.sqrt(count / special.chdtri(count, SPREAD_LEVEL))
    level = defaults.LEVEL if credit.level is None else credit.level
    reach = special.ndtri((1 + level) / 2) * stderr
    own = np.zeros((len(reach), 2)) if credit.interval is None else np.abs(credit.interval - credit.credit[:, None])
    ends = np.hypot(own, reach[:, None]) * [-1.0, 1.0]
    drawn = 0.0 if credit.stderr is None else credit.stderr
    return replace(
        credit,
        claims=claims,
        stderr=np.hypot(drawn, stderr),
        interval=credit.credit[:, None] + ends,
        level=level,
        precision=Precision.interval(
            f"replies were sampled ({samples} per prompt)" + ("" if credit.exact else ", and so were coalitions")
        ),
    )


@final
class SampledPays:
    """Payoffs from a chat: how often the answer comes out, and the noise of that."""

    blur = 0.0
    currency: Currency = SCORE
    outputs = (WHOLE, *NOISE)

    def __init__(
        self,
        hosted: HostedModel,
        bill: Bill,
        ask: Callable[[Prompt, int, float, int], list[dict[str, Any]]],
        parts: Parts,
        answer: str,
        source: Procedure,
        filler: str | None,
        seed: int,
    ) -> None:
        self.hosted, self.bill, self.parts, self.filler, self.seed = hosted, bill, parts, filler, seed
        self._ask, self.answer, self.source = ask, answer, source
        self._heard: list[tuple[bool, bool]] = []  # of every reply, whether it has text, and whether it was cut
        self.samples = hosted.samples
        test = hosted.match if isinstance(hosted.match, str) else "a function"
        self.notes = [
            f"Payoffs are shares of {self.samples} replies at temperature {hosted.temperature:g} that say the answer "
            f"(test: {test}); intervals cover the sampling of replies and of coalitions."
        ]

    @property
    def players(self) -> tuple[str, ...]:
        return self.parts.players

    @property
    def rows(self) -> int:
        return 4 * self.hosted.concurrency

    @property
    def tokens_per_payoff(self) -> int:
        """Tokens of one payoff, at most: the prompt, read once or for every reply, and all replies at their longest."""
        read = -(-sum(len(content) for content in self.parts.prompt.contents) // CHARACTERS_PER_TOKEN)
        return self.samples * (read + self.hosted.answer_tokens)

    def log_probabilities(self, coalitions: BoolArray) -> FloatArray:
        """(batch, n) -> (batch, the share and its noise)."""
        left = [self.parts.without(kept, self.filler) for kept in coalitions]
        share = np.array([self._share(prompt) for prompt in left])
        keys = [np.packbits(kept).tobytes() + self.seed.to_bytes(16) for kept in coalitions]
        return np.concatenate([share[:, None], noise_of(share, self.samples, keys)], axis=1)

    def _share(self, prompt: Prompt) -> float:
        replies: list[str] = []
        while len(replies) < self.samples:
            found = self._ask(prompt, self.samples - len(replies), self.hosted.temperature, self.hosted.answer_tokens)
            texts = [reply_text(choice) for choice in found]
            if not all(text is None or isinstance(text, str) for text in texts) or all(c.get("message") is None for c in found):
                raise ServerError(
                    f"{self.hosted.title} replied without a message; see that it serves chat completions", code="unsupported"
                )
            replies += [text if isinstance(text, str) else "" for text in texts]
            self._heard += [(bool(text), c.get("finish_reason") == "length") for text, c in zip(texts, found, strict=True)]
        if not any(reply.strip() for reply in replies):
            raise ServerError(
                f"{self.hosted.title} replied {self.samples} times without a word; a model that thinks first may need more "
                f"tokens than {self.hosted.answer_tokens}: answer_tokens=… among the settings of the server",
                code="empty",
            )
        return sum(says(reply, self.answer, self.hosted.match) for reply in replies) / self.samples

    def fingerprint_parts(self) -> dict[str, object]:
        """What decides the payoffs: the server and its model, the prompt, how it is sampled, and what counts as the answer."""
        return {
            "server": [self.hosted.url, self.hosted.served],
            "prompt": [self.parts.prompt.contents, self.parts.prompt.messages],
            "players": [self.parts.spans, self.parts.owner],
            "answer": self.answer,
            "filler": self.filler,
            "samples": [self.samples, self.hosted.temperature, self.hosted.answer_tokens, self.seed],
            "match": self.hosted.match,
        }

    @property
    def provenance(self) -> dict[str, object]:
        return {
            "model": self.hosted.title,
            "architecture": "a chat model behind a server",
            "removal": "rebuild" if self.filler is None else "filler",
            "filler": self.filler,
            "answer": self.answer,
            "answer from": self.source.as_plain(),
            "rather than": None,
            "reading": f"{self.samples} replies per prompt, up to {self.hosted.concurrency} requests at a time; "
            f"{self.bill.words}",
            "notes": [*self.notes, *self._on_replies()],
        }

    def _on_replies(self) -> Iterator[str]:
        """That replies which could not say the answer were counted as replies that do not."""
        heard = list(self._heard)
        silent, cut = sum(not text for text, _ in heard), sum(text and ended for text, ended in heard)
        if silent:
            yield f"Warning: {silent:,} of {len(heard):,} replies have no text, and count as not saying the answer."
        if cut:
            yield (
                f"Warning: {cut:,} of {len(heard):,} replies were cut after {self.hosted.answer_tokens} tokens, and may have "
                "come to the answer later; answer_tokens=… allows longer ones."
            )
