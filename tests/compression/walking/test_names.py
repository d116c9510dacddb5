"""Names of layers out of nested models."""

from types import SimpleNamespace

from quickfit.compression.walking.names import Names


def layer(name):
    return SimpleNamespace(name=name)


def test_a_free_name_is_kept_and_a_taken_one_gets_the_names_around_it():
    names = Names(["input"])
    first, second, third = layer("conv"), layer("conv"), layer("input")
    names.add(first, ())
    names.add(second, ("outer", "inner"))
    names.add(third, ("outer",))
    assert [names[item] for item in (first, second, third)] == [
        "conv",
        "outer_inner_conv",
        "outer_input",
    ]


def test_names_that_collide_all_the_same_are_numbered():
    names = Names(["a_conv", "conv"])
    items = [layer("conv"), layer("conv")]
    for item in items:
        names.add(item, ("a",))
    assert [names[item] for item in items] == ["a_conv_1", "a_conv_2"]


def test_a_layer_keeps_the_name_it_got_first():
    names = Names([])
    item = layer("conv")
    names.fix(item, "head")
    names.add(item, ())
    assert names[item] == "head"
