"""accredit: credit where it is due, and how far to trust it."""

__version__ = "0.1.0"
