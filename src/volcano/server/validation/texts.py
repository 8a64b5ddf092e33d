"""What names, labels and keys may look like, with the messages of k8s.io/apimachinery.

Each rule returns what is wrong with a text, an empty tuple if nothing. Results are remembered:
names of containers, labels and ports come again with every pod.
"""

import re
from collections.abc import Callable
from functools import lru_cache

Problems = tuple[str, ...]
Rule = Callable[[str], Problems]

_REMEMBERED = 16_384

_LABEL_FMT = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FMT = rf"{_LABEL_FMT}(\.{_LABEL_FMT})*"
_LABEL_1035_FMT = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY_FMT = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_FMT = f"({_KEY_FMT})?"
_ENV_FMT = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_CONFIG_KEY_FMT = "[-._a-zA-Z0-9]+"
_PERCENT_FMT = "[0-9]+%"

_LABEL = re.compile(_LABEL_FMT)
_SUBDOMAIN = re.compile(_SUBDOMAIN_FMT)
_LABEL_1035 = re.compile(_LABEL_1035_FMT)
_KEY = re.compile(_KEY_FMT)
_VALUE = re.compile(_VALUE_FMT)
_ENV = re.compile(_ENV_FMT)
_CONFIG_KEY = re.compile(_CONFIG_KEY_FMT)
_PERCENT = re.compile(_PERCENT_FMT)
_PORT_CHARS = re.compile("[-a-z0-9]+")

LABEL_MAX = 63
SUBDOMAIN_MAX = 253


def _like(message: str, fmt: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {shown}regex used for validation is '{fmt}')"


def max_len(limit: int) -> str:
    """The message for a text that is too long."""
    return f"must be no more than {limit} characters"


def between(low: int, high: int) -> str:
    """The message for a number out of bounds."""
    return f"must be between {low} and {high}, inclusive"


@lru_cache(_REMEMBERED)
def dns_label(text: str) -> Problems:
    """A lowercase RFC 1123 label: names of containers, volumes, namespaces, services."""
    found = (max_len(LABEL_MAX),) if len(text) > LABEL_MAX else ()
    if _LABEL.fullmatch(text):
        return found
    if _SUBDOMAIN.fullmatch(text):
        return (*found, "must not contain dots")
    message = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
        "and must start and end with an alphanumeric character"
    )
    return (*found, _like(message, _LABEL_FMT, "my-name", "123-abc"))


@lru_cache(_REMEMBERED)
def dns_subdomain(text: str) -> Problems:
    """A lowercase RFC 1123 subdomain: names of most objects."""
    found = (max_len(SUBDOMAIN_MAX),) if len(text) > SUBDOMAIN_MAX else ()
    if _SUBDOMAIN.fullmatch(text):
        return found
    message = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
        "'-' or '.', and must start and end with an alphanumeric character"
    )
    return (*found, _like(message, _SUBDOMAIN_FMT, "example.com"))


@lru_cache(_REMEMBERED)
def dns_label_1035(text: str) -> Problems:
    """An RFC 1035 label: starts with a letter."""
    found = (max_len(LABEL_MAX),) if len(text) > LABEL_MAX else ()
    if _LABEL_1035.fullmatch(text):
        return found
    message = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
        "start with an alphabetic character, and end with an alphanumeric character"
    )
    return (*found, _like(message, _LABEL_1035_FMT, "my-name", "abc-123"))


@lru_cache(_REMEMBERED)
def qualified_name(text: str) -> Problems:
    """A label key: `NAME` or `DNS-SUBDOMAIN/NAME`."""
    message = (
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        "alphanumeric character"
    )
    like = _like(message, _KEY_FMT, "MyName", "my.name", "123-abc")
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {like} {optional}",)
    found: list[str] = []
    if slash and not prefix:
        found.append("prefix part must be non-empty")
    elif slash:
        found += [f"prefix part {problem}" for problem in dns_subdomain(prefix)]
    if not name:
        found.append("name part must be non-empty")
    elif len(name) > LABEL_MAX:
        found.append(f"name part {max_len(LABEL_MAX)}")
    if not _KEY.fullmatch(name):
        found.append(f"name part {like}")
    return tuple(found)


@lru_cache(_REMEMBERED)
def label_value(text: str) -> Problems:
    """A label value; may be empty."""
    found = (max_len(LABEL_MAX),) if len(text) > LABEL_MAX else ()
    if _VALUE.fullmatch(text):
        return found
    message = (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character"
    )
    return (*found, _like(message, _VALUE_FMT, "MyValue", "my_value", "12345"))


@lru_cache(_REMEMBERED)
def relaxed_env_name(text: str) -> Problems:
    """The name of an environment variable as pods may have it: printable ASCII without `=`."""
    if not text:
        return ("environment variable name must be non-empty",)
    if all(" " <= char <= "~" and char != "=" for char in text):
        return ()
    message = "must consist only of printable ASCII characters other than '='"
    return (f"a valid environment variable name {message}",)


@lru_cache(_REMEMBERED)
def env_name(text: str) -> Problems:
    """The name of an environment variable by the stricter, older rule (pod templates of jobs)."""
    if _ENV.fullmatch(text):
        return _not_parent(text)
    message = (
        "a valid environment variable name must consist of alphabetic characters, digits, '_', "
        "'-', or '.', and must not start with a digit"
    )
    like = _like(message, _ENV_FMT, "my.env-name", "MY_ENV.NAME", "MyEnvName1")
    return (like, *_not_parent(text))


@lru_cache(_REMEMBERED)
def config_key(text: str) -> Problems:
    """A key of a ConfigMap or Secret."""
    found = (max_len(SUBDOMAIN_MAX),) if len(text) > SUBDOMAIN_MAX else ()
    if not _CONFIG_KEY.fullmatch(text):
        message = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        found = (*found, _like(message, _CONFIG_KEY_FMT, "key.name", "KEY_NAME", "key-name"))
    return (*found, *_not_parent(text))


def _not_parent(text: str) -> Problems:
    if text == ".":
        return ("must not be '.'",)
    if text == "..":
        return ("must not be '..'",)
    return ("must not start with '..'",) if text.startswith("..") else ()


@lru_cache(_REMEMBERED)
def port_name(text: str) -> Problems:
    """The name of a port (RFC 6335)."""
    found = []
    if len(text) > 15:
        found.append(max_len(15))
    if not _PORT_CHARS.fullmatch(text):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= char <= "z" for char in text):
        found.append("must contain at least one letter (a-z)")
    if "--" in text:
        found.append("must not contain consecutive hyphens")
    if text and (text[0] == "-" or text[-1] == "-"):
        found.append("must not begin or end with a hyphen")
    return tuple(found)


def percent(text: str) -> Problems:
    """A percentage such as `25%`."""
    if _PERCENT.fullmatch(text):
        return ()
    message = "a valid percent string must be a numeric string followed by an ending '%'"
    return (_like(message, _PERCENT_FMT, "1%", "93%"),)


def port_number(number: int) -> Problems:
    """A port number."""
    return () if 1 <= number <= 65_535 else (between(1, 65_535),)


def path_segment(text: str) -> Problems:
    """A name that need only fit in a URL: RBAC objects."""
    if text in (".", ".."):
        return (f"may not be '{text}'",)
    return tuple(f"may not contain '{illegal}'" for illegal in "/%" if illegal in text)
