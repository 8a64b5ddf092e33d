"""The embedded API server: Kubernetes-compatible, on SQLite."""
