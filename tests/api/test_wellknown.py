"""Well-known names: each is written once."""

from collections import Counter

from volcano.api import wellknown


def test_no_annotation_or_label_is_named_twice() -> None:
    texts = Counter(
        value
        for name, value in vars(wellknown).items()
        if name.isupper() and isinstance(value, str) and "/" in value
    )
    assert [text for text, count in texts.items() if count > 1] == []
