"""Volcano in Python: a batch system for Kubernetes, API-compatible with the Volcano project.

ARCHITECTURE.md at the root of the repository maps the packages and says who may import whom.
"""

__version__ = "0.1.0"
