import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quickfit.data.sources.text_tables import folder_of, is_tabular, read_lines, read_table
from quickfit.errors import UsageError


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
    assert read_lines(write(content, "x.txt")) == (names, labels)


def test_tells_a_table_from_a_list(write):
    assert is_tabular(write("a.jpg", "x.csv"))
    assert is_tabular(write("a.jpg,0\nb.jpg,1\n", "x.txt"))
    assert not is_tabular(write("a.jpg\nb,c.jpg\n", "x.txt"))
    assert not is_tabular(write("", "x.txt"))


def test_says_that_a_file_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        read_table(str(tmp_path))


def test_paths_begin_at_the_folder_of_their_file():
    assert folder_of("x/y.csv") == "x"
    assert folder_of("y.csv") == "."
