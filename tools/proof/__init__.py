"""What `make truth`, `make matrix` and `make fuzz` are made of: games, graphs, bad values and independent oracles."""
