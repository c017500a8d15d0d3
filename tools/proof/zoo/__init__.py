"""Ordinary models of tables, trained as people train them, and what an explanation of each is held to."""
