"""Admission checks of the Volcano kinds, as pure functions on a review."""
