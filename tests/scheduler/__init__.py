"""The scheduler's tests: worlds in, decisions out."""
