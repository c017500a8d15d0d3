"""Influence of networks by kronfluence, TRAK and dattri, as their authors ship them. Runs in their environments.

Networks are stacks of linear layers with ReLU between them; their weights come as arrays `MODEL.LAYER.weight` and `….bias`.
Scores are (rows, targets); positive: the row helps.
"""

from __future__ import annotations

import copy
import logging
import tempfile
from typing import Any

import numpy as np
import torch
from side import serve

TARGETS_AT_A_TIME = 64


def _models(arrays: dict[str, Any]) -> list[torch.nn.Module]:
    models = []
    while any(name.startswith(f"{len(models)}.") for name in arrays):
        own = {k.partition(".")[2]: torch.tensor(v) for k, v in arrays.items() if k.startswith(f"{len(models)}.")}
        depth = len(own) // 2
        layers: list[torch.nn.Module] = []
        for k in range(depth):
            weight = own[f"{k}.weight"]
            layers += [torch.nn.Linear(weight.shape[1], weight.shape[0]), torch.nn.ReLU()]
        model = torch.nn.Sequential(*layers[:-1])
        model.load_state_dict({f"{2 * k}.{part}": own[f"{k}.{part}"] for k in range(depth) for part in ("weight", "bias")})
        models.append(model.eval())
    return models


def _sets(x: Any, y: Any, test_x: Any, test_y: Any) -> list[tuple[torch.Tensor, torch.Tensor]]:
    torch.set_num_threads(1)
    return [(torch.tensor(a, dtype=torch.float32), torch.tensor(b)) for a, b in ((x, y), (test_x, test_y))]


def kronfluence_ekfac(x: Any, y: Any, test_x: Any, test_y: Any, **weights: Any) -> dict[str, Any]:
    """Pairwise scores of EK-FAC with kronfluence's heuristic damping, a tenth of the mean eigenvalue; the mean over models."""
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

    rows, targets = (TensorDataset(*pair) for pair in _sets(x, y, test_x, test_y))
    each = []
    for model in _models(weights):
        torch.manual_seed(0)
        task = Classification()
        with tempfile.TemporaryDirectory() as folder:
            analyzer = Analyzer("networks", prepare_model(model, task), task, cpu=True, output_dir=folder, disable_tqdm=True)
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
            each.append(analyzer.load_pairwise_scores("scores")["all_modules"].numpy().T)
    return {"scores": np.mean(each, axis=0, dtype=np.float64)}


def trak(dimensions: int, x: Any, y: Any, test_x: Any, test_y: Any, **weights: Any) -> dict[str, Any]:
    """TRAK's scores of the margin of the right class, over all models."""
    from trak import TRAKer
    from trak.projectors import BasicProjector, ProjectionType

    (train_x, train_y), (target_x, target_y) = _sets(x, y, test_x, test_y)
    models = _models(weights)

    def tracker(folder: str) -> Any:
        """It lets go of its projector after the training rows, so targets are scored by another one on the same folder."""
        projector = BasicProjector(
            grad_dim=sum(p.numel() for p in models[0].parameters()),
            proj_dim=dimensions,
            seed=0,
            proj_type=ProjectionType.normal,
            device=torch.device("cpu"),
            dtype=torch.float32,
            block_size=dimensions,
        )
        return TRAKer(
            models[0],
            "image_classification",
            train_set_size=len(train_y),
            save_dir=folder,
            device="cpu",
            projector=projector,
            proj_dim=dimensions,
            use_half_precision=False,
            logging_level=logging.ERROR,
        )

    with tempfile.TemporaryDirectory() as folder:
        first = tracker(folder)
        for number, model in enumerate(models):
            first.load_checkpoint(model.state_dict(), model_id=number)
            first.featurize(batch=(train_x, train_y), num_samples=len(train_y))
        first.finalize_features()
        second = tracker(folder)
        for number, model in enumerate(models):
            second.start_scoring_checkpoint("networks", model.state_dict(), number, num_targets=len(target_y))
            second.score(batch=(target_x, target_y), num_samples=len(target_y))
        return {"scores": np.array(second.finalize_scores("networks"), dtype=np.float64)}


def dattri(kind: str, damping: float, x: Any, y: Any, test_x: Any, test_y: Any, **weights: Any) -> dict[str, Any]:
    """dattri's EK-FAC, or its conjugate gradients on the Hessian, ten steps as it ships; the mean over models."""
    from dattri.algorithm.influence_function import IFAttributorCG, IFAttributorEKFAC
    from dattri.task import AttributionTask
    from torch.utils.data import DataLoader, TensorDataset

    each = []
    many, few = (DataLoader(TensorDataset(*pair), batch_size=500) for pair in _sets(x, y, test_x, test_y))
    for model in _models(weights):
        own = copy.deepcopy(model)

        def loss(parameters: Any, rows: Any, own: Any = own) -> Any:
            values, labels = rows
            values, labels = (values[None], labels[None]) if labels.dim() == 0 else (values, labels)
            return torch.nn.functional.cross_entropy(torch.func.functional_call(own, parameters, values), labels)

        task = AttributionTask(loss_func=loss, model=own, checkpoints=own.state_dict())
        asked = IFAttributorEKFAC(task, damping=damping) if kind == "ekfac" else IFAttributorCG(task, regularization=damping)
        asked.cache(many)
        each.append(asked.attribute(many, few).detach().numpy())
    return {"scores": np.mean(each, axis=0, dtype=np.float64)}


if __name__ == "__main__":
    serve({"kronfluence_ekfac": kronfluence_ekfac, "trak": trak, "dattri": dattri})
