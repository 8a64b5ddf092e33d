"""Composition roots: the only place that wires."""
