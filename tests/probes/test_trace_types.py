"""The arguments of a trace are told without touching the user's objects."""

import enum
import gc
import weakref
from types import SimpleNamespace

import pytest

from quickfit.probes import _trace_types
from quickfit.probes._trace_types import Numbers, leaves


class Shape(list):
    """A shape as TensorFlow has it; of unknown rank without sizes."""

    def __init__(self, sizes):
        super().__init__(sizes or [])
        self.rank = None if sizes is None else len(sizes)

    def as_list(self):
        return list(self)


class Spec:
    """What TensorFlow knows of a tensor."""

    def __init__(self, sizes, dtype="float32", **more):
        self.shape, self.dtype = Shape(sizes), SimpleNamespace(name=dtype)
        vars(self).update(more)


TensorSpec = type("TensorSpec", (Spec,), {})
VariableSpec = type("VariableSpec", (Spec,), {})
SparseTensorSpec = type("SparseTensorSpec", (Spec,), {})


class Literal:
    """A Python value that TensorFlow compares."""

    def __init__(self, value):
        self.value = value


class Weakref:
    """A Python object that TensorFlow compares by identity."""

    def __init__(self, thing):
        self._ref = weakref.ref(thing)


class Holds:
    """A container of other types."""

    def __init__(self, **parts):
        vars(self).update(parts)


class Thing:
    """An object of the user that must not be asked anything."""

    def __repr__(self):
        raise AssertionError

    __str__ = __eq__ = __hash__ = __repr__


class Mode(enum.Enum):
    """A choice."""

    FAST = 1


def described(**arguments):
    parameters = {
        name: SimpleNamespace(name=name, annotation=kind) for name, kind in arguments.items()
    }
    return leaves(SimpleNamespace(parameters=parameters), Numbers())


def values(**arguments):
    return [tuple(leaf) for leaf in described(**arguments)[0]]


thing = Thing()


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (TensorSpec([32, None]), ("tensor", "float32[32,None]")),
        (TensorSpec([]), ("tensor", "float32[]")),
        (TensorSpec(None, "int64"), ("tensor", "int64[...]")),
        (SparseTensorSpec([2]), ("tensor", "SparseTensor float32[2]")),
        (VariableSpec([2], alias_id=1), ("variable", "float32[2] #1")),
        (Literal(True), ("python", "True")),
        (Literal("fast"), ("python", "'fast'")),
        (Literal(0.5), ("python", "0.5")),
        (Literal(None), ("none", "None")),
        (Literal(object()), ("python", "nan")),
        (Literal(thing), ("object", "Thing")),
        (Weakref(thing), ("object", "Thing #1")),
        (Weakref(Mode.FAST), ("python", "Mode.FAST")),
        (Weakref(Mode), ("object", "EnumType #1")),
        (Weakref(described), ("object", "function described #1")),
        (Holds(), ("object", "Holds")),
        (Holds(shape=(1, 2), dtype="float32"), ("object", "Holds")),
    ],
)
def test_an_argument_is_told_by_what_sets_it_apart(kind, told):
    assert values(x=kind) == [("x", *told)]


def test_nested_arguments_are_told_by_their_paths():
    pair = Holds(components=(TensorSpec([1]), Literal(7)))
    point = Holds(attribute_names=("a",), attributes=Holds(components=(TensorSpec([2]),)))
    found = values(
        pair=pair,
        row=Holds(components_tuple=pair),
        batch=Holds(mapping={"image": TensorSpec([3]), 4: Literal(None), Mode: Literal(1)}),
        point=point,
        attrs=Holds(named_attributes=point),
        iterator=Holds(_element_spec=(TensorSpec([5]), {"y": TensorSpec([6])})),
        dataset=Holds(_element_spec=TensorSpec([7])),
        nothing=Holds(components=()),
    )
    assert [(name, value) for name, _, value in found] == [
        ("pair[0]", "float32[1]"),
        ("pair[1]", "7"),
        ("row[0]", "float32[1]"),
        ("row[1]", "7"),
        ("batch['image']", "float32[3]"),
        ("batch[4]", "None"),
        ("batch[EnumType]", "1"),
        ("point.a", "float32[2]"),
        ("attrs.a", "float32[2]"),
        ("iterator[0]", "float32[5]"),
        ("iterator[1]['y']", "float32[6]"),
        ("dataset[]", "float32[7]"),
        ("nothing", "empty Holds"),
    ]


def test_long_values_are_cut_and_still_differ():
    texts = ["x" * 500 + end for end in "ab"]
    first, second = (values(x=Literal(text))[0][2] for text in texts)
    assert first != second
    assert len(first) <= _trace_types.MAX_VALUE
    (huge,) = values(x=Literal(10**5000))
    assert len(huge[2]) <= _trace_types.MAX_VALUE
    ((name, _, _),) = values(**{"n" * 500: Literal(1)})
    assert len(name) == _trace_types.MAX_NAME


def test_only_the_first_of_many_arguments_are_kept():
    found, more = described(weights=Holds(components=tuple(TensorSpec([n]) for n in range(70))))
    assert (len(found), more) == (_trace_types.MAX_LEAVES, 6)


def test_a_type_that_holds_itself_ends():
    kind = Holds()
    kind.components = (kind,)
    assert len(values(x=kind)) == 1


def test_a_number_is_not_used_again_after_an_object_is_gone():
    numbers = Numbers()
    thing = Thing()
    first = numbers.of(thing)
    assert numbers.of(thing) == first
    alive = weakref.ref(thing)
    del thing
    gc.collect()
    assert alive() is None
    assert numbers._known == {}
    assert [numbers.of(Thing()) for _ in range(3)] == [2, 3, 4]


def test_what_takes_no_weak_reference_has_a_new_number_each_time():
    numbers = Numbers()
    assert numbers.of(None) != numbers.of(None)
