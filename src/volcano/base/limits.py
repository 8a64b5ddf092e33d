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

CHILD_BACKOFF_SECONDS_MIN = 0.25
"""First pause before a crashed child process is started again; doubles up to the next line."""

CHILD_BACKOFF_SECONDS_MAX = 30.0
"""Longest pause before a crashed child process is started again."""

CHILD_HEALTHY_SECONDS = 60.0
"""A child that lived this long starts over with the shortest pause."""

CHILD_GRACE_SECONDS = 5.0
"""What a child process gets between SIGTERM and SIGKILL."""

LIST_PAGE_OBJECTS = 500
"""Objects a client asks for at a time: one page decodes in a few milliseconds."""

WATCH_SECONDS_MAX = 540
"""A client's watch is ended by the server after this and taken up again."""

CLIENT_BACKOFF_SECONDS_MAX = 30.0
"""Longest pause of an informer between attempts at a server that does not answer."""

INFORMER_EVENTS_PER_SLICE = 16
"""Watch events an informer handles before it lets others run."""

QUEUE_BACKOFF_SECONDS_MAX = 60.0
"""Longest pause of a work-queue key that keeps failing."""

RECORDER_EVENTS_PENDING_MAX = 16_384
"""Distinct events waiting to be written (one for each pod of a large gang); more are dropped and
counted in the log."""

RECORDER_GIVES_WAY_SECONDS_MAX = 1.0
"""How long the scheduler's next event waits while pods are still being bound."""

RECORDER_EVENTS_KNOWN_MAX = 4096
"""Events written whose count can still be raised; the oldest are forgotten first."""

RECORDER_SIMILAR_MESSAGES_MAX = 10
"""Different messages of one object and reason before they are combined into one event."""

RECORDER_WRITE_ATTEMPTS_MAX = 3
"""Attempts at writing one event before it is dropped."""

STORE_BATCH_ROWS_MAX = 1_024
"""Rows committed in one transaction."""

COMPACTION_SLICE_REVISIONS = 2_000
"""Revisions compacted between two commits, so that writers wait only briefly."""

COMPACTION_BYTES_MAX = 64 * 1024 * 1024
"""Superseded values on disk beyond which history is compacted before its age."""

WATCH_RING_BYTES_MAX = 16 * 1024 * 1024
"""Values held by the ring of recent events."""

HISTORY_READ_ROWS = 1_000
"""Rows read from the table at a time when a watch or a list goes back beyond the ring."""

DECODED_OBJECTS_MAX = 2_048
"""Decoded objects kept for reuse by selectors and admission."""

HTTP_CONNECTIONS_MAX = 256
"""Connections of one client to its server, watches included."""

REQUEST_SECONDS_MAX = 30.0
"""What a blocking client waits for a connection or for the next bytes of an answer."""

BLOCKING_RETRIES_MAX = 4
"""Times a command line asks again after 401 with renewable credentials, or 429."""

BLOCKING_RETRY_SECONDS_MAX = 10.0
"""Longest pause of a command line after 429, whatever the server asked for."""

EXEC_PLUGIN_SECONDS_MAX = 60
"""What a credential program may take to answer."""

TOKEN_FILE_READ_SECONDS = 60.0
"""A token file is read again after this: kubelets replace it while the pod lives."""

TOKEN_CACHE_ENTRIES_MAX = 4096
"""ServiceAccount tokens whose verification is remembered."""

TOKEN_RECHECK_SECONDS = 10
"""A remembered token's account and pod are looked up again after this long (and on a change)."""

TOKEN_BYTES_MAX = 16 * 1024
"""Longest bearer token that is looked at."""

TOKEN_SECONDS_MIN = 600
"""Shortest life of a requested ServiceAccount token (as in Kubernetes)."""

TOKEN_SECONDS_MAX = 1 << 32
"""Longest life that a TokenRequest may ask for (as in Kubernetes)."""

CERTIFICATE_CACHE_ENTRIES_MAX = 1024
"""Client certificates whose user is remembered."""

AUTHORIZATION_CACHE_ENTRIES_MAX = 16_384
"""Decisions of RBAC that are remembered until a role or binding changes."""

COMPACTION_CHECK_SECONDS = 15
"""How often the store looks whether history is old or large enough to go."""

