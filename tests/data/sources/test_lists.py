import pytest

from quickfit.data import sources
from quickfit.data.entries import NO_LABEL, Reason, SourceImageError
from quickfit.errors import PipelineError, UsageError


@pytest.fixture
def photos(tmp_path):
    for name in ("a.jpg", "b.jpg", "sub/c.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "empty.jpg").write_bytes(b"")
    return tmp_path


def pairs(source):
    return [
        (entry.name, source.classes[entry.label] if entry.label != NO_LABEL else None)
        for entry in source.entries
    ]


def test_lists_paths_in_their_order_with_their_labels(photos):
    source = sources.open(["sub/c.jpg", "a.jpg"], labels=["x", "w"], root=photos)
    assert pairs(source) == [("sub/c.jpg", "x"), ("a.jpg", "w")]
    assert [source.read(entry) for entry in source.entries] == [b"sub/c.jpg", b"a.jpg"]


def test_paths_begin_at_the_working_directory(photos, monkeypatch):
    monkeypatch.chdir(photos)
    assert pairs(sources.open(["a.jpg"])) == [("a.jpg", None)]


def test_labels_stay_with_their_images_where_one_is_rejected(photos):
    source = sources.open(["a.jpg", "empty.jpg", "b.jpg"], labels=[0, 1, 2], root=photos)
    assert pairs(source) == [("a.jpg", "0"), ("b.jpg", "2")]
    assert source.classes == ("0", "1", "2")
    assert source.rejected[0].reason == Reason.EMPTY


def test_a_missing_file_fails_when_it_is_read(photos):
    source = sources.open(["a.jpg", "gone.jpg"], root=photos)
    with pytest.raises(SourceImageError, match="it does not exist") as raised:
        source.read(source.entries[1])
    assert raised.value.reason == Reason.VANISHED


def test_lists_a_table_beside_its_images(photos):
    (photos / "t.csv").write_text("path,label,width\nsub/c.jpg,dog,5\na.jpg,cat,6\n")
    source = sources.open(photos / "t.csv")
    assert pairs(source) == [("sub/c.jpg", "dog"), ("a.jpg", "cat")]
    assert source.notes == ("paths from the column path", "labels from the column label")
    assert repr(source) == f"<table {photos}/t.csv: 2 images in 2 classes>"


def test_numbers_in_a_table_are_labels(photos):
    (photos / "t.csv").write_text("file;y\na.jpg;2\nb.jpg;0\n")
    assert pairs(sources.open(photos / "t.csv")) == [("a.jpg", "2"), ("b.jpg", "0")]


def test_a_table_of_two_columns_needs_no_header(photos):
    (photos / "t.csv").write_text("a.jpg,cat\nb.jpg,dog\nsub/c.jpg,cat\n")
    source = sources.open(photos / "t.csv")
    assert pairs(source) == [("a.jpg", "cat"), ("b.jpg", "dog"), ("sub/c.jpg", "cat")]
    assert "labels from the column column 2" in source.notes


def test_takes_the_columns_and_the_root_that_are_named(photos):
    (photos / "sub" / "t.csv").write_text("path,thumb,label,breed\nx.jpg,a.jpg,1,tabby\n")
    source = sources.open(
        photos / "sub" / "t.csv", path_column="thumb", label_column="breed", root=photos
    )
    assert pairs(source) == [("a.jpg", "tabby")]
    again = sources.open(photos / "sub" / "t.csv", path_column=1, labels="breed", root=photos)
    assert pairs(again) == pairs(source)


def test_takes_no_labels_from_a_table_on_request(photos):
    (photos / "t.csv").write_text("path,label\na.jpg,cat\n")
    assert pairs(sources.open(photos / "t.csv", labels=False)) == [("a.jpg", None)]


def test_lists_columns_from_memory(photos):
    columns = {"path": [photos / "b.jpg", str(photos / "a.jpg")], "class": ["x", "y"]}
    assert [label for _, label in pairs(sources.open(columns))] == ["x", "y"]


def test_lists_a_text_file_of_paths_with_labels_or_without(photos):
    (photos / "plain.txt").write_text("sub/c.jpg\na.jpg\n")
    (photos / "labelled.txt").write_text("sub/c.jpg 1\na.jpg 0\n")
    assert pairs(sources.open(photos / "plain.txt")) == [("sub/c.jpg", None), ("a.jpg", None)]
    assert pairs(sources.open(photos / "labelled.txt")) == [("sub/c.jpg", "1"), ("a.jpg", "0")]


@pytest.mark.parametrize(
    ("where", "error", "says"),
    [
        ([], PipelineError, "the list: there is no path in it"),
        ({"path": []}, PipelineError, "the table: there is no path in it"),
        (
            {"path": ["a.jpg", None]},
            UsageError,
            "the table, column path: the value of row 2 is None",
        ),
        (["empty.jpg"], PipelineError, r"none of its 1 images .*empty\.jpg: it has no bytes"),
        (["x.jpg", "y.jpg"], UsageError, "none of the 2 images of the list is there"),
    ],
)
def test_says_why_nothing_can_be_listed(photos, where, error, says):
    with pytest.raises(error, match=says):
        sources.open(where, root=photos)


def test_says_which_row_of_a_table_has_no_path(photos):
    (photos / "t.csv").write_text("path,label\na.jpg,1\n,2\n")
    with pytest.raises(
        UsageError, match=r"t\.csv, column path: the value of row 2 is '', not a path"
    ):
        sources.open(photos / "t.csv")


def test_columns_that_are_not_taken_for_labels_are_told(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"x")
    (tmp_path / "x.csv").write_text("foo,bar,two words\na.jpg,x,y\n")
    says = "no labels: none of the columns (bar, two words) looks like one; use --label-column bar"
    assert says in sources.open(tmp_path / "x.csv").notes
    assert says not in sources.open(tmp_path / "x.csv", label_column="bar").notes
    assert says not in sources.open(tmp_path / "x.csv", labels=False).notes
