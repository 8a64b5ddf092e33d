"""The test kit: builders, worlds, clocks."""
