"""Manifests that several tests apply; each a whole document, changed with `str.replace`."""

CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: shop}}
data: {colour: red, size: small}
"""

# No scheduler takes it: it stays as it is.
IDLE_POD = """
apiVersion: v1
kind: Pod
metadata: {name: idle, labels: {app: shop, tier: back}}
spec:
  schedulerName: nobody
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: registry.example.com/shop:1
    command: [sleep, "1000"]
"""

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, labels: {app: shop}}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
      - name: web
        image: registry.example.com/web:1
        env: [{name: MODE, value: fast}, {name: LEVEL, value: low}]
        ports: [{containerPort: 80}]
      - name: log
        image: registry.example.com/log:1
"""

SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: shop}
spec:
  clusterIP: None
  selector: {app: shop}
  ports:
  - {name: http, port: 80}
  - {name: metrics, port: 9090}
"""

JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  schedulerName: volcano
  minAvailable: 2
  tasks:
  - name: worker
    replicas: 2
    template:
      spec:
        restartPolicy: Never
        terminationGracePeriodSeconds: 0
        containers:
        - name: main
          image: registry.example.com/train:1
          command: [sleep, "1000"]
          resources: {requests: {cpu: 100m, memory: 64Mi}}
"""

# Its queue does not let it in, so that no pods come and nothing in it changes by itself.
WAITING_JOB = JOB.replace("cpu: 100m", "cpu: 1k").replace("name: train", "name: waiting")


def running_pod(name: str, script: str, node: str = "") -> str:
    """A pod that runs `script` in a shell: on any process node, or bound by hand to one."""
    place = f"schedulerName: nobody\n  nodeName: {node}" if node else "schedulerName: volcano"
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, labels: {{app: {name}}}}}
spec:
  {place}
  restartPolicy: Never
  terminationGracePeriodSeconds: 5
  containers:
  - name: main
    image: registry.example.com/tool:1
    command: [sh, -c, "{script}"]
    resources: {{requests: {{cpu: 100m, memory: 64Mi}}, limits: {{cpu: "1"}}}}
"""
