"""The page of a report: what is in it, that nothing in it can do harm, and how it is written."""

import base64
import hashlib
import json
import os
import re
import stat
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from quickfit.diagnosis import diagnose
from quickfit.errors import UsageError
from quickfit.findings import Excerpt, Hunk, RunDetails, StepPoint
from quickfit.report.page import check_page_file, render_page, write_page
from quickfit.report.page.icicle import place_nodes
from quickfit.report.page.source import diffs_of_hunks

from report.builders import account, diagnosis, full_diagnosis, map_finding, memory_finding
from report.pages import diagnosis_of, hostile_run


class Tags(HTMLParser):
    """Every tag of a page with its attributes, and the text of each element by its id."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts, self._open = [], {}, []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag != "meta":
            self._open.append((tag, given.get("id")))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open, tag
        assert self._open.pop()[0] == tag

    def handle_data(self, data):
        for _, name in self._open:
            if name:
                self.texts[name] = self.texts.get(name, "") + data


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    return diagnosis_of("pairs/sequential-map", tmp_path_factory.mktemp("run"))


def test_says_what_the_terminal_says(real):
    page = Tags(render_page(real))
    assert page.texts["verdict"].replace("\xa0", " ") == real.headline
    assert page.texts["figure"].startswith("1.5×training speed")
    assert "ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE)" in page.texts["finding-1"]
    assert "quickfit fix " in page.texts["finding-1"]
    assert "mapandbatch(augment)slowest" in page.texts["pipeline"]
    for section in ("time", "findings", "course", "input", "callbacks", "first-step", "checked"):
        assert page.texts[f"s-{section}"]


def test_every_element_is_closed_and_every_id_is_its_own(real):
    page = Tags(render_page(real))
    ids = [given["id"] for _, given in page.tags if "id" in given]
    assert len(ids) == len(set(ids))


def test_nothing_is_loaded_and_only_what_is_ours_runs(real):
    page = render_page(real)
    tags = Tags(page).tags
    assert not [t for t, _ in tags if t in ("link", "img", "iframe", "object", "base", "form")]
    assert not [given for _, given in tags if {"src", "style", "srcset"} & given.keys()]
    assert not [name for _, given in tags for name in given if name.startswith("on")]
    links = [given["href"] for _, given in tags if "href" in given]
    assert all(link.startswith("#") for link in links)
    policy = next(g["content"] for t, g in tags if g.get("http-equiv"))
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (inline,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(diagnosis(), id="healthy"),
        pytest.param(diagnosis(map_finding()), id="one finding"),
        pytest.param(full_diagnosis(), id="full"),
        pytest.param(diagnosis(memory_finding()), id="memory"),
        pytest.param(diagnosis(breakdown=None, account=None, headline=""), id="nothing"),
        pytest.param(diagnosis(details=RunDetails(None, 0.0, 0)), id="no time at all"),
        pytest.param(
            diagnosis(details=RunDetails(9e99, 1e-9, 1, (StepPoint(1, 0, 0, 0, 1, 0, 0, 0, 0),))),
            id="a step of no time",
        ),
        pytest.param(diagnosis(account=replace(account(), seconds=0.0)), id="an empty account"),
    ],
)
def test_a_page_can_be_made_of(given):
    page = Tags(render_page(given))
    assert page.texts.get("verdict", "").replace("\xa0", " ") == given.headline


def test_a_hostile_recording_is_shown_and_nothing_of_it_is_markup(tmp_path):
    found = diagnose(hostile_run(tmp_path), with_details=True)
    page = render_page(found)
    parsed = Tags(page)
    assert [t for t, _ in parsed.tags if t == "script"] == ["script", "script"]
    assert not [t for t, _ in parsed.tags if t == "img"]
    assert not [n for _, given in parsed.tags for n in given if n.startswith("on")]
    assert "\u2028" not in page
    assert "\u202e" not in page
    assert "\x1b" not in page
    shown = "</script><script>window.harm=1</script><img src=x onerror=window.harm=1>"
    assert shown in parsed.texts["s-findings"]
    assert shown in parsed.texts["icicle"]
    facts = json.loads(parsed.texts["facts"])
    assert shown in json.dumps(facts)
    assert not re.search(r"[<>&]", re.search(r'id="facts">(.*?)</script>', page)[1])


def test_the_parts_of_the_account_lie_inside_their_parents(real):
    placed = place_nodes(real.account, real.findings)
    for one in placed[1:]:
        parent = placed[one.parent]
        assert parent.left - 1e-9 <= one.left
        assert one.left + one.width <= parent.left + parent.width + 1e-9
        assert one.depth == parent.depth + 1
    marked = [one.node.name for one in placed if one.finding == "1"]
    assert marked == ["input_wait"]


def test_many_nodes_are_drawn_as_far_as_they_can_be_seen():
    root = account()
    lines = tuple(replace(root.children[0], seconds=60 / 3000, children=()) for _ in range(3000))
    placed = place_nodes(replace(root, children=lines), ())
    assert len(placed) <= 501
    assert all(one.parent < n for n, one in enumerate(placed))


def lines_of(listing):
    """Return the lines of a listing: number, sign and code."""
    cell = r'<span class="{}">(.*?)</span>'
    rows = re.findall(cell.format("ln") + cell.format("sign") + cell.format("code"), listing, re.S)
    return [(number, sign, re.sub(r"<.*?>", "", code).rstrip()) for number, sign, code in rows]


FILE = Excerpt("/a/train.py", 1, tuple(f"line{n}" for n in range(1, 30)))


def test_a_change_that_only_adds_loses_no_line():
    hunk = Hunk("/a/train.py", 10, "", "new")
    ((place, listing),) = diffs_of_hunks((hunk,), (FILE,))
    assert (place.file, place.line) == ("/a/train.py", 10)
    shown = lines_of(listing)
    assert [number for number, _, _ in shown] == ["7", "8", "9", "", "10", "11", "12"]
    assert shown[3] == ("", "+", "new")


def test_places_that_are_near_share_a_listing():
    hunks = (
        Hunk("/a/train.py", 3, "line3", "three"),
        Hunk("/a/train.py", 8, "line8\nline9", "eight"),
        Hunk("/a/train.py", 25, "line25", "far"),
        Hunk("/b/other.py", 26, "x", "y"),
    )
    drawn = [
        (place.file, place.line, lines_of(listing))
        for place, listing in diffs_of_hunks(hunks, (FILE,))
    ]
    assert [(file, line) for file, line, _ in drawn] == [
        ("/a/train.py", 3),
        ("/a/train.py", 25),
        ("/b/other.py", 26),
    ]
    numbers = [number for number, _, _ in drawn[0][2]]
    assert numbers == ["1", "2", "3", "", *map(str, range(4, 8)), "8", "9", "", "10", "11", "12"]
    assert drawn[2][2] == [("26", "-", "x"), ("", "+", "y")]


def test_words_that_changed_are_marked():
    hunk = Hunk("/a/train.py", 3, "ds = ds.map(decode)", "ds = ds.map(decode, deterministic=False)")
    ((_, listing),) = diffs_of_hunks((hunk,), ())
    assert "<ins>, deterministic=False</ins>" in listing
    assert "<del>" not in listing


# -- writing -------------------------------------------------------------------------------------


def test_the_page_is_for_its_user_alone_and_replaces_an_earlier_one(tmp_path):
    file = tmp_path / "report.html"
    assert write_page(diagnosis(), file) == str(file)
    first = file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    write_page(diagnosis(map_finding()), file)
    assert file.read_text() != first
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_what_is_no_page_is_not_replaced_unless_asked(tmp_path):
    file = tmp_path / "thesis.html"
    file.write_text("<!doctype html>\n<p>Four years of work</p>")
    with pytest.raises(
        UsageError, match=r"(?s)thesis\.html: there is a file that is not a page.*--force"
    ):
        write_page(diagnosis(), file)
    assert "Four years" in file.read_text()
    write_page(diagnosis(), file, replaces=True)
    assert "compute-bound" in file.read_text()


def test_a_link_is_not_followed(tmp_path):
    write_page(diagnosis(), tmp_path / "real.html")
    (tmp_path / "link.html").symlink_to(tmp_path / "real.html")
    with pytest.raises(UsageError, match="not a page of quickfit"):
        check_page_file(tmp_path / "link.html")


@pytest.mark.parametrize(
    ("name", "why"),
    [(".", "is a folder"), ("missing/report.html", r"the folder .*missing does not exist")],
)
def test_says_why_a_page_cannot_be_written(tmp_path, name, why):
    with pytest.raises(UsageError, match=rf"{why}\.\nName a file"):
        check_page_file(tmp_path / name)


def test_a_full_disk_leaves_the_earlier_page(tmp_path, monkeypatch):
    file = tmp_path / "report.html"
    write_page(diagnosis(), file)
    before = file.read_bytes()

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UsageError, match="the disk is full"):
        write_page(diagnosis(map_finding()), file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_the_files_of_the_page_are_installed():
    import tomllib

    root = Path(__file__).parents[2]
    data = tomllib.loads((root / "pyproject.toml").read_text())
    files = data["tool"]["setuptools"]["package-data"]["quickfit"]
    assert {"report/page/*.css", "report/page/*.js"} <= set(files)
    assert all((root / "src/quickfit" / name).exists() for name in files if "*" not in name)
