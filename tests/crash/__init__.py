"""Real processes, killed with SIGKILL at seeded random moments while people and jobs rely on them.

`cluster` starts and kills, `writers` write and keep a `ledger` of what was acknowledged, `followers`
watch across restarts, `waves` run jobs; `test_crash` puts them together.
"""
