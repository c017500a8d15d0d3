"""Passages of a prompt credited for an answer by ContextCite, captum and inseq, as their authors ship them.

All read the same prompt: passages joined by a line break, a blank line, the question, and the model's chat template.
"""

from __future__ import annotations

import contextlib
from functools import cache, wraps
from typing import Any

import numpy as np
import torch
from side import serve

with contextlib.suppress(ImportError):  # ContextCite asks for a download when it is imported, which nothing here needs
    import nltk

    nltk.download = lambda *_, **__: False
SEPARATOR, ASKED = "\n", "{context}\n\n{query}"


@cache
def _read(folder: str) -> tuple[Any, Any, list[int]]:
    """A model, its tokenizer, and how many prompts have gone through it."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    passes = [0]

    forward = model.forward

    @wraps(forward)  # captum calls it past the hooks of a module
    def counted(*given: Any, **named: Any) -> Any:
        read = (named.get("input_ids"), named.get("inputs_embeds"), *given)
        passes[0] += len(next(each for each in read if each is not None))
        return forward(*given, **named)

    model.forward = counted
    return model, AutoTokenizer.from_pretrained(folder), passes


def load(folder: str) -> dict[str, Any]:
    _read(folder)
    return {"loaded": 1}


def context_cite(folder: str, passages: list[str], query: str, answer: str, ablations: int) -> dict[str, Any]:
    from context_cite import ContextCiter
    from context_cite.context_partitioner import BaseContextPartitioner

    class Passages(BaseContextPartitioner):
        def split_context(self) -> None:
            pass

        @property
        def num_sources(self) -> int:
            return len(passages)

        def get_source(self, index: int) -> str:
            return passages[index]

        def get_context(self, mask: Any = None) -> str:
            return SEPARATOR.join(text for i, text in enumerate(passages) if mask is None or mask[i])

    model, tokenizer, passes = _read(folder)
    before = passes[0]
    parts = Passages(SEPARATOR.join(passages))
    citer = ContextCiter(
        model, tokenizer, parts.context, query, num_ablations=ablations, partitioner=parts, prompt_template=ASKED
    )
    prompt = citer._get_prompt_ids(return_prompt=True)[1]
    citer._cache["output"] = prompt + answer
    return {"credit": np.asarray(citer.get_attributions(verbose=False)), "passes": passes[0] - before, "prompt": prompt}


def captum(folder: str, passages: list[str], query: str, answer: str, name: str, settings: dict[str, Any]) -> dict[str, Any]:
    import captum.attr

    model, tokenizer, passes = _read(folder)
    before = passes[0]

    def written(*texts: str) -> Any:
        said = ASKED.format(context=SEPARATOR.join(text for text in texts if text), query=query)
        return _chat(tokenizer, said)

    method = captum.attr.LLMAttribution(getattr(captum.attr, name)(model), tokenizer)
    given = captum.attr.TextTemplateInput(template=written, values=passages)
    found = method.attribute(given, target=answer, forward_in_tokens=False, **settings)
    return {"credit": found.seq_attr.detach().numpy(), "passes": passes[0] - before, "prompt": written(*passages)}


def inseq(folder: str, passages: list[str], query: str, answer: str, name: str) -> dict[str, Any]:
    """Gradients of every token of the answer with respect to those of the prompt, summed over passages."""
    import inseq as library

    model, tokenizer, passes = _read(folder)
    before = passes[0]
    reader = library.load_model(model, name, tokenizer=tokenizer, device="cpu")
    prompt = _chat(tokenizer, ASKED.format(context=SEPARATOR.join(passages), query=query))
    out = reader.attribute(prompt, prompt + answer, show_progress=False, pretty_progress=False)
    scores = out.sequence_attributions[0].aggregate().target_attributions.nan_to_num().sum(1).numpy()
    encoded = tokenizer(prompt, return_offsets_mapping=True, add_special_tokens=True)
    credit, start = [], prompt.index(passages[0])
    for text in passages:
        start = prompt.index(text, start)
        stop = start + len(text)
        pieces = zip(scores, encoded["offset_mapping"], strict=False)
        credit.append(float(sum(score for score, (a, b) in pieces if a < stop and b > start)))
        start = stop
    return {"credit": np.array(credit), "passes": passes[0] - before, "prompt": prompt}


def _chat(tokenizer: Any, said: str) -> str:
    text: str = tokenizer.apply_chat_template([{"role": "user", "content": said}], tokenize=False, add_generation_prompt=True)
    return text


if __name__ == "__main__":
    serve({"load": load, "context_cite": context_cite, "captum": captum, "inseq": inseq})
