"""Measurements: one module per `make bench-NAME`, each ending with one line of JSON."""