COMMIT_WRITES_IN_FLIGHT_MAX = 32
"""Binds, evictions and status writes that the scheduler has on their way at once."""

COMMIT_ATTEMPTS_MAX = 6
"""How often a write of the scheduler is tried before it is given up and told."""

COMMIT_BACKOFF_SECONDS = 0.1
"""Pause before a failed write is tried again; doubles with each attempt."""

COMMIT_REFUSED_SECONDS_MAX = 10.0
"""Longest time a pod whose bind was refused waits before it is planned again; doubles up to it."""

COMMIT_REFUSALS_KNOWN_MAX = 10_000
"""Pods whose refused binds are counted; the oldest are forgotten first."""

CYCLE_SPACING_SECONDS_MIN = 0.01
"""Shortest pause between two scheduling cycles, so that a burst of events becomes one cycle."""

CYCLE_UNHURRIED_SECONDS = 0.5
"""How long changes that let nothing start (a gang still being made, pods that begin to run) may
wait for a cycle: over thousands of nodes one costs 50 ms, and such changes come by the thousand."""

CYCLE_IDLE_SECONDS = 10.0
"""With nothing changed a cycle is run this often, for policies that depend on time alone."""

CONTAINER_BACKOFF_SECONDS_FIRST = 10.0
"""Pause before the second restart of a container that keeps ending; doubles (kubelet)."""

CONTAINER_BACKOFF_SECONDS_MAX = 300.0
"""Longest pause before a container is started again (kubelet)."""

CONTAINER_BACKOFF_RESET_SECONDS = 600.0
"""A container that ran this long starts over with no pause (kubelet)."""

CONTAINER_RETRY_SECONDS_FIRST = 1.0
"""Pause before a start that could not be prepared (no configMap …) is tried again; doubles."""

CONTAINER_RETRY_SECONDS_MAX = 30.0
"""Longest pause between tries at preparing a container."""

CONTAINER_CLAIM_SECONDS_MAX = 5.0
"""After a restart, how long a shim that has claimed a run may take to write its pid."""

CONTAINER_RUNS_KEPT = 2
"""Runs of a container whose records and logs are kept: the current one and the one before."""

CONTAINER_LOG_BYTES_MAX = 64 * 1024 * 1024
"""Log kept of one run; older output is given back to the disk."""

CONTAINER_LOG_TIMES_MAX = 16_384
"""Times kept of one log's growth; beyond it every other one is dropped."""

LOG_SAMPLE_SECONDS = 1.0
"""How often the growth of running containers' logs is noted, for their timestamps."""

LOG_FOLLOW_SECONDS = 0.1
"""How often a followed log is looked at for more."""

LOG_CHUNK_BYTES = 64 * 1024
"""Log read at a time."""

NODE_THREADS_MAX = 4
"""Threads of a node runner for file work and process starts."""

NODE_WRITES_CONCURRENT_MAX = 16
"""Writes of one node runner to the API under way at a time."""

STATUS_RETRY_SECONDS_MAX = 30.0
"""Longest pause before a pod status that the API did not take is sent again."""

LEASE_SECONDS = 40
"""How long a process node's lease holds (kubelet)."""

LEASE_RENEW_SECONDS = 10.0
"""How often a process node renews its lease (kubelet)."""

SIMULATED_LEASE_SECONDS = 3_600
"""How long a simulated node's lease holds: thousands of nodes must cost next to nothing."""

NODE_STATUS_SECONDS = 300.0
"""How often a process node's conditions get a new heartbeat time (kubelet)."""

PROCESS_GONE_SECONDS_MAX = 5.0
"""How long a killed container's processes may take to disappear before that is an error."""

FLEET_NODES_MAX = 100_000
"""Nodes of one fleet file; more is taken for a slip of the pen."""

CONTROLLER_REQUESTS_IN_FLIGHT = 24
"""Requests that one reconciliation has under way at the same time (pods of a gang); in process
they all start in one turn of the loop, which they must not hold for more than 5 ms."""

CONTROLLER_RESTART_SECONDS_MAX = 30.0
"""Longest pause before a controller that crashed is started again."""

LOG_THREADS_MAX = 64
"""Container logs a command line follows at a time; further ones wait for one to end."""

