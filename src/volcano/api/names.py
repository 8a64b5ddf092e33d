"""Rules for names, in the words of k8s.io/apimachinery: each returns what is wrong, if anything."""

import re

from volcano.api.meta import DNS_LABEL_PATTERN, DNS_SUBDOMAIN_PATTERN

DNS_LABEL_LENGTH_MAX = 63
DNS_SUBDOMAIN_LENGTH_MAX = 253
QUALIFIED_NAME_LENGTH_MAX = 63

_LABEL = DNS_LABEL_PATTERN.strip("^$")
_SUBDOMAIN = DNS_SUBDOMAIN_PATTERN.strip("^$")
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_label_matches = re.compile(_LABEL).fullmatch
_subdomain_matches = re.compile(_SUBDOMAIN).fullmatch
_qualified_matches = re.compile(_QUALIFIED).fullmatch


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} bytes"


def _should_match(rule: str, pattern: str, *examples: str) -> str:
    given = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {given}regex used for validation is '{pattern}')"


def dns_label_errors(name: str) -> list[str]:
    """RFC 1123 label: lower-case alphanumerics and `-`, at most 63."""
    errors = [_too_long(DNS_LABEL_LENGTH_MAX)] if len(name) > DNS_LABEL_LENGTH_MAX else []
    if not _label_matches(name):
        rule = (
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-',"
            " and must start and end with an alphanumeric character"
        )
        errors.append(_should_match(rule, _LABEL, "my-name", "123-abc"))
    return errors


def dns_subdomain_errors(name: str) -> list[str]:
    """RFC 1123 subdomain: labels joined by dots, at most 253."""
    errors = [_too_long(DNS_SUBDOMAIN_LENGTH_MAX)] if len(name) > DNS_SUBDOMAIN_LENGTH_MAX else []
    if not _subdomain_matches(name):
        rule = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters,"
            " '-' or '.', and must start and end with an alphanumeric character"
        )
        errors.append(_should_match(rule, _SUBDOMAIN, "example.com"))
    return errors


def qualified_name_errors(name: str) -> list[str]:
    """A name of at most 63 characters, optionally after a DNS subdomain and `/`: label keys."""
    rule = (
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
        " alphanumeric character"
    )
    examples = ("MyName", "my.name", "123-abc")
    errors: list[str] = []
    prefix, slash, rest = name.partition("/")
    if "/" in rest:
        expected = _should_match(f"a qualified name {rule}", _QUALIFIED, *examples)
        return [
            f"{expected} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    if slash:
        if not prefix:
            errors.append("prefix part must be non-empty")
        else:
            errors += [f"prefix part {error}" for error in dns_subdomain_errors(prefix)]
    local = rest if slash else name
    if not local:
        errors.append("name part must be non-empty")
    elif len(local) > QUALIFIED_NAME_LENGTH_MAX:
        errors.append(f"name part {_too_long(QUALIFIED_NAME_LENGTH_MAX)}")
    if not _qualified_matches(local):
        errors.append(_should_match(f"name part {rule}", _QUALIFIED, *examples))
    return errors
