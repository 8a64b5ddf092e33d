"""Tests of the server's patch package."""
