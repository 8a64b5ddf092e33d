"""Quantities and resource vectors."""
