"""Other libraries' influence of networks behind one signature: kronfluence, TRAK and dattri, as their authors ship them.

A library that is not installed is left out and named: `pip install kronfluence traker dattri` (Apache-2.0, MIT, MIT). bergson
(2.5.1) takes language models of Hugging Face only, so that it cannot be asked about these networks. Scores are (rows, targets);
positive: the row helps.
"""

from __future__ import annotations

import importlib.util
import logging
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from accredit.checks.numbers import FloatArray
from accredit.influence.losses import Batch

DIMENSIONS = 128  # of TRAK's projection; no other number was tried here
DAMPING = 5e-4  # of dattri: the weight decay of the networks in benchmarks/networks.py
TARGETS_AT_A_TIME = 64

Peer = Callable[[Sequence[Any], Batch, Batch], FloatArray]  # (trained models, training rows, targets) -> scores


def kronfluence_ekfac(models: Sequence[Any], train: Batch, tests: Batch) -> FloatArray:
    """Pairwise scores of EK-FAC with kronfluence's heuristic damping, a tenth of the mean eigenvalue; the mean over models."""
    return np.mean([_kronfluence(model, train, tests) for model in models], axis=0)


def _kronfluence(model: Any, train: Batch, tests: Batch) -> FloatArray:
    import copy

    import torch
    from kronfluence.analyzer import Analyzer, prepare_model
    from kronfluence.arguments import ScoreArguments
    from kronfluence.task import Task
    from torch.utils.data import TensorDataset

    class Classification(Task):
        def compute_train_loss(self, batch: Any, model: Any, sample: bool = False) -> Any:
            logits = model(batch[0])
            labels = torch.multinomial(logits.detach().softmax(dim=-1), 1).flatten() if sample else batch[1]
            return torch.nn.functional.cross_entropy(logits, labels, reduction="sum")

        def compute_measurement(self, batch: Any, model: Any) -> Any:
            return self.compute_train_loss(batch, model)

    torch.manual_seed(0)
    task, rows, targets = Classification(), *(TensorDataset(b["x"], b["labels"]) for b in (train, tests))
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare_model(copy.deepcopy(model), task)
        analyzer = Analyzer("digits", prepared, task, cpu=True, output_dir=folder, disable_tqdm=True)
        analyzer.fit_all_factors("ekfac", rows, per_device_batch_size=128)
        analyzer.compute_pairwise_scores(
            "scores",
            "ekfac",
            query_dataset=targets,
            train_dataset=rows,
            per_device_query_batch_size=TARGETS_AT_A_TIME,
            per_device_train_batch_size=128,
            score_args=ScoreArguments(damping_factor=None),
        )
        scores = analyzer.load_pairwise_scores("scores")
    return np.asarray(scores["all_modules"].numpy().T, dtype=np.float64)


def trak(models: Sequence[Any], train: Batch, tests: Batch) -> FloatArray:
    """TRAK's scores of the margin of the right class, over all models."""
    import torch
    from trak import TRAKer
    from trak.projectors import BasicProjector, ProjectionType

    rows, targets = len(train["labels"]), len(tests["labels"])

    def tracker(folder: str) -> Any:
        """It lets go of its projector after the training rows, so targets are scored by another one on the same folder."""
        projector = BasicProjector(
            grad_dim=sum(p.numel() for p in models[0].parameters()),
            proj_dim=DIMENSIONS,
            seed=0,
            proj_type=ProjectionType.normal,
            device=torch.device("cpu"),
            dtype=torch.float32,
            block_size=DIMENSIONS,
        )
        return TRAKer(
            models[0],
            "image_classification",
            train_set_size=rows,
            save_dir=folder,
            device="cpu",
            projector=projector,
            proj_dim=DIMENSIONS,
            use_half_precision=False,
            logging_level=logging.ERROR,
        )

    with tempfile.TemporaryDirectory() as folder:
        first = tracker(folder)
        for number, model in enumerate(models):
            first.load_checkpoint(model.state_dict(), model_id=number)
            first.featurize(batch=(train["x"], train["labels"]), num_samples=rows)
        first.finalize_features()
        second = tracker(folder)
        for number, model in enumerate(models):
            second.start_scoring_checkpoint("digits", model.state_dict(), number, num_targets=targets)
            second.score(batch=(tests["x"], tests["labels"]), num_samples=targets)
        return np.array(second.finalize_scores("digits"), dtype=np.float64)


def dattri_ekfac(models: Sequence[Any], train: Batch, tests: Batch) -> FloatArray:
    """dattri's EK-FAC; its damping is 0 unless one is given: here the weight decay that the networks are trained with."""
    return np.mean([_dattri(model, train, tests, "ekfac") for model in models], axis=0)


def dattri_cg(models: Sequence[Any], train: Batch, tests: Batch) -> FloatArray:
    """dattri's conjugate gradients on the Hessian, ten steps as it ships, damped by the same weight decay."""
    return np.mean([_dattri(model, train, tests, "cg") for model in models], axis=0)


def _dattri(model: Any, train: Batch, tests: Batch, kind: str) -> FloatArray:
    import copy

    import torch
    from dattri.algorithm.influence_function import IFAttributorCG, IFAttributorEKFAC
    from dattri.task import AttributionTask
    from torch.utils.data import DataLoader, TensorDataset

    own = copy.deepcopy(model)

    def loss(parameters: Any, rows: Any) -> Any:
        x, y = rows
        x, y = (x[None], y[None]) if y.dim() == 0 else (x, y)  # one row, or a batch
        return torch.nn.functional.cross_entropy(torch.func.functional_call(own, parameters, x), y)

    task = AttributionTask(loss_func=loss, model=own, checkpoints=own.state_dict())
    many, few = (DataLoader(TensorDataset(b["x"], b["labels"]), batch_size=500) for b in (train, tests))
    if kind == "ekfac":
        by_factors = IFAttributorEKFAC(task, damping=DAMPING)
        by_factors.cache(many)
        found = by_factors.attribute(many, few)
    else:
        by_steps = IFAttributorCG(task, regularization=DAMPING)
        by_steps.cache(many)
        found = by_steps.attribute(many, few)
    return np.asarray(found.detach().numpy(), dtype=np.float64)


_PEERS: dict[str, tuple[str, Peer]] = {
    "kronfluence EK-FAC": ("kronfluence", kronfluence_ekfac),
    f"TRAK, {DIMENSIONS} dimensions": ("trak", trak),
    "dattri EK-FAC": ("dattri", dattri_ekfac),
    "dattri CG": ("dattri", dattri_cg),
}


def network_peers() -> dict[str, Peer]:
    """The peers that are installed; the others are named."""
    for library in sorted({library for library, _ in _PEERS.values() if importlib.util.find_spec(library) is None}):
        print(f"{library} is not installed and is left out")
    return {name: run for name, (library, run) in _PEERS.items() if importlib.util.find_spec(library) is not None}
