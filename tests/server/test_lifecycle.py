"""Identities that the server makes up."""

import uuid

from volcano.server.lifecycle import generated_name, new_uid


def test_uids_are_random_uuids() -> None:
    made = [new_uid() for _ in range(1000)]
    assert len(set(made)) == 1000
    for text in made:
        read = uuid.UUID(text)
        assert (str(read), read.version, read.variant) == (text, 4, uuid.RFC_4122)


def test_generated_names_fit_a_label() -> None:
    assert generated_name("job-").startswith("job-")
    assert len(generated_name("job-")) == 9
    assert len(generated_name("x" * 100)) == 63
