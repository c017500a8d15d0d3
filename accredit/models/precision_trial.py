"""What half precision must survive, run by `precision` in a process of its own: `python precision_trial.py bfloat16 FOLDER`.

Each operation is named on a line of its own before it begins, so that the last line names the one that ended the process.
FOLDER is where torch is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

SIZE = 96  # matrices from 32 × 32 on take the kernels of the newest instructions


def main(dtype: str, folder: str) -> None:
    sys.path.append(folder)
    import torch

    for name, operation in operations(torch, getattr(torch, dtype)).items():
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        operation()


def operations(torch: ModuleType, dtype: object) -> dict[str, Callable[[], object]]:
    """The products that models are made of, each as small as a kernel for large ones takes it."""
    square = torch.ones(SIZE, SIZE, dtype=dtype)
    tokens = torch.ones(1, 2, SIZE, SIZE, dtype=dtype)  # (batch, heads, tokens, width)
    picture = torch.ones(1, 16, 32, 32, dtype=dtype)
    filters = torch.ones(32, 16, 3, 3, dtype=dtype)

    def slope() -> None:
        x = square.clone().requires_grad_()
        torch.nn.functional.linear(x, square).sum().backward()

    return {
        "a matrix product": lambda: square @ square,
        "a linear layer": lambda: torch.nn.functional.linear(square, square, square[0]),
        "attention": lambda: torch.nn.functional.scaled_dot_product_attention(tokens, tokens, tokens),
        "a convolution": lambda: torch.nn.functional.conv2d(picture, filters, padding=1),
        "a gradient": slope,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
