"""Controllers: observed state in, effects out."""
