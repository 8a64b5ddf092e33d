"""What an Accept header gets: plain JSON, a Table, metadata only, or a refusal."""

import pytest

from volcano.base.errors import ApiError
from volcano.server.representation import Shape, negotiate

META = "v=v1;g=meta.k8s.io"
TABLE = f"application/json;as=Table;{META}"
OLD_TABLE = "application/json;as=Table;v=v1beta1;g=meta.k8s.io"
PARTIAL = f"application/json;as=PartialObjectMetadataList;{META}"


@pytest.mark.parametrize(
    ("header", "shape"),
    [
        pytest.param(TABLE, Shape.TABLE, id="table"),
        pytest.param(f"{TABLE},{OLD_TABLE},application/json", Shape.TABLE, id="as kubectl asks"),
        pytest.param(f"{OLD_TABLE},application/json", Shape.OBJECT, id="only an old table"),
        pytest.param("application/json", Shape.OBJECT, id="plain"),
        pytest.param("", Shape.OBJECT, id="nothing said"),
        pytest.param("text/html, */*;q=0.1", Shape.OBJECT, id="a browser"),
        pytest.param(f"{TABLE};q=0.5,application/json", Shape.OBJECT, id="rather plain"),
        pytest.param(f"application/json;q=0.5,{TABLE}", Shape.TABLE, id="rather a table"),
        pytest.param("application/json;stream=watch", Shape.OBJECT, id="a watch"),
        pytest.param(PARTIAL, Shape.METADATA, id="metadata of a list"),
        pytest.param(PARTIAL.replace("List", ""), Shape.METADATA, id="metadata"),
        pytest.param(f"{PARTIAL},{TABLE}", Shape.METADATA, id="metadata before a table"),
    ],
)
def test_shape(header: str, shape: Shape) -> None:
    assert negotiate(header).shape is shape


@pytest.mark.parametrize(
    "header",
    ["application/yaml", OLD_TABLE, f"application/json;as=Chart;{META}", "application/json;q=0"],
)
def test_what_is_not_written(header: str) -> None:
    with pytest.raises(ApiError, match="only the following media types are accepted") as caught:
        negotiate(header)
    assert caught.value.code == 406


@pytest.mark.parametrize("value", ["", "Metadata", "None", "Object"])
def test_include_object(value: str) -> None:
    assert negotiate(TABLE, value).include == (value or "Metadata")


def test_include_object_of_another_word() -> None:
    with pytest.raises(ApiError) as caught:
        negotiate(TABLE, "All")
    assert caught.value.code == 400
    assert caught.value.message == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "All": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )
    assert negotiate("application/json", "All").shape is Shape.OBJECT
