"""What runs inside the solver's process: OR-tools, asked for max flows by messages. Only `accredit.flow.solver` starts it.

A message is one line of JSON, which says how many numbers follow, and arrays of 64-bit integers. A question names a graph, has
its arcs if it is new, and some of them with rows of capacities: each row is one solve. Every question is answered.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ortools.graph.python.max_flow import SimpleMaxFlow

Numbers = npt.NDArray[np.int64]


def write(stream: IO[bytes], message: dict[str, object], arrays: Sequence[Numbers] = ()) -> None:
    """Send a message."""
    stream.write(json.dumps(message | {"sizes": [array.size for array in arrays]}).encode() + b"\n")
    for array in arrays:
        stream.write(np.ascontiguousarray(array, dtype=np.int64).tobytes())
    stream.flush()


def read(stream: IO[bytes]) -> tuple[dict[str, Any], list[Numbers]]:
    """The next message; EOFError where the other side is gone."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    message: dict[str, Any] = json.loads(line)
    content = stream.read(8 * sum(message["sizes"]))
    if len(content) < 8 * sum(message["sizes"]):
        raise EOFError
    return message, np.split(np.frombuffer(content, dtype=np.int64), np.cumsum(message["sizes"], dtype=np.int64)[:-1])


def solve_each(
    solver: SimpleMaxFlow, source: int, sink: int, arcs: Numbers, capacities: Numbers
) -> tuple[SimpleMaxFlow.Status, Numbers]:
    """The status and the max flows in whole units, one for each row of capacities of some arcs: (batch, arcs) -> (batch,).

    The last row stays. A solve that is not optimal is the last.
    """
    values = np.zeros(len(capacities), dtype=np.int64)
    for k, row in enumerate(capacities):
        if len(arcs):
            solver.set_arcs_capacity(arcs.astype(np.int32), row)
        status = solver.solve(source, sink)
        if status != solver.OPTIMAL:
            return status, values
        values[k] = solver.optimal_flow()
    return solver.OPTIMAL, values


def main() -> None:
    """Answer until nobody asks any more."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints does not go into the conversation
    graphs: dict[int, SimpleMaxFlow] = {}
    while True:
        try:
            asked, arrays = read(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = _answer(graphs, asked, arrays)
        except Exception as error:  # whatever the library raises is for whoever asked
            answer = {"error": f"{type(error).__name__}: {error}"}, []
        write(out, *answer)


def _answer(
    graphs: dict[int, SimpleMaxFlow], asked: dict[str, Any], arrays: list[Numbers]
) -> tuple[dict[str, object], list[Numbers]]:
    from ortools.graph.python import max_flow

    for number in asked["dropped"]:
        graphs.pop(number, None)
    *graph, arcs, capacities = arrays
    if asked["new"]:
        tails, heads, wide = graph
        graphs[asked["graph"]] = max_flow.SimpleMaxFlow()
        graphs[asked["graph"]].add_arcs_with_capacity(tails.astype(np.int32), heads.astype(np.int32), wide)
    solver, rows = graphs[asked["graph"]], capacities.reshape(asked["solves"], len(arcs))
    status, values = solve_each(solver, asked["source"], asked["sink"], arcs, rows)
    if not asked["flows"]:
        return {"status": status.name}, [values]
    every = np.arange(solver.num_arcs(), dtype=np.int32)
    flows = np.asarray(solver.flows(every) if len(every) else (), dtype=np.int64)
    return {"status": status.name}, [values, flows, np.asarray(solver.get_source_side_min_cut(), dtype=np.int64)]


if __name__ == "__main__":
    main()
