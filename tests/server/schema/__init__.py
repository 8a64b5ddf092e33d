"""Tests of the server's schema package."""
