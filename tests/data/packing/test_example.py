import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.data.packing.example import (
    FEATURES,
    BrokenExampleError,
    Record,
    before_image,
    parsed,
    path_bytes,
    path_text,
)

RECORD = Record(b"pixels", "jpeg", 375, 500, 3, 7, "cat/1.jpg", bytes(range(32)))


def message(record):
    return before_image(record) + record.image


@given(
    image=st.binary(max_size=70_000),
    sides=st.tuples(*[st.integers(0, 2**40)] * 3),
    label=st.integers(-(2**63), 2**63 - 1),
    path=st.binary(min_size=1, max_size=300),
)
def test_every_record_is_read_as_it_was_written(image, sides, label, path):
    record = Record(image, "png", *sides, label, path_text(path), bytes(32))
    assert parsed(message(record)) == record


def test_names_that_are_no_utf8_keep_their_bytes():
    assert path_bytes(path_text(b"caf\xe9/\xff\n.jpg")) == b"caf\xe9/\xff\n.jpg"


def test_the_fields_are_those_of_the_spec():
    assert {field.name for field in dataclasses.fields(Record)} == set(FEATURES)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        pytest.param(b"", r"fields of a pack \(found: none\)", id="empty"),
        pytest.param(b"\x0a\xff", "a number does not end", id="a cut number"),
        pytest.param(b"\x0a\x7fabc", "longer than its message", id="a cut field"),
        pytest.param(b"\x08\x01", "wire type 0", id="another message"),
        pytest.param(b"\x0a\x02\x0a\x00", "no name or no value", id="an empty field"),
        pytest.param(b"\xff" * 11, "does not end", id="an endless number"),
        pytest.param(message(RECORD)[:-1], "longer than its message", id="cut"),
    ],
)
def test_what_is_no_record_says_why(content, what):
    with pytest.raises(BrokenExampleError, match=what):
        parsed(content)


@given(st.binary(max_size=200))
def test_any_other_bytes_end_in_a_clear_error(content):
    with pytest.raises(BrokenExampleError, match=r"\w+ "):
        parsed(content)


def test_a_field_of_the_wrong_kind_is_found():
    wrong = message(RECORD).replace(b"\x1a\x03\x0a\x01\x07", b"\x0a\x03\x0a\x01\x07")
    with pytest.raises(BrokenExampleError, match="fields of a pack"):
        parsed(wrong)
