"""What `make truth`, `matrix`, `fuzz`, `golden` and `house` are made of: games, graphs, bad values, oracles, records."""
