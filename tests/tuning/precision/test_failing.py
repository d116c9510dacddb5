"""Tests of finding the layer that failed, and of errors told shortly."""

from quickfit.tuning.precision.failing import failed_layer, told


class Part:
    """Stands for a layer: it may hold others, and fails where it is told to."""

    def __init__(self, *parts, fails=False):
        self.parts, self.fails = parts, fails

    def _flatten_layers(self):
        return [self, *(inner for part in self.parts for inner in part._flatten_layers())]

    def call(self):
        if self.fails:
            raise TypeError("two types")
        for part in self.parts:
            part.call()


class Other(Part):
    """Its author does not write `self`."""

    def call(this):  # noqa: N805
        raise TypeError("two types")


def failure_of(part):
    try:
        part.call()
    except TypeError as error:
        return error
    raise AssertionError("nothing failed")


def test_the_innermost_layer_is_found():
    inner = Part(fails=True)
    model = Part(Part(), inner)
    assert failed_layer(failure_of(model), [("the model", model), ("inner", inner)]) == "inner"


def test_a_part_of_a_layer_stands_for_the_layer():
    layer = Part(Part(Part(fails=True)))
    assert failed_layer(failure_of(layer), [("layer", layer)]) == "layer"


def test_a_layer_is_found_whatever_its_author_calls_it():
    layer = Other()
    assert failed_layer(failure_of(layer), [("layer", layer)]) == "layer"


def test_what_a_lambda_failed_with_is_told_instead_of_a_shape_that_is_not_known():
    error = NotImplementedError("We could not automatically infer the shape")
    error.__context__ = TypeError("float32 and float16")
    assert told(error) == "TypeError: float32 and float16"
    assert told(NotImplementedError("alone")) == "NotImplementedError: alone"


def test_an_error_from_elsewhere_is_in_no_layer():
    assert failed_layer(failure_of(Part(fails=True)), [("layer", Part())]) is None
    assert failed_layer(TypeError("never raised"), []) is None


def test_an_error_is_told_without_colours_and_arguments():
    text = "Exception in call().\n\n\x1b[1mTypes differ.\x1b[0m\n\nArguments received by X:\n  a=1"
    assert told(TypeError(text)) == "TypeError: Exception in call().\nTypes differ."


def test_a_long_error_is_cut():
    assert told(ValueError("\n".join("abcdefgh"))) == "ValueError: a\nb\nc\nd"
