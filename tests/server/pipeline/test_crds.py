"""CustomResourceDefinitions: served at once, defaults, pruning, validation, columns, removal."""

from pathlib import Path

import pytest

from tests.server.harness import Caller, names, running
from tests.waiting import eventually
from volcano.api import kinds
from volcano.api.objects import JsonObject

pytestmark = pytest.mark.anyio
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PETS = "/apis/example.com/v1/namespaces/default/pets"


def crd(**schema: object) -> JsonObject:
    spec_schema: JsonObject = {
        "type": "object",
        "properties": {
            "legs": {"type": "integer", "default": 4, "maximum": 8},
            "name": {"type": "string"},
        },
        **schema,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "pets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "pets", "kind": "Pet", "shortNames": ["pt"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": spec_schema},
                        }
                    },
                    "additionalPrinterColumns": [
                        {"name": "Legs", "type": "integer", "jsonPath": ".spec.legs"}
                    ],
                    "subresources": {
                        "scale": {
                            "specReplicasPath": ".spec.legs",
                            "statusReplicasPath": ".status.legs",
                        }
                    },
                }
            ],
        },
    }


def pet(name: str = "rex", **spec: object) -> JsonObject:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Pet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


async def test_a_kind_is_served_the_moment_its_definition_is_there(admin: Caller) -> None:
    await admin.refused(404, "GET", PETS)
    created = await admin.create(kinds.CUSTOM_RESOURCE_DEFINITION, crd())
    conditions = {one["type"]: one["status"] for one in created["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert created["spec"]["names"]["listKind"] == "PetList"
    assert created["status"]["storedVersions"] == ["v1"]
    assert (await admin.ok("GET", PETS))["kind"] == "PetList"
    found = await admin.ok("GET", "/apis/example.com/v1")
    assert found["resources"][0]["shortNames"] == ["pt"]
    again = await admin.ok("PUT", f"{CRDS}/pets.example.com", created)
    assert again["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


async def test_objects_are_completed_pruned_and_checked(admin: Caller) -> None:
    await admin.create(kinds.CUSTOM_RESOURCE_DEFINITION, crd())
    answer = await admin.call("POST", PETS, pet(wrong=1))
    assert answer.body["spec"] == {"legs": 4}
    assert answer.warnings == ('unknown field "spec.wrong"',)
    bad = await admin.refused(422, "POST", PETS, pet("ten", legs=10))
    assert "spec.legs" in bad["message"]
    await admin.refused(422, "POST", PETS, pet("UPPER"))
    table = await admin.ok(
        "GET", PETS, accept="application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    )
    assert [column["name"] for column in table["columnDefinitions"]][:2] == ["Name", "Legs"]
    scale = await admin.ok("GET", f"{PETS}/rex/scale")
    assert scale["spec"] == {"replicas": 4}
    await admin.ok(
        "PATCH",
        f"{PETS}/rex/scale",
        {"spec": {"replicas": 3}},
        content_type="application/merge-patch+json",
    )
    assert (await admin.ok("GET", f"{PETS}/rex"))["spec"] == {"legs": 3}


async def test_a_changed_definition_counts_at_once(admin: Caller) -> None:
    created = await admin.create(kinds.CUSTOM_RESOURCE_DEFINITION, crd())
    version = created["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema["properties"]["legs"]["maximum"] = 100
    await admin.ok("PUT", f"{CRDS}/pets.example.com", created)
    await admin.ok("POST", PETS, pet(legs=40))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": {"plural": "cats", "kind": "Cat"}}, "metadata.name"),
        ({"scope": "Galaxy"}, "spec.scope"),
        ({"versions": []}, "spec.versions"),
    ],
)
async def test_definitions_that_cannot_be_served(
    admin: Caller, change: JsonObject, message: str
) -> None:
    body = crd()
    body["spec"].update(change)
    refusal = await admin.refused(422, "POST", CRDS, body)
    assert message in refusal["message"]
    await admin.refused(404, "GET", PETS)


async def test_deleting_a_definition_removes_its_objects(admin: Caller) -> None:
    await admin.create(kinds.CUSTOM_RESOURCE_DEFINITION, crd())
    await admin.ok("POST", PETS, pet("one"))
    held = pet("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await admin.ok("POST", PETS, held)
    await admin.ok("DELETE", f"{CRDS}/pets.example.com")
    await admin.refused(405, "POST", PETS, pet("late"))

    async def only_the_held_is_left() -> bool:
        return names((await admin.ok("GET", PETS))["items"]) == ["held"]

    async def no_longer_served() -> bool:
        return (await admin.call("GET", PETS)).status == 404

    await eventually(only_the_held_is_left)
    await admin.ok(
        "PATCH",
        f"{PETS}/held",
        {"metadata": {"finalizers": []}},
        content_type="application/merge-patch+json",
    )
    await eventually(no_longer_served)
    await admin.refused(404, "GET", f"{CRDS}/pets.example.com")


async def test_the_volcano_kinds_are_definitions(admin: Caller) -> None:
    found = await admin.ok("GET", CRDS)
    assert {f"{kind.plural}.{kind.group}" for kind in kinds.VOLCANO_KINDS} == set(
        names(found["items"])
    )
    for kind in kinds.VOLCANO_KINDS:
        entry = admin.server.registry.find(kind.group, kind.version, kind.plural)
        assert entry is not None
        assert entry.kind is kind, "admission checks compare kinds"


async def test_kinds_and_objects_are_there_after_a_restart(tmp_path: Path) -> None:
    async with running(folder=tmp_path / "data") as admin:
        await admin.create(kinds.CUSTOM_RESOURCE_DEFINITION, crd())
        made = await admin.ok("POST", PETS, pet())
        revision = admin.server.store.revision
    async with running(folder=tmp_path / "data") as admin:
        assert await admin.ok("GET", f"{PETS}/rex") == made
        assert admin.server.store.revision == revision, "a restart writes nothing"
