import pytest

from quickfit.data.sources import open as open_source
from quickfit.errors import UsageError


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"path_column": "x"}, r"path_column\) is 'x', and only tables .*is a\s+folder"),
        ({"label_column": "x"}, r"label_column\) is 'x', and only tables have columns"),
        ({"root": "x"}, r"root\) is 'x', and .* is a folder: its images lie in it"),
        ({"labels": True}, "labels is True: give one label for each image, False for none"),
        ({"labels": 3}, "labels is 3"),
        ({"labels": {"a.jpg": 1}}, "labels is a dict, which has no order: give a list"),
        ({"labels": {1}}, "labels is a set, which has no order: give a list"),
        ({"labels": "cat"}, "labels is 'cat', a single text: give one label for each image"),
    ],
)
def test_says_which_option_does_not_fit(tmp_path, options, says):
    (tmp_path / "a.jpg").write_bytes(b"x")
    with pytest.raises(UsageError, match=says):
        open_source(tmp_path, **options)


def test_wants_labels_from_one_place(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"x")
    table = {"path": [tmp_path / "a.jpg"], "label": [0]}
    with pytest.raises(UsageError, match="both labels and label_column are given"):
        open_source(table, labels=[1], label_column="label")


def test_cuts_a_long_list_short_in_a_message(tmp_path):
    with pytest.raises(UsageError, match="…") as raised:
        open_source([f"{number}.jpg" for number in range(1000)], path_column="x")
    assert len(str(raised.value)) < 500


def test_a_set_of_paths_has_no_order_that_labels_could_follow(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"x")
    with pytest.raises(UsageError, match="the paths are a set"):
        open_source({str(tmp_path / "a.jpg")}, labels=[1])
