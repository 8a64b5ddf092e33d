"""Patches: JSON patch, merge patch, strategic merge patch, server-side apply, managed fields.

All are functions of documents: none changes its arguments (but `track_update`, which completes the
object that is about to be stored). Errors are the `ApiError`s that kube-apiserver answers.
"""

from volcano.server.patch.errors import bad_patch, patched_invalid, unprocessable
from volcano.server.patch.fieldset import FieldSet
from volcano.server.patch.json_patch import json_patch, merge_diff, merge_patch, same_json
from volcano.server.patch.managed import apply, manager_name, reset_fields, track_update
from volcano.server.patch.strategic import strategic_merge

__all__ = [
    "FieldSet",
    "apply",
    "bad_patch",
    "json_patch",
    "manager_name",
    "merge_diff",
    "merge_patch",
    "patched_invalid",
    "reset_fields",
    "same_json",
    "strategic_merge",
    "track_update",
    "unprocessable",
]
