"""What `make golden` is made of: the doors that are recorded, what is put through them, and how two records are compared."""
