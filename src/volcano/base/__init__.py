"""Ground floor: clock, errors, limits, HTTP values, identities; nothing of Kubernetes objects."""
