"""Stories of scheduling as YAML worlds; `test_scenarios.py` tells the format and runs them."""
