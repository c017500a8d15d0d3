"""A small OpenAI-compatible server over a Hugging Face model, on this machine only: completions with `echo` and `logprobs`,
vLLM's `prompt_logprobs`, and chat completions that are sampled.

    python -m tools.model_server FOLDER [PORT]

Every number is the model's own. It is what the tests and the guide of hosted models ask; for work there are vLLM and others.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LONGEST_REQUEST = 1 << 22  # bytes


class ServedModel:
    """A causal language model and its tokenizer, as the protocol asks them."""

    def __init__(self, model: Any, tokenizer: Any, name: str = "served") -> None:
        self.model, self.tokenizer, self.name = model, tokenizer, name
        self._lock = threading.Lock()  # one pass at a time

    def completions(self, body: dict[str, Any]) -> dict[str, Any]:
        text, most = str(body["prompt"]), int(body.get("max_tokens", 16))
        coded = self.tokenizer(text, return_offsets_mapping=True)
        ids, spans = coded["input_ids"], coded["offset_mapping"]
        temperature = float(body.get("temperature", 1.0))
        new, ended = self._continue(ids, most, temperature, seed=None)
        choice: dict[str, Any] = {"index": 0, "finish_reason": "stop" if ended else "length", "logprobs": None}
        said = self._spell(ids, new)
        echo = bool(body.get("echo"))
        choice["text"] = (text if echo else "") + said
        edges = [0, *(stop for _, stop in spans[:-1]), len(text)]  # white space goes with the token after it
        pieces = [text[start:stop] for start, stop in itertools.pairwise(edges)]
        if body.get("logprobs") is not None:
            earned = self._log_probabilities(ids + new)
            tail = [self._spell(ids + new[:k], new[k : k + 1]) for k in range(len(new))]
            before = len(text) if echo else 0
            choice["logprobs"] = {
                "tokens": [*(pieces if echo else []), *tail],
                "token_logprobs": earned if echo else earned[len(ids) :],
                "text_offset": [*(edges[:-1] if echo else []), *(before + len("".join(tail[:k])) for k in range(len(tail)))],
            }
        if body.get("prompt_logprobs") is not None:
            earned = self._log_probabilities(ids)
            entries = zip(ids[1:], earned[1:], pieces[1:], strict=True)
            choice["prompt_logprobs"] = [None, *({str(i): {"logprob": x, "decoded_token": p}} for i, x, p in entries)]
        return self._reply([choice], len(ids), len(new), "text_completion")

    def chat(self, body: dict[str, Any]) -> dict[str, Any]:
        messages = body["messages"]
        if self.tokenizer.chat_template:
            text = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        else:
            text = "\n".join(str(m["content"]) for m in messages)
        ids = self.tokenizer(text)["input_ids"]
        choices, written = [], 0
        for k in range(int(body.get("n") or 1)):
            new, ended = self._continue(ids, int(body.get("max_tokens", 64)), float(body.get("temperature", 1.0)), seed=None)
            written += len(new)
            said = {"role": "assistant", "content": self._spell(ids, new).strip()}
            choices.append({"index": k, "message": said, "finish_reason": "stop" if ended else "length"})
        return self._reply(choices, len(ids), written, "chat.completion")

    def _reply(self, choices: list[dict[str, Any]], read: int, written: int, kind: str) -> dict[str, Any]:
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        return {"id": "served", "object": kind, "model": self.name, "choices": choices, "usage": usage}

    def _spell(self, before: list[int], new: list[int]) -> str:
        """What some tokens add to a text."""
        written = [self.tokenizer.decode(ids, skip_special_tokens=False) for ids in (before, before + new)]
        return str(written[1][len(written[0]) :])

    def _log_probabilities(self, ids: list[int]) -> list[float | None]:
        """Of each token after those before it; the first has none."""
        import torch

        with self._lock, torch.no_grad():
            logits = self.model(input_ids=torch.tensor([ids])).logits[0].float()
        found = torch.log_softmax(logits[:-1], dim=-1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
        return [None, *found.tolist()]

    def _continue(self, ids: list[int], most: int, temperature: float, seed: int | None) -> tuple[list[int], bool]:
        import torch

        if most < 1:
            return [], False
        how: dict[str, Any] = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0} if temperature else {}
        with self._lock, torch.no_grad():
            given = torch.tensor([ids])
            made = self.model.generate(
                given,
                attention_mask=torch.ones_like(given),
                max_new_tokens=most,
                pad_token_id=0,
                **({"do_sample": False} | how),
            )
        new = made[0].tolist()[len(ids) :]
        ends = self.model.generation_config.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        stop = next((k for k, token in enumerate(new) if token in ends), None)
        return (new, False) if stop is None else (new[:stop], True)


class Handler(BaseHTTPRequestHandler):
    """One request. What a test breaks on purpose is `Faults`, asked before the model is."""

    served: ServedModel
    faults: Any = None
    protocol_version = "HTTP/1.1"

    def log_message(self, *said: object) -> None:
        """Nothing is logged."""

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            self.reply(200, {"object": "list", "data": [{"id": self.served.name, "object": "model"}]})
        else:
            self.reply(404, {"error": {"message": f"no route {self.path}"}})

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        if size > LONGEST_REQUEST:
            return self.reply(413, {"error": {"message": "too long"}})
        body = json.loads(self.rfile.read(size))
        if self.faults is not None and self.faults(self, body):
            return None
        routes = {"/completions": self.served.completions, "/chat/completions": self.served.chat}
        route = next((make for path, make in reversed(routes.items()) if self.path.endswith(path)), None)
        if route is None:
            return self.reply(404, {"error": {"message": f"no route {self.path}"}})
        return self.reply(200, route(body))

    def reply(self, status: int, body: dict[str, Any] | bytes, **headers: str) -> None:
        said = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(said)


@contextmanager
def serve(served: ServedModel, faults: Any = None, port: int = 0) -> Iterator[str]:
    """Serve a model on loopback while the block runs; the URL is given."""
    handler = type("ServedHandler", (Handler,), {"served": served, "faults": staticmethod(faults) if faults else None})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def load(folder: str) -> ServedModel:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return ServedModel(
        AutoModelForCausalLM.from_pretrained(folder, local_files_only=True).eval(), tokenizer, folder.rstrip("/").split("/")[-1]
    )


if __name__ == "__main__":
    with serve(load(sys.argv[1]), port=int(sys.argv[2]) if len(sys.argv) > 2 else 0) as url:
        print(url, flush=True)
        threading.Event().wait()
