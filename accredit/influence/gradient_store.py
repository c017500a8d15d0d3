r"""A store of projected gradients: k numbers for each training row, on disk, searched for any query without the training rows.

Every layer's gradient is projected on both sides while it is formed (`projections.py`), so that a full gradient never exists. A
query is projected alike, multiplied by the inverse of each layer's k × k Gauss–Newton matrix, damped, and then by every stored
row:

$$s_i = \frac1N \sum_{\text{layers}} \phi_q^\top (G + \lambda I)^{-1} \phi_i, \qquad
  G = \frac1N \sum_{j, c} p_{jc}\, \phi_{jc} \phi_{jc}^\top .$$

The matrix averages over the labels that the model itself believes in, as everywhere here. That of the labels that were given
(TRAK's) is ruled by the few rows that a trained model has wrong, and can do worse than no matrix at all.

For large λ the scores are those of the plain dot product of what is stored, for small ones those of the block solution. What
random sides project away costs more than either choice: of film networks, the dot product itself falls from 0.40 to 0.28
(linear datamodeling score) under 16 × 16 random sides, where no λ makes up for it.

The folder holds `store.json`, the sides and a safetensors file for each block of rows; a broken run goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

import numpy as np

from accredit.checks import check_text, whole_number
from accredit.checks.files import put, read_json_object
from accredit.core import FloatArray, Procedure
from accredit.errors import InvalidInput
from accredit.influence.functions import Influences, Stationarity, stationarity
from accredit.influence.layers import Layer, LayerRecord
from accredit.influence.losses import Batch, check_rows
from accredit.influence.network import Network, NetworkFacts, facts_of, weights_of
from accredit.influence.projections import PRINCIPAL, RANDOM, SIDES, Projection, principal_sides, random_sides

if TYPE_CHECKING:
    import torch


PROJECTED_SIDE = 16  # k_in and k_out, at least: 256 numbers for each layer and row
NUMBERS_PER_ROW = 1024  # up to which sides are wider, where layers are few
BLOCK_ROWS, FILE_BYTES = 4096, 1 << 25  # rows and bytes of one file, at most: what a broken run loses
DAMPING = 1.0  # of the mean eigenvalue of a layer's matrix; benchmarks/networks.py holds it beside the plain dot product
LABEL_DRAWS = 2  # of labels for every row, where they are too many to list
STORE_FORMAT = 4
MOMENTS, MEAN, SQUARE = "moments of ", "mean of ", "square of "  # before a layer: its matrix, mean gradient, mean squared norm
LOSS, BLOCKS = "mean loss", "blocks"  # of all rows so far, and of how many blocks the sums are
AGAIN = "give the training rows again: GradientStore.build, or trace(…, train_texts=[…])"


class StoreFacts(TypedDict):
    """What `store.json` says of a store."""

    format: int
    rows: int
    names: list[str] | None
    side: int
    half: bool  # numbers are bfloat16
    seed: int
    sides: NotRequired[str]  # principal; not there: random
    widths: dict[str, int]  # layer -> numbers for each row
    block: int  # rows of one file
    model: str
    data: str
    constant: float | None  # the mean loss of one answer for all rows
    facts: NetworkFacts


class GradientStore:
    """Projected gradients of training rows in a folder. Fill it once with `build`, then `search` it for any query.

    >>> import tempfile, torch
    >>> from accredit.influence.network import network
    >>> torch.manual_seed(0) and None
    >>> x = torch.randn(30, 5); y = (x[:, 0] > 0).long()
    >>> net = network(torch.nn.Linear(5, 2), loss="classification")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = GradientStore.build(folder, net, {"x": x, "labels": y})
    ...     found = store.search(net, {"x": x[:2], "labels": y[:2]})
    >>> found.matrix.shape
    (30, 2)
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.about = cast(StoreFacts, read_json_object(self.folder / "store.json"))
        except InvalidInput as error:
            raise InvalidInput(
                f"{self.folder} is not a gradient store: {error}. Make one from the training texts: "
                "trace(…, train_texts=[…], folder=…), or GradientStore.build",
                argument="folder",
                code="unreadable",
            ) from None
        if self.about.get("format") != STORE_FORMAT:
            raise InvalidInput(
                f"{self.folder} has format {self.about.get('format')!r}, this version reads {STORE_FORMAT}; delete it, and "
                f"{AGAIN}",
                argument="folder",
                code="format",
            )

    def __len__(self) -> int:
        return int(self.about["rows"])

    @property
    def complete(self) -> bool:
        filled = self._moments_file.exists() and int(self._sums()[BLOCKS]) == self._blocks
        return filled and all(self._file(block).exists() for block in range(self._blocks))

    @classmethod
    def build(
        cls,
        folder: str | Path,
        net: Network,
        train: Batch,
        *,
        names: Sequence[str] | None = None,
        side: int | None = None,
        sides: str = PRINCIPAL,
        half: bool = False,
        seed: int = 0,
        watch: Callable[[int], None] | None = None,
    ) -> GradientStore:
        """Fill the folder, or go on filling it; a folder of another model, data or projection is refused.

        `sides` are principal directions of up to 2,000 rows, or "random", which needs no pass before the first. Left out,
        `side` is 16, or as wide as 1,024 numbers per row allow. The bytes on disk are known beforehand, and refused where they
        do not fit. `half` keeps two bytes per number (bfloat16) instead of four. `watch` is called with the rows done so far.
        """
        check_text(str(folder), "folder")  # safetensors opens no other
        rows = check_rows(train, "train")
        if side is not None:
            whole_number(side, "side", example=PROJECTED_SIDE)
        side = side or _usual_side(net)
        if sides not in SIDES:
            raise InvalidInput(f"sides is {sides!r}; write {' or '.join(SIDES)}", argument="sides", code="unknown")
        widths = {layer.name: _width(layer, side) for layer in net.layers}
        if names is not None and len(names) != rows:
            raise InvalidInput(
                f"{len(names)} names for {rows} training rows; give one for each", argument="names", code="shape"
            )
        about: StoreFacts = {
            "format": STORE_FORMAT,
            "rows": rows,
            "names": None if names is None else list(names),
            "side": side,
            "half": half,
            "seed": seed,
            "widths": widths,
            "block": max(1, min(BLOCK_ROWS, FILE_BYTES // (4 * sum(widths.values())))),
            "model": model_digest(net),
            "data": data_digest(train),
            "constant": net.constant_loss(train),
            "facts": facts_of(net),
        }
        if sides != RANDOM:
            about["sides"] = sides
        path = Path(folder)
        _check_sizes(path, net, rows, widths, half)
        path.mkdir(parents=True, exist_ok=True)
        if (path / "store.json").exists():
            store = cls(path)
            there, wanted = dict(store.about), json.loads(json.dumps(about))
            if changed := [key for key in {**wanted, **there} if there.get(key) != wanted.get(key)]:
                raise InvalidInput(
                    f"{path} holds a store with other {', '.join(changed)}; name another folder",
                    argument="folder",
                    code="conflict",
                )
        else:
            put(path / "store.json", json.dumps(about, ensure_ascii=False).encode())
            store = cls(path)
        store._fill(net, train, watch or (lambda done: None))
        return store

    def _fill(self, net: Network, train: Batch, watch: Callable[[int], None]) -> None:
        import torch
        from safetensors.torch import save

        measure = random_sides(net, self.about["side"], self.about["seed"])  # keeps norms on average, as `stationarity` needs
        project = self._principal(net, train) if "sides" in self.about else measure
        kept_as = torch.bfloat16 if self.about["half"] else torch.float32
        sums = self._sums() if self._moments_file.exists() else {}
        for block in range(int(sums.get(BLOCKS, torch.tensor(0))), self._blocks):
            rows = slice(block * self._block, (block + 1) * self._block)
            part = {name: value[rows] for name, value in train.items()}
            found, measured = [], []
            for done, losses, seen in net.passes(part):
                found.append(project.apply(net.layers, seen))
                measured.append(found[-1] if project is measure else measure.apply(net.layers, seen))
                _add(sums, LOSS, losses.double().sum() / len(self))
                watch(min(rows.start + done.stop, rows.stop, len(self)))
            tensors = {n: torch.cat([f[n] for f in found]).to(kept_as).cpu().contiguous() for n in found[0]}
            if not all(bool(torch.isfinite(t).all()) for t in tensors.values()):
                raise InvalidInput(
                    f"rows {rows.start} … have gradients that are not finite; give the model in float32", code="not-finite"
                )
            for name in tensors:
                t = tensors[name] if project is measure else torch.cat([f[name] for f in measured])
                _add(sums, MEAN + name, t.double().sum(dim=0) / len(self))
                _add(sums, SQUARE + name, (t.double() ** 2).sum() / len(self))
            for outcomes in net.fisher(part, self.about["seed"] + block, LABEL_DRAWS):
                for label in range(next(iter(outcomes.values())).g.shape[1]):
                    told = {n: LayerRecord(s.a, s.g[:, label]) for n, s in outcomes.items()}
                    for name, phi in project.apply(net.layers, told).items():
                        _add(sums, MOMENTS + name, (phi.T @ phi / len(self)).double())
            put(self._file(block), save(tensors))
            sums[BLOCKS] = torch.tensor(block + 1)
            whole = block + 1 < self._blocks  # what is added to stays in float64
            put(self._moments_file, save(sums if whole else {n: v.float() for n, v in sums.items()}))

    def _principal(self, net: Network, train: Batch | None = None) -> Projection:
        """The sides in the folder, or those of these rows, which are then put there."""
        from safetensors.torch import save

        kept = self.folder / "sides.safetensors"
        if train is None or kept.exists():
            return Projection.of(self._tensors(kept), net)
        found = principal_sides(net, train, self.about["side"], self.about["seed"])
        put(kept, save(found.tensors()))
        return found

    def stationarity(self) -> Stationarity:
        """‖∇J‖ beside the norm of a typical row's gradient, both estimated under random sides, which keep norms on average.
        Weight decay is not part of it."""
        self._check_complete()
        held = self._sums()
        gradient = sum(float((v**2).sum()) for name, v in held.items() if name.startswith(MEAN))
        typical = sum(float(v) for name, v in held.items() if name.startswith(SQUARE))
        return stationarity(gradient**0.5, typical**0.5, len(self), float(held[LOSS]), self.about["constant"])

    @cached_property
    def _moments(self) -> dict[str, torch.Tensor]:
        return {n.removeprefix(MOMENTS): v.double() for n, v in self._sums().items() if n.startswith(MOMENTS)}

    def _check_complete(self) -> None:
        if not self.complete:
            raise InvalidInput(f"the store in {self.folder} is not complete; {AGAIN}", code="missing")

    def _sums(self) -> dict[str, torch.Tensor]:
        return self._tensors(self._moments_file)

    def search(
        self, net: Network, queries: Batch, *, damping: float = DAMPING, targets: Sequence[str] | None = None
    ) -> Influences:
        """The influence of every stored row on every query, from k numbers a row; the training rows are not touched.

        `damping` is relative to the mean eigenvalue of each layer's matrix. Divide by the root of `self_influence`
        to compare long rows with short ones.
        """
        import torch

        asked = check_rows(queries, "queries")
        self._check_complete()
        if model_digest(net) != self.about["model"]:
            raise InvalidInput(
                "the store was built with other weights or layers; give the model that it was built with", code="conflict"
            )
        if not damping > 0:
            raise InvalidInput(
                f"damping must be positive, got {damping!r}; {DAMPING:g} × the mean eigenvalue is the default",
                argument="damping",
                code="range",
            )
        side, seed = self.about["side"], self.about["seed"]
        project = self._principal(net) if "sides" in self.about else random_sides(net, side, seed)
        found = [project.apply(net.layers, seen) for _, _, seen in net.passes(queries)]
        right = {}
        for name, moments in self._moments.items():
            phi = torch.cat([f[name] for f in found]).double().cpu()
            added = damping * float(moments.diagonal().mean())
            right[name] = torch.linalg.solve(moments + max(added, 1e-30) * torch.eye(len(moments)), phi.T).float()
        matrix = np.empty((len(self), asked))
        for block in range(self._blocks):
            parts = torch.stack([rows @ right[name] for name, rows in self._read(block).items()])
            matrix[block * self._block : block * self._block + parts.shape[1]] = parts.sum(dim=0).numpy()
        facts = {
            **self.about["facts"],
            "side": self.about["side"],
            "damping": f"{damping} × mean eigenvalue of each layer",
        }
        players = tuple(self.about["names"] or (f"row {i}" for i in range(len(self))))
        asked_for = tuple(targets) if targets is not None else tuple(f"query {i}" for i in range(asked))
        return Influences(players, asked_for, matrix / len(self), Procedure("influence", "projected gradients"), facts)

    def self_influence(self, damping: float = DAMPING) -> FloatArray:
        """φᵢᵀ(moments + λ)⁻¹φᵢ of every row (N,): how much it moves the model about itself; long and odd rows do most."""
        import torch

        self._check_complete()
        inverses = {
            name: torch.linalg.inv(m + max(damping * float(m.diagonal().mean()), 1e-30) * torch.eye(len(m))).float()
            for name, m in self._moments.items()
        }
        parts = [
            sum((rows @ inverses[name] * rows).sum(dim=1) for name, rows in self._read(block).items()).numpy()  # type: ignore[union-attr]
            for block in range(self._blocks)
        ]
        return np.concatenate(parts).astype(np.float64)

    @property
    def _block(self) -> int:
        return int(self.about["block"])

    @property
    def _blocks(self) -> int:
        return -(-len(self) // self._block)

    @property
    def _moments_file(self) -> Path:
        return self.folder / "moments.safetensors"

    def _file(self, block: int) -> Path:
        return self.folder / f"rows-{block:06d}.safetensors"

    def _read(self, block: int) -> dict[str, torch.Tensor]:
        return {name: rows.float() for name, rows in self._tensors(self._file(block)).items()}

    def _tensors(self, file: Path) -> dict[str, torch.Tensor]:
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return dict(load_file(file))
        except (OSError, SafetensorError) as error:
            raise InvalidInput(f"{file} cannot be read: {error}; delete it, and {AGAIN}", code="unreadable") from None


def _usual_side(net: Network) -> int:
    """The widest side, from 16 on, with which a row takes no more than 1,024 numbers.

    >>> import torch
    >>> from accredit.influence.network import network
    >>> _usual_side(network(torch.nn.Linear(99, 50), loss="classification"))
    32
    """
    side, widest = PROJECTED_SIDE, max(max(layer.inputs, layer.outputs) for layer in net.layers)
    while side < widest and sum(_width(layer, side + 1) for layer in net.layers) <= NUMBERS_PER_ROW:
        side += 1
    return side


def _width(layer: Layer, side: int) -> int:
    return min(side, layer.inputs) * min(side, layer.outputs)


def _add(sums: dict[str, torch.Tensor], name: str, value: torch.Tensor) -> None:
    """Add to a sum, on the CPU, or begin it."""
    sums[name] = sums[name] + value.cpu() if name in sums else value.cpu().contiguous()


def _check_sizes(path: Path, net: Network, rows: int, widths: Mapping[str, int], half: bool) -> None:
    """Refuse, before anything is written or held, what does not fit."""
    numbers, squares = sum(widths.values()), sum(width**2 for width in widths.values())
    held = 4 * min(rows * numbers, FILE_BYTES // 4) + 8 * squares
    if held > net.memory:
        raise InvalidInput(
            f"{len(widths)} layers of up to {max(widths.values()):,} numbers need about {held / 1e9:.1f} GB and memory "
            f"allows {net.memory / 1e9:.1f} GB; lower side, look at some layers only (layers=[…]), "
            "or raise memory",
            argument="memory",
            code="too-many",
        )
    there = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    free, needed = shutil.disk_usage(there).free, (2 if half else 4) * rows * numbers + 4 * squares
    if needed > free and not (path / "store.json").exists():
        raise InvalidInput(
            f"{rows:,} rows of {numbers:,} numbers take {needed / 1e9:.1f} GB and {there} has {free / 1e9:.1f} GB left; "
            "lower side, look at some layers only (layers=[…]), or choose another folder",
            argument="folder",
            code="too-many",
        )


def model_digest(net: Network) -> str:
    """A digest of the layers and their weights."""
    digest = hashlib.sha256(repr([(o.name, o.kind, o.inputs, o.outputs) for o in net.layers]).encode())
    for layer in net.layers:
        digest.update(weights_of(layer).float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def data_digest(data: Batch) -> str:
    digest = hashlib.sha256()
    for name in sorted(data):
        value = data[name].detach().cpu().contiguous()
        digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
        digest.update(value.numpy().tobytes())
    return digest.hexdigest()
