"""The fields of records, in the user's words."""

import pytest

from quickfit.data.reading.spec import Field, Spec, given
from quickfit.errors import UsageError


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("int64", Field("int64")),
        ("int", Field("int64")),
        ("float32[3]", Field("float32", (3,))),
        ("float [ 28, 28 ]", Field("float32", (28, 28))),
        ("bytes[]", Field("string", None)),
        ("jpeg", Field("image")),
    ],
)
def test_a_kind_is_read_from_a_text(text, field):
    assert given({"a": text}).fields == {"a": field}


def test_what_is_printed_can_be_pasted():
    spec = Spec({"a/b": Field("int64"), "c": Field("float32", (2, 3)), "d": Field("string", None)})
    assert str(spec) == '{"a/b": "int64", "c": "float32[2,3]", "d": "string[]"}'
    assert given({name: str(field) for name, field in spec.fields.items()}) == spec


@pytest.mark.parametrize("features", [None, {}, "int64", ["a"]])
def test_what_is_no_dict_is_refused_with_an_example(features):
    with pytest.raises(UsageError, match="give a dict of names and kinds"):
        given(features)


@pytest.mark.parametrize("kind", ["int32", "", "int64[x]", "[3]", "int64[3"])
def test_an_unknown_kind_is_refused_with_the_known_ones(kind):
    with pytest.raises(UsageError, match="kinds are 'int64', 'float32', 'string' and 'image'"):
        given({"a": kind})


def test_a_type_is_refused_with_what_to_write():
    with pytest.raises(UsageError, match=r"Say its kind in a text, {'a': 'int64'}"):
        given({"a": int})


def found(**kinds):
    fields = {name.replace("__", "/"): kind for name, kind in kinds.items()}
    return Spec(given(fields).fields, is_found=True)


@pytest.mark.parametrize(
    ("spec", "pair"),
    [
        pytest.param(found(x="image", n="int64"), ("x", "n"), id="the only number"),
        pytest.param(found(x="image", n="int64", label="int64"), ("x", "label"), id="named label"),
        pytest.param(
            found(image__encoded="image", image__class__label="int64", image__height="int64"),
            ("image/encoded", "image/class/label"),
            id="behind a slash",
        ),
        pytest.param(found(x="image", a="int64", b="int64"), None, id="two numbers"),
        pytest.param(found(x="image", label="int64", y="int64"), None, id="two labels"),
        pytest.param(found(x="image", y="image", label="int64"), None, id="two images"),
        pytest.param(found(x="image"), None, id="no number"),
        pytest.param(found(x="string", label="int64"), None, id="no image"),
        pytest.param(found(x="image", label="int64[2]"), None, id="several labels"),
        pytest.param(given({"x": "image", "n": "int"}), ("x", "n"), id="two fields given"),
        pytest.param(given({"x": "image", "label": "int", "z": "string"}), None, id="three given"),
    ],
)
def test_image_and_label_are_a_pair_only_where_it_is_obvious(spec, pair):
    assert spec.pair == pair
