"""Plain twins of fast code: slow, obvious, written apart from what they check."""
