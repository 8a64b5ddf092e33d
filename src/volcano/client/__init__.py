"""list/watch/patch to any Kubernetes-compatible API, over HTTPS or in process; informers, queues."""
