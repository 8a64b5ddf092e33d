"""Names: the rules and Kubernetes' words for them."""

import pytest

from volcano.api.names import dns_label_errors, dns_subdomain_errors, qualified_name_errors

QUALIFIED = {
    "my-name": [],
    "My.Name_1": [],
    "example.com/name": [],
    "a" * 63: [],
    "a" * 64: ["name part must be no more than 63 bytes"],
    "": ["name part must be non-empty", "name part must consist of"],
    "-a": ["name part must consist of"],
    "/a": ["prefix part must be non-empty"],
    "Example/a": ["prefix part a lowercase RFC 1123 subdomain must consist of"],
    "a/b/c": ["a qualified name must consist of"],
}


@pytest.mark.parametrize(("name", "heads"), QUALIFIED.items(), ids=QUALIFIED)
def test_qualified_name(name: str, heads: list[str]) -> None:
    errors = qualified_name_errors(name)
    assert len(errors) == len(heads)
    for error, head in zip(errors, heads, strict=True):
        assert error.startswith(head)


def test_message_of_a_qualified_name() -> None:
    assert qualified_name_errors("a!") == [
        (
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start"
            " and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc',"
            " regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        )
    ]


def test_dns_names() -> None:
    assert dns_label_errors("a-1") == []
    assert len(dns_label_errors("A" * 64)) == 2
    assert dns_subdomain_errors("a.b-1") == []
    assert len(dns_subdomain_errors("a..b")) == 1
    assert "example.com" in dns_subdomain_errors("Bad_Name")[0]
