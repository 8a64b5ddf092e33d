"""Task 2 of the example: wait for the model of task 1 and judge it by pictures it has not seen."""

import os
import sys
import time

sys.dont_write_bytecode = True
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # these matrices are too small to share out

import numpy as np

import digits
from run_folder import FRESH_SECONDS, evaluated_path, model_path
from train import accuracy

WAIT_SECONDS_MAX = 300.0
POLL_SECONDS = 0.1
ACCURACY_MIN = 0.8


def wait_for_model(path, began, seconds=WAIT_SECONDS_MAX):
    """Return when this run's model is there; stop with an error after `seconds`.

    Both tasks of a gang start together, so a model that is much older than this process is what
    some run that broke off has left behind; `train.py` removes it.
    """
    while time.time() < began + seconds:
        try:
            if path.stat().st_mtime > began - FRESH_SECONDS:
                return
        except FileNotFoundError:
            pass
        time.sleep(POLL_SECONDS)
    raise SystemExit(f"evaluate: no model in {path} after {seconds:.0f} s; did train.py fail?")


def main():
    """Evaluate and print the accuracy."""
    path, kept = model_path(), evaluated_path()
    device = os.environ.get("NVIDIA_VISIBLE_DEVICES", "none")
    print(f"evaluate: waiting for the model, GPU device {device}", flush=True)
    wait_for_model(path, time.time())
    os.replace(path, kept)
    with np.load(kept) as stored:
        weights = dict(stored)
    images, labels = digits.unseen_pictures()
    right = accuracy(weights, images, labels)
    print(f"evaluate: accuracy {right:.1%} on {len(labels)} unseen pictures", flush=True)
    print(f"evaluate: model kept in {kept}", flush=True)
    if right < ACCURACY_MIN:
        raise SystemExit(f"evaluate: below {ACCURACY_MIN:.0%}: the training went wrong")


if __name__ == "__main__":
    main()
