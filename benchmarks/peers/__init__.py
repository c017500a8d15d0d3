"""Other libraries, each in an environment of its own, asked through pipes by one harness: `python -m benchmarks.peers`."""