WATCH_TIMEOUT_SECONDS = 1_800
"""A watch without `timeoutSeconds` ends after this to twice this, as kube-apiserver's do."""

WATCH_BOOKMARK_SECONDS = 60
"""Time between bookmarks on a watch that allows them."""

WATCH_CHUNK_BYTES = 256 * 1024
"""Bytes of a watch's initial state written at a time."""

JSON_PATCH_OPERATIONS_MAX = 10_000
"""Operations of one JSON patch; kube-apiserver's limit."""

MANAGED_FIELDS_UPDATE_MANAGERS_MAX = 10
"""Entries of `Update` managers an object keeps; older ones merge into `ancient-changes`."""

FIELD_MANAGER_CHARS_MAX = 128
"""Longest name of a field manager."""

SCHEDULER_PLANS_MAX = 128
"""Task classes whose look-ahead tables a scheduling session keeps; the least recently used goes."""

SCHEDULER_CLASSES_MAX = 20_000
"""Task classes the scheduler keeps before it forgets those that no pod has."""

GENERATED_NAME_TRIES = 8
"""Random names tried for `generateName` before a collision is told (kube-apiserver)."""

EVENT_TTL_SECONDS = 3_600
"""Events are dropped this long after their last change (kube-apiserver's --event-ttl)."""

UP_SECONDS_MAX = 60.0
"""What `volcano up --detach` and the demo wait for the server to be ready."""

DOWN_SECONDS_MAX = 120.0
"""What `volcano down` waits for the server to stop its pods and end."""

LOG_TAIL_BYTES = 4_096
"""How much of the log is shown when the server did not start."""

JOB_REFUSALS_MAX = 15
"""Attempts at a job's requests that are refused for good before the job is terminated."""

DEMO_SECONDS_MAX = 180.0
"""What the demo waits for its job."""

DEMO_STOP_SECONDS_MAX = 45.0
"""What the demo waits for its server to end before it kills it."""

DEMO_LOG_LINES_MAX = 2_000
"""Log lines the demo keeps."""

EVENT_SWEEP_SECONDS = 60
"""How often old Events are looked for."""

SWEEP_SLICE_OBJECTS = 200
"""Objects that background work of the API server changes at a time."""

KEEP_ALIVE_SECONDS = 180
"""How long an idle connection to the API server is kept open."""

LINGER_SECONDS = 5
"""How long the API server reads on after refusing a body that is too long, so that its sender
finds the refusal."""

PIPELINED_REQUESTS_MAX = 16
"""Requests of one connection that wait for those before them; then no more is read."""

REQUEST_HEAD_BYTES_MAX = 128 * 1024
"""Longest request line and headers together; selectors and tokens are long."""

SHUTDOWN_SECONDS = 5
"""How long requests under way may take to end when the API server stops."""

CLOSE_SECONDS = 1
"""How long clients have to take leave when the API server stops, before they are cut off."""

REMEMBERED_LIST_MAX = 64
"""Longest list of objects that admission remembers until it changes."""

REMEMBERED_LISTS_MAX = 1_000
"""Lists that admission remembers at most."""

ABSENT_OWNERS_KNOWN_MAX = 1000
"""Owners known to be gone that the garbage collector does not look up again."""

ORPHANED_POD_SECONDS = 40.0
"""How long a node must be gone before the pods bound to it are given up, as in Kubernetes."""

LISTEN_BACKLOG = 512
"""Connections that wait to be accepted."""

STOP_GRACE_SECONDS = 30.0
"""What pods get at most when the whole cluster is stopped."""

COMPONENT_TOKEN_SECONDS = 24 * 3600
"""Life of the scheduler's token; it is renewed at half of it."""

COLLECTOR_THRESHOLDS = (100_000, 50, 1000)
"""Python's collector in the server process: rarely, since a full pass stops the loop."""

POD_CONDITIONS_PROMPT_MAX = 16
"""Pending pods of a group up to which each change of a reason's details is written at once."""

POD_CONDITION_REFRESH_SECONDS = 30
"""Age after which the details in the conditions of larger groups' pods are written again."""

GANG_GATHERING_SECONDS = 2.0
"""A gang that lacks members is told so when its newest one is older: others may be on their way."""

COMMAND_COLLECTOR_THRESHOLD = 100_000
"""New objects after which the collector looks in a command: short ones never pay for it."""
