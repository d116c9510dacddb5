"""The page in a real Chromium: what is seen, what keys and clicks do, and that nothing else runs.

`make browser` installs Chromium and its driver.
"""

import pytest

from quickfit.diagnosis import diagnose
from quickfit.report.page import write_page
from quickfit.report.page.small import render_small

from browsers import browser, requests, text_of
from report.builders import full_diagnosis
from report.pages import diagnosis_of, hostile_run

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """A browser with a profile of its own."""
    with browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Pages of real recordings, each made once."""
    folder, pages = tmp_path_factory.mktemp("pages"), {}

    def page_of(name):
        if name not in pages:
            file, home = folder / f"{len(pages)}.html", tmp_path_factory.mktemp("run")
            if name == "hostile":
                found = diagnose(hostile_run(home), with_details=True)
            else:
                found = full_diagnosis() if name == "full" else diagnosis_of(name, home)
            write_page(found, file)
            pages[name] = (file, found)
        return pages[name]

    return page_of


@pytest.fixture
def opened(driver, runs):
    """Open the page of a recording in a window of a width, light or dark."""

    def open_page(name, *, width=1400, scheme="light"):
        driver.get_log("performance")
        driver.get_log("browser")
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        file, found = runs(name)
        driver.get(file.as_uri())
        return found

    return open_page


def press(driver, *keys):
    """Press keys, one after the other."""
    from selenium.webdriver import ActionChains

    for key in keys:
        ActionChains(driver).send_keys(key).perform()


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize(
    "name",
    ["pairs/sequential-map", "pairs/spikes", "healthy/tfdata_images.alone", "full", "hostile"],
)
def test_a_page_opens_without_an_error_or_a_request_and_fits(driver, opened, name, width):
    found = opened(name, width=width)
    assert text_of(driver, "#verdict") == found.headline
    assert driver.get_log("browser") == []
    assert requests(driver) == []
    wide = "return document.documentElement.scrollWidth"
    assert driver.execute_script(wide) <= width


def test_the_account_the_finding_and_its_change_are_there(driver, opened):
    found = opened("pairs/sequential-map")
    nodes = driver.execute_script(
        "return [...document.querySelectorAll('#icicle .node')].map(n => n.ariaLabel)"
    )
    assert nodes[0].startswith("the run, 7.7 s, 100 %")
    assert any(label.startswith("waiting for input, 2.4 s, 31 %") for label in nodes)
    # As wide as their time.
    share = driver.execute_script(
        "const w = s => document.querySelector(s).getBoundingClientRect().width;"
        "return w('[aria-label^=\"waiting for input\"]') / w('#icicle')"
    )
    assert share == pytest.approx(found.account.find("input_wait").share, abs=0.005)
    assert text_of(driver, "#finding-1 h3") == "A map runs on one thread"
    assert text_of(driver, "#finding-1 .row.gone") == "19 - ds = ds.map(augment)"
    assert "num_parallel_calls=tf.data.AUTOTUNE" in text_of(driver, "#finding-1 .row.come ins")
    assert text_of(driver, "#finding-1 .cmd").endswith("run.qfrun sequential-map")
    colours = driver.execute_script(
        "return ['.row.gone', '.row.come'].map(s => "
        "getComputedStyle(document.querySelector(s)).backgroundColor)"
    )
    assert len({*colours, "rgba(0, 0, 0, 0)"}) == 3


def test_a_click_looks_into_a_part_and_another_goes_back(driver, opened):
    from selenium.webdriver.common.by import By

    opened("pairs/sequential-map")
    node = driver.find_element(By.CSS_SELECTOR, '[aria-label^="waiting for input"]')
    number = node.get_attribute("data-node")
    node.click()
    focus = "return document.getElementById('icicle').dataset.focus"
    assert driver.execute_script(focus) == number
    assert node.value_of_css_property("left") == "0px" or node.get_attribute("style").startswith(
        "left: 0%; width: 100%"
    )
    gone = driver.execute_script(
        "return document.querySelector('[aria-label^=\"imports\"]').classList.contains('gone')"
    )
    assert gone
    assert "2.4 s" in text_of(driver, "#node-detail")
    assert "ds = ds.map(augment)" in text_of(driver, "#node-detail")
    node.click()
    assert driver.execute_script(focus) != number


def test_keys_look_into_a_part_and_go_back(driver, opened):
    from selenium.webdriver.common.keys import Keys

    opened("pairs/sequential-map")
    driver.execute_script("document.querySelector('#icicle [tabindex=\"0\"]').focus()")
    press(driver, Keys.HOME, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    chosen = "return document.activeElement.ariaLabel"
    assert driver.execute_script(chosen).startswith("fit, 4.7 s")
    press(driver, Keys.ENTER)
    focus = "return document.getElementById('icicle').dataset.focus"
    inside = driver.execute_script(focus)
    assert inside != "0"
    press(driver, Keys.ARROW_DOWN)
    assert driver.execute_script(chosen).startswith("waiting for input")
    press(driver, Keys.ESCAPE)
    assert driver.execute_script(focus) == "0"


def test_a_moment_of_the_run_can_be_read_with_keys_and_with_the_pointer(driver, opened):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    opened("pairs/sequential-map")
    course = driver.find_element(By.ID, "course")
    driver.execute_script("arguments[0].focus()", course)
    press(driver, Keys.END, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    said = course.get_attribute("aria-valuetext")
    assert "step " in said
    assert "MB held" in said
    ActionChains(driver).move_to_element(course).perform()
    assert text_of(driver, "#reading") != ""


def test_a_command_can_be_copied(driver, opened):
    from selenium.webdriver.common.by import By

    opened("pairs/sequential-map")
    button = driver.find_element(By.CSS_SELECTOR, "#finding-1 .copy")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    driver.execute_async_script("setTimeout(arguments[0], 50)")
    assert button.text == "copied"


def test_marks_of_the_run_are_drawn(driver, opened):
    opened("pairs/spikes")
    drawn = driver.execute_script(
        "return ['.s-spike', '.s-trace', '.median', '.band'].map("
        "s => document.querySelector('#course ' + s).getAttribute('d').length)"
    )
    assert all(length > 10 for length in drawn[:3])
    shown = driver.execute_script(
        "return getComputedStyle(document.querySelector('.s-spike')).stroke"
    )
    assert shown != "none"


def test_a_hostile_recording_shows_its_text_and_runs_nothing(driver, opened):
    opened("hostile")
    assert driver.execute_script("return window.harm") is None
    assert "<script>window.harm=1</script>" in text_of(driver, "#finding-1")
    assert "<script>window.harm=1</script>" in text_of(driver, "header .script")
    driver.execute_script("document.querySelectorAll('.node').forEach(n => n.click())")
    driver.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert driver.execute_script("return window.harm") is None
    assert driver.get_log("browser") == []
    assert requests(driver) == []


def test_what_is_not_ours_may_not_run(driver, opened):
    opened("pairs/sequential-map")
    driver.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.harm = 1';"
        "document.body.append(s);"
        "const i = document.createElement('img'); i.src = 'https://example.org/x.png';"
        "document.body.append(i);"
    )
    assert driver.execute_script("return window.harm") is None
    said = " ".join(row["message"] for row in driver.get_log("browser"))
    assert "Content Security Policy" in said
    assert requests(driver) == [("https://example.org/x.png", "csp")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name", ["pairs/sequential-map", "variants/combined.validation_callback", "full"]
)
def test_axe_finds_nothing_serious(driver, opened, name, scheme):
    from selenium_axe_python import Axe

    opened(name, scheme=scheme)
    driver.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    axe = Axe(driver)
    axe.inject()
    results = axe.run()
    told = [
        (rule["id"], rule["impact"], [node["html"][:120] for node in rule["nodes"][:3]])
        for rule in results["violations"]
    ]
    assert not [one for one in told if one[1] in ("serious", "critical")], told
    assert "color-contrast" in {rule["id"] for rule in results["passes"]}


def test_light_and_dark_differ_and_print_is_light(driver, opened):
    ground = "return getComputedStyle(document.body).backgroundColor"
    opened("full", scheme="light")
    light = driver.execute_script(ground)
    opened("full", scheme="dark")
    assert driver.execute_script(ground) != light
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert driver.execute_script(ground) == "rgb(255, 255, 255)"
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


# -- the page in small, in the output of a notebook's cell -----------------------------------------


@pytest.mark.parametrize("name", ["full", "hostile"])
@pytest.mark.parametrize(("paper", "ink"), [("#ffffff", "#111111"), ("#111111", "#e0e0e0")])
def test_the_small_page_takes_the_colours_of_the_notebook_and_runs_nothing(
    driver, opened, runs, tmp_path, name, paper, ink
):
    cell = render_small(runs(name)[1])
    file = tmp_path / "cell.html"
    style = f"background:{paper};color:{ink};font-family:sans-serif"
    file.write_text(f'<!doctype html><meta charset="utf-8"><body style="{style}">{cell}')
    opened(name, width=420)
    requests(driver)  # those of the page before
    driver.get(file.as_uri())
    assert driver.get_log("browser") == []
    assert requests(driver) == []
    assert driver.execute_script("return window.harm") is None
    assert driver.execute_script("return document.documentElement.scrollWidth <= 420")
    body = driver.execute_script("return getComputedStyle(document.body).color")
    shown = "return getComputedStyle(document.querySelector('.qf-verdict')).color"
    assert driver.execute_script(shown) == body
    assert text_of(driver, ".qf-verdict")


def test_a_finding_of_the_small_page_opens_by_click(driver, runs, tmp_path):
    from selenium.webdriver.common.by import By

    file = tmp_path / "cell.html"
    file.write_text(f'<!doctype html><meta charset="utf-8"><body>{render_small(runs("full")[1])}')
    driver.get(file.as_uri())
    first, second = driver.find_elements(By.CSS_SELECTOR, "details")[:2]
    assert first.get_attribute("open")
    assert not second.get_attribute("open")
    second.find_element(By.CSS_SELECTOR, "summary").click()
    assert second.get_attribute("open")
    assert second.find_element(By.CSS_SELECTOR, "li").is_displayed()
