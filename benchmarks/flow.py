"""Unique and pairwise attention flow, and flows of graphs, against general solvers: `python -m benchmarks.flow [--quick]`.

Prints tables of CPU seconds, one thread, and ends with one JSON line of ratios. Attention is synthetic (softmax of Gaussian
logits of spread 2, residual 0.5, seed 0). Every solve runs in a process of its own; peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from accredit.core import FloatArray
from accredit.flow import LayeredNetwork, PairFlows
from accredit.flow.network import integer_shift
from accredit.flow.solver import solve
from benchmarks.flow_runs import LAYERS, attention
from benchmarks.record import record

ROOT = Path(__file__).parent.parent
SHUFFLED = 512  # tokens up to which a prompt is also solved in random order


def run(problem: str, tokens: int, layers: int) -> dict[str, Any]:
    """One solve in its own process, one thread."""
    command = [sys.executable, "-m", "benchmarks.flow_runs", problem, str(tokens), str(layers)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def installed(*libraries: str) -> bool:
    """Whether every library can be imported."""
    return all(importlib.util.find_spec(name) for name in libraries)


def unique_flows(sizes: tuple[int, ...], layers: int) -> dict[str, float]:
    """Barrier and l2 here and by Clarabel."""
    print(f"\nUnique joint flow, L = {layers}, epsilon = 1e-6; CPU s / peak MB / iterations")
    print(f"{'rule':8} {'T':>4}   {'accredit':>24}   {'CVXPY + Clarabel':>24}   {'ratio':>6}   credit differs by")
    ratios = {}
    for rule in ("barrier", "l2"):
        for tokens in sizes:
            ours = run(f"accredit-{rule}", tokens, layers)
            line = f"{rule:8} {tokens:4}   {ours['seconds']:9.4f} / {ours['megabytes']:4.0f} / {ours['iterations']:3}  "
            if installed("cvxpy", "clarabel"):
                theirs = run(rule, tokens, layers)
                ratio = theirs["seconds"] / ours["seconds"]
                apart = float(np.abs(np.array(ours["credit"]) - theirs["credit"]).max())
                line += f"   {theirs['seconds']:9.3f} / {theirs['megabytes']:4.0f} / {theirs['iterations']:3}  "
                line += f"   {ratio:5.0f}x   {apart:.1e} ({theirs['status']})"
                ratios[f"{rule}_T{tokens}_vs_clarabel"] = round(ratio, 1)
            print(line, flush=True)
    return ratios


def growth(sizes: tuple[int, ...], layers: int) -> dict[str, float]:
    """Barrier cost against the flops of its factorisations."""
    print(f"\nGrowth of the barrier solve, L = {layers}: against 7/3·L·T³ flops a factorisation")
    print("   T      CPU s   peak MB   its     unbalanced        gap     cost    flops")
    figures: dict[str, float] = {}
    first: dict[str, Any] = {}
    for tokens in sizes:
        ours = run("accredit-barrier", tokens, layers)
        first = first or ours | {"tokens": tokens}
        flops = (tokens / first["tokens"]) ** 3 * ours["iterations"] / first["iterations"]
        cost = ours["seconds"] / first["seconds"]
        print(
            f"{tokens:4}   {ours['seconds']:8.3f}   {ours['megabytes']:7.0f}   {ours['iterations']:3}   "
            f"{ours['conservation']:12.1e}   {ours['gap']:8.1e}   {cost:5.1f}x   {flops:5.1f}x",
            flush=True,
        )
        figures = {
            f"barrier_T{tokens}_seconds": round(ours["seconds"], 3),
            f"barrier_T{tokens}_megabytes": round(ours["megabytes"]),
            f"barrier_T{tokens}_iterations": ours["iterations"],
            "growth_cost": round(cost, 1),
            "growth_flops": round(flops, 1),
        }
    return figures


def prompts(sizes: tuple[int, ...], layers: int = 4) -> dict[str, float]:
    """Flow from the last token of long prompts, the baseline of uniform attention, and the same without the triangle."""
    print(f"\nCausal attention from the last token, L = {layers}, epsilon = 1e-6; CPU s / peak MB / iterations")
    print("   T            as it is      uniform attention   as the baseline   tokens shuffled   ratio")
    figures: dict[str, float] = {}
    for tokens in sizes:
        ours, even = (run(f"prompt-{kind}", tokens, layers) for kind in ("causal", "uniform"))
        line = f"{tokens:4}   " + "   ".join(
            f"{x['seconds']:7.2f} / {x['megabytes']:4.0f} / {x['iterations']:2}" for x in (ours, even)
        )
        figures[f"prompt_T{tokens}_seconds"] = round(ours["seconds"], 2)
        figures[f"prompt_T{tokens}_megabytes"] = round(ours["megabytes"])
        figures[f"prompt_T{tokens}_uniform_seconds"] = round(even["seconds"], 2)
        beside = run("baseline", tokens, layers)
        off = float(np.abs(np.array(beside["credit"]) - even["credit"]).sum() / 2)
        figures[f"prompt_T{tokens}_baseline_seconds"] = round(beside["seconds"], 2)
        figures[f"prompt_T{tokens}_baseline_off"] = round(off, 5)
        line += f"   {beside['seconds']:5.2f}, {off:.1e} off"
        if tokens <= SHUFFLED:
            plain = run("prompt-shuffled", tokens, layers)
            figures[f"prompt_T{tokens}_vs_shuffled"] = round(plain["seconds"] / ours["seconds"], 2)
            line += f"   {plain['seconds']:7.2f} / {plain['megabytes']:4.0f}   {plain['seconds'] / ours['seconds']:5.1f}x"
        print(line, flush=True)
    return figures


def one_solve_a_pair(capacity: FloatArray) -> tuple[float, FloatArray]:
    """Flows from output 0 to every input: OR-tools on the whole graph, arcs built once, one call a pair."""
    from ortools.graph.python import max_flow  # loaded here, it also stays here for accredit: its time is counted

    layers, tokens = capacity.shape[:2]
    scale = 2.0 ** integer_shift(float(capacity[-1, 0].sum()))
    layer, tail, head = np.nonzero(capacity)
    solver = max_flow.SimpleMaxFlow()
    solver.add_arcs_with_capacity(
        ((layer + 1) * tokens + tail).astype(np.int32),
        (layer * tokens + head).astype(np.int32),
        np.floor(capacity[layer, tail, head] * scale).astype(np.int64),
    )
    began = time.process_time()
    flows = np.array([solve(solver, layers * tokens, j) / scale for j in range(tokens)])
    return time.process_time() - began, flows


def pairwise(tokens: int, layers: int) -> dict[str, float]:
    """One row of pairwise flow here, by OR-tools and by networkx."""
    capacity = LayeredNetwork.from_attention(attention(tokens, layers)).capacity
    each, flows = one_solve_a_pair(capacity)
    began = time.process_time()
    pairs = PairFlows(capacity)
    row = pairs.row(0)
    ours = time.process_time() - began
    print(f"\nPairwise flow, one output to {tokens} inputs, L = {layers}: CPU s for the row")
    print(f"accredit             {ours:10.4f}   ({pairs.solves} of {tokens} pairs needed a solver)")
    print(f"OR-tools per pair    {each:10.4f}   flows differ by {np.abs(row - flows).max():.1e}")
    ratios = {f"pairwise_T{tokens}_vs_ortools": round(each / ours, 1)}
    if installed("networkx"):
        peer = run("pairs", tokens, layers)
        theirs = peer["seconds_per_pair"] * tokens
        apart = float(np.abs(row[: len(peer["flows"])] - peer["flows"]).max())
        print(
            f"networkx EK          {theirs:10.1f}   from {len(peer['flows'])} pairs; flows differ by {apart:.1e}",
            flush=True,
        )
        ratios[f"pairwise_T{tokens}_vs_networkx"] = round(theirs / ours)
    return ratios


def ordinary(sizes: tuple[int, ...], beside: int) -> dict[str, float]:
    """Maximum flows of ordinary graphs, proof and verdict on uniqueness included; and by Clarabel up to a size."""
    print("\nOrdinary graphs, one maximum flow by rule, epsilon = 1e-6; CPU s / iterations")
    print(
        f"{'graph':8} {'rule':8} {'edges':>8}   {'accredit':>14}   {'Clarabel alone':>18}   {'ratio':>7}   "
        f"{'with CVXPY':>10}   values differ by"
    )
    figures: dict[str, float] = {}
    for kind in ("random", "grid"):
        for rule in ("barrier", "l2", "l1"):
            for size in sizes:
                ours = run(f"graph-{kind}-{rule}", size, 0)
                figures[f"graph_{kind}_{rule}_{size}_seconds"] = round(ours["seconds"], 3)
                line = f"{kind:8} {rule:8} {ours['edges']:8,}   {ours['seconds']:8.3f} / {ours['iterations']:3}"
                if size <= beside and rule != "l1" and installed("cvxpy", "clarabel"):
                    theirs = run(f"clarabel-graph-{kind}-{rule}", size, 0)
                    ratio, whole = (theirs[key] / ours["seconds"] for key in ("seconds", "seconds_asked"))
                    figures[f"graph_{kind}_{rule}_{size}_vs_clarabel"] = round(ratio, 1)
                    figures[f"graph_{kind}_{rule}_{size}_vs_cvxpy"] = round(whole, 1)
                    line += f"   {theirs['seconds']:12.3f} / {theirs['iterations']:3}   {ratio:6.1f}x   {whole:9.1f}x"
                    line += f"   {abs(ours['value'] - theirs['value']):.1e} ({theirs['status']})"
                print(line, flush=True)
    return figures


def main() -> None:
    """Run everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes only, a few seconds")
    parser.add_argument("--graphs", action="store_true", help="ordinary graphs only")
    choice = parser.parse_args()
    quick, layers = choice.quick, 4 if choice.quick else LAYERS
    if choice.graphs:
        record(ordinary((200,) if quick else (10_000, 100_000), 200 if quick else 10_000))
        return
    figures = pairwise(8 if quick else 64, layers)
    figures |= growth((8, 16) if quick else (64, 128, 256, 512), layers)
    figures |= unique_flows((6,) if quick else (8, 32, 64, 128), layers)
    figures |= ordinary((200,) if quick else (10_000, 100_000), 200 if quick else 10_000)
    figures |= prompts((16, 32) if quick else (512, 1000, 2000))
    record(figures)


if __name__ == "__main__":
    main()
