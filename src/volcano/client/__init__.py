"""Any Kubernetes-compatible API, over HTTPS or in process: verbs, informers, queues, events."""
