"""URLs and methods as resource requests."""

import pytest

from volcano.base.errors import ApiError
from volcano.server.routes import Route, parse


@pytest.mark.parametrize(
    ("method", "path", "query", "want"),
    [
        ("GET", "/api/v1/pods", {}, Route("list", "", "v1", "pods")),
        ("GET", "/api/v1/pods", {"watch": "1"}, Route("watch", "", "v1", "pods")),
        ("GET", "/api/v1/namespaces", {}, Route("list", "", "v1", "namespaces")),
        ("GET", "/api/v1/namespaces/a", {}, Route("get", "", "v1", "namespaces", "", "a")),
        (
            "PUT",
            "/api/v1/namespaces/a/finalize",
            {},
            Route("update", "", "v1", "namespaces", "", "a", "finalize"),
        ),
        (
            "POST",
            "/api/v1/namespaces/a/pods",
            {},
            Route("create", "", "v1", "pods", "a"),
        ),
        (
            "DELETE",
            "/api/v1/namespaces/a/pods",
            {},
            Route("deletecollection", "", "v1", "pods", "a"),
        ),
        (
            "PATCH",
            "/apis/batch.volcano.sh/v1alpha1/namespaces/a/jobs/j/status",
            {},
            Route("patch", "batch.volcano.sh", "v1alpha1", "jobs", "a", "j", "status"),
        ),
        (
            "GET",
            "/apis/scheduling.volcano.sh/v1beta1/queues/q",
            {"watch": "true"},
            Route("get", "scheduling.volcano.sh", "v1beta1", "queues", "", "q"),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_path_is_read(method: str, path: str, query: dict[str, str], want: Route) -> None:
    assert parse(method, path, query) == want


@pytest.mark.parametrize(
    "path", ["/", "/api", "/api/v1", "/apis/apps/v1", "/version", "/api/v1//pods", "/openapi/v3"]
)
def test_other_paths_are_no_resources(path: str) -> None:
    assert parse("GET", path, {}) is None


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ApiError, match="does not allow this method"):
        parse("BREW", "/api/v1/pods", {})
