"""Arithmetic of scheduling on numpy arrays: columns, fits, scores, shares. No API objects."""
