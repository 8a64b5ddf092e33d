"""Every bound of the system in one place: queues, caches, retries, batches, sizes.

A number that keeps something from growing without end belongs here, with its unit in its name.
"""

REQUEST_BODY_BYTES_MAX = 3 * 1024 * 1024
"""Largest request body; kube-apiserver's limit."""

OBJECT_BYTES_MAX = 1_500_000
"""Largest stored object; etcd's default request limit (1.5 MiB) rounded."""

ANNOTATIONS_BYTES_MAX = 256 * 1024
"""All annotations of an object together (k8s.io/apimachinery validation)."""

WATCH_RING_EVENTS_MAX = 20_000
"""Events kept in memory for watches that resume; older ones come from the table."""

WATCH_QUEUE_EVENTS_MAX = 20_000
"""Events a watcher may lag behind before it is cut."""

COMPACTION_AGE_SECONDS = 300
"""History younger than this is kept, as kube-apiserver's compactor does."""

LIST_CONTINUE_SECONDS_MAX = 300
"""Life of a `continue` token: the age of compaction."""

CHILD_BACKOFF_SECONDS_MIN = 0.25
"""First pause before a crashed child process is started again; doubles up to the next line."""

CHILD_BACKOFF_SECONDS_MAX = 30.0
"""Longest pause before a crashed child process is started again."""

CHILD_HEALTHY_SECONDS = 60.0
"""A child that lived this long starts over with the shortest pause."""

CHILD_GRACE_SECONDS = 5.0
"""What a child process gets between SIGTERM and SIGKILL."""
