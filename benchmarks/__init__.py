"""Measurements against other libraries, one module a capability: `python -m benchmarks.shapley` and so on."""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # before numpy starts its threads: everyone is measured on one
