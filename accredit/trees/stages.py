"""Asymmetric values of leaves with a background, for players that come in stages.

Every pair of a row and a background row that fails no player of a leaf's path twice is one cube (`masks`). Who earns and who
loses in it is decided by the last stage that A reaches and the first that B reaches (`values.asymmetric`).
"""

from __future__ import annotations

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.trees.forest import Forest
from accredit.trees.masks import LeafCubes, fail_masks, leaf_cubes
from accredit.trees.paths import Paths
from accredit.trees.tables import Background
from accredit.values.asymmetric import share_in_stages


def stage_credit(
    forest: Forest,
    paths: Paths,
    matrix: FloatArray,
    background: Background,
    stage: IntArray,  # (players,)
    earned: FloatArray,  # (players, outputs, rows): added to in place
) -> None:
    """Add the credit of all leaves of some trees."""
    outputs, flat = earned.shape[1], earned.reshape(-1, earned.shape[-1])
    leaf = np.flatnonzero(~paths.inner)
    theirs = fail_masks(forest, paths, leaf, background.matrix)
    for some, mine, cubes in leaf_cubes(forest, paths, leaf, matrix, background, theirs):
        value, output = forest.value[paths.nodes[mine]], forest.output[paths.tree[mine]]
        _add(cubes, value, output, stage, outputs, flat[:, some])


def _add(cubes: LeafCubes, value: FloatArray, output: IntArray, stage: IntArray, outputs: int, earned: FloatArray) -> None:
    present, absent = cubes.sides()
    player = cubes.path[cubes.leaf, : present.shape[1]]  # (cubes, places)
    earning, losing, gain, loss = share_in_stages(present, absent, stage[player])
    for which, share in ((earning, gain), (losing, -loss)):
        cube, place = np.nonzero(which & (share != 0)[:, None])
        leaf = cubes.leaf[cube]
        target, amount = player[cube, place] * outputs + output[leaf], (share * cubes.weight)[cube]
        for v in range(value.shape[1]):
            np.add.at(earned, (target + v, cubes.row[cube]), amount * value[leaf, v])
