"""The papers' claims and tables, executed: what holds, what does not, and our figures beside the published ones."""
