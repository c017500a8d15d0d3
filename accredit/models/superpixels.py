r"""Segments of a picture: connected regions of similar colour, as many as are asked for, the same ones every time.

Clusters of pixels in colour and place are grown from a grid, as in SLIC (Achanta et al., 2012), with twice as many as are
wanted. Each cluster keeps its largest connected piece; other pieces go to a neighbour. Then neighbours are merged, always the
two whose merging adds least to the squared distances inside segments (Ward, 1963), until the wanted number is left. So even
parts of the picture become few large segments and busy parts many small ones.
"""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput

CLUSTERING_ROUNDS = 10  # of clustering; more change little
COMPACT = 10.0  # steps of CIELAB colour that weigh as much as the side of one cluster
LONGEST_EDGE = 384  # of a longer edge, every second, third, … pixel is clustered
WHITE = np.array([0.9505, 1.0, 1.089])  # the sum of each row of RGB_TO_XYZ: what white is in XYZ
RGB_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def superpixels(picture: npt.NDArray[np.uint8], count: int) -> IntArray:
    """The segment of every pixel, numbered from 0 in reading order: (H, W) or (H, W, C) -> (H, W).

    >>> halves = np.zeros((6, 8), dtype=np.uint8)
    >>> halves[:, 3:] = 200
    >>> superpixels(halves, 2)[0]
    array([0, 0, 0, 1, 1, 1, 1, 1])
    """
    step = -(-max(picture.shape[:2]) // LONGEST_EDGE)
    small = picture[::step, ::step]
    height, width = small.shape[:2]
    if not 2 <= count <= height * width:
        raise InvalidInput(f"{count} segments were asked for; {height} × {width} pixels make 2…{height * width}", code="range")
    colour = lab(small)
    labels = _connect(_clusters(colour, min(2 * count, height * width)), colour)
    labels = _in_reading_order(_merge(labels, _features(colour, count), count))
    large = np.repeat(np.repeat(labels, step, axis=0), step, axis=1)
    return large[: picture.shape[0], : picture.shape[1]]


def lab(picture: npt.NDArray[np.uint8]) -> FloatArray:
    """Colours of a picture in CIELAB, where equal distances look about equal: (H, W) or (H, W, C) -> (H, W, 3)."""
    rgb = np.atleast_3d(picture)[..., :3].astype(np.float64) / 255
    rgb = np.broadcast_to(rgb, (*rgb.shape[:2], 3))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = linear @ RGB_TO_XYZ.T / WHITE
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = np.moveaxis(f, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def _grid(height: int, width: int, count: int) -> tuple[int, int]:
    """Rows and columns of about square cells, at least `count` of them where there are as many pixels."""
    rows = min(height, max(1, round(float(np.sqrt(count * height / width)))))
    columns = min(width, -(-count // rows))
    return min(height, -(-count // columns)), columns


def _features(colour: FloatArray, count: int) -> FloatArray:
    """Colour and place of every pixel on one scale: (H·W, 5)."""
    height, width = colour.shape[:2]
    across = COMPACT / np.sqrt(height * width / count)
    places = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), axis=-1) * across
    return np.concatenate([colour, places], axis=-1).reshape(-1, 5)


def _clusters(colour: FloatArray, count: int) -> IntArray:
    """Pixels dealt to the nearest of the cluster centres that began in their own cell of a grid or in one around it."""
    height, width = colour.shape[:2]
    rows, columns = _grid(height, width, count)
    down, across = np.arange(height) * rows // height, np.arange(width) * columns // width
    features, cells = _features(colour, rows * columns), rows * columns
    labels = (down[:, None] * columns + across).ravel()
    near = [
        (np.clip(down + i, 0, rows - 1)[:, None] * columns + np.clip(across + j, 0, columns - 1)).ravel()
        for i in (0, -1, 1)
        for j in (0, -1, 1)
    ]
    centres = np.zeros((cells, 5))
    for _ in range(CLUSTERING_ROUNDS):
        sizes = np.bincount(labels, minlength=cells)
        there = sizes > 0  # a cluster that lost every pixel stays where it was
        sums = np.stack([np.bincount(labels, feature, minlength=cells) for feature in features.T], axis=1)
        centres[there] = sums[there] / sizes[there, None]
        distances = np.stack([((features - centres[cell]) ** 2).sum(axis=1) for cell in near])
        labels = np.stack(near)[distances.argmin(axis=0), np.arange(len(labels))]
    return np.asarray(labels.reshape(height, width), dtype=np.int64)


def _neighbours(labels: IntArray) -> tuple[IntArray, IntArray]:
    """Every pair of pixels side by side or one above the other, as two lists of positions."""
    at = np.arange(labels.size).reshape(labels.shape)
    left, right = (at[:, :-1], at[:, 1:]), (at[:-1], at[1:])
    return np.concatenate([left[0].ravel(), right[0].ravel()]), np.concatenate([left[1].ravel(), right[1].ravel()])


def _connect(labels: IntArray, colour: FloatArray) -> IntArray:
    """Each cluster's largest piece; a smaller piece joins the neighbour whose colour is nearest."""
    one, other = _neighbours(labels)
    flat, pixels = labels.ravel(), colour.reshape(-1, 3)
    same = flat[one] == flat[other]
    graph = coo_array((np.ones(int(same.sum())), (one[same], other[same])), shape=(flat.size, flat.size))
    count, piece = connected_components(graph, directed=False)
    sizes, cluster = np.bincount(piece), np.zeros(count, dtype=np.int64)
    cluster[piece] = flat
    order = np.lexsort((np.arange(count), -sizes, cluster))
    largest = np.zeros(count, dtype=bool)
    largest[order[np.unique(cluster[order], return_index=True)[1]]] = True
    mean = np.stack([np.bincount(piece, channel) for channel in pixels.T], axis=1) / sizes[:, None]
    pairs = np.unique(np.sort(np.stack([piece[one], piece[other]], axis=1)[~same], axis=1), axis=0)
    home = np.where(largest, np.arange(count), -1)
    while (home < 0).any():  # pieces among pieces find a home after their neighbours have
        both = np.concatenate([pairs, pairs[:, ::-1]])
        both = both[(home[both[:, 0]] < 0) & (home[both[:, 1]] >= 0)]
        away = ((mean[both[:, 0]] - mean[home[both[:, 1]]]) ** 2).sum(axis=1)
        both = both[np.lexsort((both[:, 1], away, both[:, 0]))]
        lost, first = np.unique(both[:, 0], return_index=True)
        home[lost] = home[both[first, 1]]
    found: IntArray = np.unique(home[piece], return_inverse=True)[1].reshape(labels.shape)
    return found


def _merge(labels: IntArray, features: FloatArray, count: int) -> IntArray:
    """Neighbouring segments merged, the cheapest two first, until `count` are left."""
    one, other = _neighbours(labels)
    flat = labels.ravel()
    size = np.bincount(flat).astype(np.float64)
    mean = np.stack([np.bincount(flat, feature) for feature in features.T], axis=1) / size[:, None]
    around: list[set[int]] = [set() for _ in size]
    for a, b in np.unique(np.stack([flat[one], flat[other]], axis=1), axis=0).tolist():
        if a != b:
            around[a].add(b)
            around[b].add(a)

    def cost(a: int, b: int) -> float:  # what merging adds to the squared distances from the mean
        return float(size[a] * size[b] / (size[a] + size[b]) * ((mean[a] - mean[b]) ** 2).sum())

    stamp, into, left = [0] * len(size), list(range(len(size))), len(size)
    heap = [(cost(a, b), a, b, 0, 0) for a, near in enumerate(around) for b in near if a < b]
    heapq.heapify(heap)
    while left > count and heap:
        _, a, b, seen_a, seen_b = heapq.heappop(heap)
        if (stamp[a], stamp[b]) != (seen_a, seen_b):
            continue
        mean[a] = (size[a] * mean[a] + size[b] * mean[b]) / (size[a] + size[b])
        size[a] += size[b]
        stamp[a], stamp[b], into[b], left = stamp[a] + 1, -1, a, left - 1
        around[a] = (around[a] | around[b]) - {a, b}
        for c in around[a]:
            around[c] = (around[c] - {b}) | {a}
            low, high = min(a, c), max(a, c)
            heapq.heappush(heap, (cost(low, high), low, high, stamp[low], stamp[high]))
    for k in range(len(into)):
        while into[k] != into[into[k]]:
            into[k] = into[into[k]]
    return np.array(into)[labels]


def _in_reading_order(labels: IntArray) -> IntArray:
    """Segments numbered by their first pixel, row by row."""
    _, first, found = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    numbered: IntArray = rank[found].reshape(labels.shape)
    return numbered
