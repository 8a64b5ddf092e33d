"""Where the two tasks of one run meet: a folder of its own below the system's temporary folder.

Both pods of a job see the same machine. The folder's name is made of what they have in common and
other runs have not: the API server's port, the namespace and the job's name (a pod is called
JOB-TASK-INDEX). A model is there under its final name only between the end of training and its
evaluation, so that a later run of a job of the same name does not find it.
"""

import os
import tempfile
from pathlib import Path

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
FRESH_SECONDS = 60.0


def run_folder():
    """The folder of this run, made if need be, for this user only."""
    pod = os.environ.get("HOSTNAME", "")
    job = pod.rsplit("-", 2)[0] if pod.count("-") >= 2 else "by-hand"
    namespace = NAMESPACE_FILE.read_text().strip() if NAMESPACE_FILE.is_file() else "default"
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "0")
    base = Path(os.environ.get("EXAMPLE_OUTPUT", ""))
    if not os.environ.get("EXAMPLE_OUTPUT"):
        base = Path(tempfile.gettempdir()) / f"volcano-example-{os.getuid()}"
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    if base.stat().st_uid != os.getuid():
        raise SystemExit(f"{base} belongs to somebody else; set EXAMPLE_OUTPUT to another folder")
    folder = base / f"{port}-{namespace}-{job}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def model_path():
    """The finished model, waiting to be evaluated."""
    return run_folder() / "model.npz"


def evaluated_path():
    """The model after its evaluation: the result that stays."""
    return run_folder() / "model-evaluated.npz"
