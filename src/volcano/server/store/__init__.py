"""The store: one append-only log of revisions, the current objects in memory, and watch fan-out."""
