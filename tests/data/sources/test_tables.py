import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quickfit.data.sources.tables import (
    containing_folder,
    is_table,
    is_tabular,
    read_path_lines,
    read_table,
    table_from_columns,
)
from quickfit.errors import UsageError


class Frame:
    """What quickfit uses of a DataFrame: column names, and columns that can be iterated."""

    def __init__(self, **columns):
        self.columns = list(columns)
        self._values = columns

    def __getitem__(self, name):
        return self._values[name]


def chosen(columns, path=None, label=None):
    table = table_from_columns(columns)
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


@pytest.fixture
def write(tmp_path):
    def write(content, name="x.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def columns(path):
    table = read_table(path)
    return {name: table.values(position) for position, name in enumerate(table.columns)}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("path,label\na.jpg,x\nb.jpg,y\n", id="commas"),
        pytest.param("path;label\r\na.jpg;x\r\n\r\nb.jpg;y", id="semicolons, Windows lines"),
        pytest.param("path\tlabel\na.jpg\tx\nb.jpg\ty\n", id="tabs"),
        pytest.param("path|label\na.jpg|x\nb.jpg|y\n", id="bars"),
        pytest.param("path, label\na.jpg, x\nb.jpg, y\n", id="spaces after commas"),
        pytest.param(b"\xef\xbb\xbfpath,label\na.jpg,x\nb.jpg,y\n", id="a mark before UTF-8"),
        pytest.param("path,label\na.jpg,x\nb.jpg,y\n".encode("utf-16"), id="UTF-16"),
        pytest.param('"path","label"\n"a.jpg","x"\n"b.jpg","y"\n', id="quotation marks"),
    ],
)
def test_reads_tables_of_every_spelling(write, content):
    assert columns(write(content)) == {"path": ["a.jpg", "b.jpg"], "label": ["x", "y"]}


def test_keeps_commas_line_breaks_and_foreign_bytes_of_names(write):
    content = b'path,label\n"a,b.jpg",x\n"line\nbreak.jpg",x\ncaf\xe9.jpg,x\n"\xe2\x80\xa8.jpg",x\n'
    assert columns(write(content))["path"] == [
        "a,b.jpg",
        "line\nbreak.jpg",
        "caf\udce9.jpg",
        "\u2028.jpg",
    ]


def test_reads_a_table_without_a_header(write):
    assert columns(write("a.jpg,x\nb.jpg,y\n")) == {
        "column 1": ["a.jpg", "b.jpg"],
        "column 2": ["x", "y"],
    }


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", r"x\.csv: this table is empty"),
        ("\n \n", r"x\.csv: this table is empty"),
        ("path,label\n", r"has a header \(path, label\) and no rows"),
        ("path,label\na.jpg,x\n\nb.jpg\n", r"x\.csv:4: this row has 1 columns, the first has 2"),
        ("path,label\na,b.jpg,x\n", r"x\.csv:2: .*\n.*quotation marks"),
        (
            'path,label\na.jpg,"' + "x" * 200_000,
            r"x\.csv:.* cannot be read as a table: field larger",
        ),
    ],
)
def test_says_in_which_line_a_table_is_wrong(write, content, says):
    with pytest.raises(UsageError, match=says):
        columns(write(content))


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=st.binary(max_size=80) | st.text('ab.jpg,;\t"\n\r ', max_size=80).map(str.encode))
def test_any_content_gives_a_table_or_a_clear_error(write, content):
    with contextlib.suppress(UsageError):
        assert len({len(values) for values in columns(write(content)).values()}) == 1


@pytest.mark.parametrize(
    ("content", "names", "labels"),
    [
        ("a.jpg\nb c.jpg\n\n", ["a.jpg", "b c.jpg"], None),
        ("a.jpg 0\nb c.jpg 12\n", ["a.jpg", "b c.jpg"], ["0", "12"]),
        ("a.jpg\tcat\r\nb.jpg\tdog\r\n", ["a.jpg", "b.jpg"], ["cat", "dog"]),
        ("a.jpg 0\nb.jpg\n", ["a.jpg 0", "b.jpg"], None),
        ("img 1\nimg 2\n", ["img 1", "img 2"], None),
    ],
)
def test_reads_labels_after_paths_only_where_nothing_else_is_possible(
    write, content, names, labels
):
    assert read_path_lines(write(content, "x.txt")) == (names, labels)


def test_tells_a_table_from_a_list(write):
    assert is_tabular(write("a.jpg", "x.csv"))
    assert is_tabular(write("a.jpg,0\nb.jpg,1\n", "x.txt"))
    assert not is_tabular(write("a.jpg\nb,c.jpg\n", "x.txt"))
    assert not is_tabular(write("", "x.txt"))


def test_says_that_a_file_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        read_table(str(tmp_path))


def test_paths_begin_at_the_folder_of_their_file():
    assert containing_folder("x/y.csv") == "x"
    assert containing_folder("y.csv") == "."
