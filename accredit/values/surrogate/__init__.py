"""The default Shapley estimator: paired design, two Gaussian-process surrogates of the odd part, closed-form values."""

from accredit.values.surrogate.estimator import Surrogate

__all__ = ["Surrogate"]
