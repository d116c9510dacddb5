import pytest

from quickfit.data.sources.table import from_columns, is_table
from quickfit.errors import UsageError


class Frame:
    """What quickfit uses of a DataFrame: column names, and columns that can be iterated."""

    def __init__(self, **columns):
        self.columns = list(columns)
        self._values = columns

    def __getitem__(self, name):
        return self._values[name]


def chosen(columns, path=None, label=None):
    table = from_columns(columns)
    path_column = table.path_column(path)
    label_column = table.label_column(label, path_column)
    return table.columns[path_column], None if label_column is None else table.columns[label_column]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"id": [1], "Image Path": ["a"], "Label": [0]}, ("Image Path", "Label")),
        ({"filename": ["a.jpg"], "class": ["x"], "width": [5]}, ("filename", "class")),
        ({"x": ["a.JPG"], "y": [1]}, ("x", "y")),
        ({"file": ["notes.txt"], "image": ["a.png"], "species": [2]}, ("image", None)),
        ({"image": [17], "path": ["a.jpg"]}, ("path", None)),
        ({"thing": ["a/b.jpg"], "size": ["3"]}, ("thing", None)),
        ({"file": ["no_ending"], "category": [1], "label": [2]}, ("file", "label")),
    ],
)
def test_finds_the_columns_by_their_names_and_values(columns, expected):
    assert chosen(columns) == expected
    assert chosen(Frame(**columns)) == expected


@pytest.mark.parametrize(
    ("values", "is_label"),
    [
        pytest.param(["owl", "cat", "owl"], True, id="names that come again"),
        pytest.param([1, 0, 1], True, id="numbers that come again"),
        pytest.param(["1.0", "0.0", "1.0"], True, id="whole numbers as pandas writes them"),
        pytest.param(["u1", "u2", "u3"], False, id="every value is its own"),
        pytest.param([0.5, 0.25, 0.5], False, id="measured values"),
        pytest.param(["m.png", "m.png", "n.png"], False, id="paths of masks"),
        pytest.param(["owl", None, "owl"], False, id="a value is missing"),
        pytest.param(["owl", float("nan"), "owl"], False, id="a value is not a number"),
    ],
)
def test_the_one_column_beside_the_paths_is_the_labels_if_it_holds_classes(values, is_label):
    columns = {"photo": ["a.jpg", "b.jpg", "c.jpg"], "species": values}
    assert chosen(columns, "photo") == ("photo", "species" if is_label else None)
    assert chosen({**columns, "width": [1, 1, 1]}, "photo") == ("photo", None)


def test_takes_the_columns_that_the_user_names():
    columns = {"path": ["a.jpg"], "other": ["b.jpg"], "label": [0], "breed": ["x"]}
    assert chosen(columns, "other", "breed") == ("other", "breed")
    assert chosen(columns, 1, 3) == ("other", "breed")


@pytest.mark.parametrize(
    ("columns", "path", "says"),
    [
        ({"a": ["x"], "b": ["y"]}, None, "no column seems to hold paths.*columns are: a, b"),
        ({"a": ["x.jpg"], "b": ["y.png"]}, None, "several columns hold paths.*\n.*path_column="),
        ({"a": ["x.jpg"]}, "image", r"path_column\) is 'image', and there is no such column.*: a"),
        ({"a": ["x.jpg"]}, 3, r"path_column\) is 3"),
        ({"a": ["x.jpg"], "b": [1, 2]}, None, "differ in length: {'a': 1, 'b': 2}"),
    ],
)
def test_says_which_columns_there_are(columns, path, says):
    with pytest.raises(UsageError, match=says):
        chosen(columns, path)


def test_says_that_the_label_column_is_not_there():
    with pytest.raises(UsageError, match=r"label_column\) is 'breed'.*columns are: path, label"):
        chosen({"path": ["a.jpg"], "label": [1]}, label="breed")


def test_tells_tables_from_lists():
    assert is_table({"path": []})
    assert is_table(Frame(path=[]))
    assert not is_table(["a.jpg"])
    assert not is_table(("a", "b"))
    assert not is_table(Series())


class Series:
    """A column of a DataFrame: it has keys, and is a list all the same."""

    def keys(self):
        return range(2)

    def __getitem__(self, position):
        return ["a.jpg", "b.jpg"][position]
