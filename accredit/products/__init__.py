"""Sums of products: kernel machines, log links and densities read from their libraries, and credited exactly."""

from accredit.products.form import Additive, Form, NotProducts, Product
from accredit.products.linear import Linear, NotLinear, linear_of
from accredit.products.reading import form_of
from accredit.products.shares import FormCredit, FormShares

__all__ = [
    "Additive",
    "Form",
    "FormCredit",
    "FormShares",
    "Linear",
    "NotLinear",
    "NotProducts",
    "Product",
    "form_of",
    "linear_of",
]
