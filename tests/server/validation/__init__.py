"""Tests of the server's validation package."""
