"""Real processes, killed with SIGKILL at seeded random moments while clients and jobs rely on it.

`cluster` starts and kills, `writers` write and keep a `ledger` of what was acknowledged,
`followers` watch across restarts, `waves` run jobs; `test_crash` puts them together.
"""
