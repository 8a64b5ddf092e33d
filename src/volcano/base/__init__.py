"""Ground floor: clock, errors, limits, HTTP values, identities. Knows nothing of Kubernetes objects."""
