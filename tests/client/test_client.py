"""The client's requests on the wire and what it makes of answers."""

from collections.abc import AsyncIterator

import pytest

from tests.client.scripted import Scripted, body, listing, pod, refusal, watch
from volcano.api.kinds import NODE, POD, POD_GROUP
from volcano.base.errors import ApiError
from volcano.base.http import Response
from volcano.client import requests
from volcano.client.client import Client, PatchType
from volcano.client.responses import lines_of

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("request_", "method", "path"),
    [
        pytest.param(requests.get(POD, "a", "d"), "GET", "/api/v1/namespaces/d/pods/a", id="get"),
        pytest.param(requests.get(NODE, "n"), "GET", "/api/v1/nodes/n", id="cluster-scoped"),
        pytest.param(
            requests.update(POD_GROUP, {"metadata": {"name": "g", "namespace": "d"}}),
            "PUT",
            "/apis/scheduling.volcano.sh/v1beta1/namespaces/d/podgroups/g",
            id="update-custom",
        ),
        pytest.param(
            requests.create_subresource(POD, "a", "binding", {}, "d"),
            "POST",
            "/api/v1/namespaces/d/pods/a/binding",
            id="binding",
        ),
        pytest.param(requests.list_page(POD), "GET", "/api/v1/pods", id="list-all-namespaces"),
    ],
)
async def test_paths(request_: requests.Request, method: str, path: str) -> None:
    assert (request_.method, request_.path) == (method, path)


async def test_empty_name_never_becomes_a_request_for_the_collection() -> None:
    with pytest.raises(ValueError, match="needs its name"):
        requests.delete(POD, "", "d")


async def test_delete_options_and_patch_types() -> None:
    transport = Scripted(body({}), body({}))
    client = Client(transport, user_agent="me")
    await client.delete(POD, "a", "d", grace_seconds=0, propagation="Orphan", uid="u")
    await client.patch(POD, "a", [{"op": "add"}], "d", patch_type=PatchType.JSON)
    delete, patch = transport.requests
    assert delete.body == (
        b'{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,'
        b'"propagationPolicy":"Orphan","preconditions":{"uid":"u"}}'
    )
    assert delete.headers["user-agent"] == "me"
    assert patch.headers["content-type"] == "application/json-patch+json"


async def test_refusal_is_an_api_error_with_the_whole_status() -> None:
    client = Client(Scripted(refusal("AlreadyExists", 409, "pods a already exists")))
    with pytest.raises(ApiError) as caught:
        await client.create(POD, {"metadata": {"name": "a"}}, "d")
    assert (caught.value.reason, caught.value.code) == ("AlreadyExists", 409)
    assert caught.value.to_status()["message"] == "pods a already exists"


@pytest.mark.parametrize(
    ("code", "reason"), [(404, "NotFound"), (502, "InternalError"), (429, "TooManyRequests")]
)
async def test_answer_that_is_no_status_still_says_something(code: int, reason: str) -> None:
    client = Client(Scripted(Response(code, body=b"bad gateway")))
    with pytest.raises(ApiError, match="bad gateway") as caught:
        await client.get(POD, "a", "d")
    assert caught.value.reason == reason


async def test_list_starts_over_unpaged_when_its_token_expires() -> None:
    answers = (listing(5, pod("a", 1), token="t"), refusal("Expired", 410), listing(9, pod("b", 2)))
    transport = Scripted(*answers)
    listed = await Client(transport).list(POD)
    assert [item["metadata"]["name"] for item in listed["items"]] == ["b"]
    assert "limit" not in transport.requests[2].query


async def test_watch_raises_the_error_in_its_stream() -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    client = Client(Scripted(watch(("ADDED", pod("a", 1)), ("ERROR", status))))
    events = client.watch(POD)
    assert (await anext(events)).type == "ADDED"
    with pytest.raises(ApiError, match="too old"):
        await anext(events)


async def test_warnings_reach_the_listener() -> None:
    heard: list[str] = []
    answer = Response(200, body=b"{}", warnings=("old field",))
    await Client(Scripted(answer), on_warning=heard.append).get(POD, "a", "d")
    assert heard == ["old field"]


@pytest.mark.parametrize(
    "chunks", [[b"a\nbc\n"], [b"a\nb", b"c\n"], [b"a", b"\n", b"bc"], [b"a\n", b"bc\n"]]
)
async def test_lines_however_they_are_cut(chunks: list[bytes]) -> None:
    async def stream() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    assert [line async for line in lines_of(stream())] == [b"a", b"bc"]
