"""The HTML page of a report, in a real Chromium."""

import json
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, Page
from pydantic import JsonValue
from run_folders import Story, case_summary, write_cases

from webmcp_agent.agent.stream import ToolError
from webmcp_agent.agent.trace import TraceEvent
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.pass_rates import Rate
from webmcp_agent.scenarios.report import RunFolder
from webmcp_agent.scenarios.report_data import About, read_case
from webmcp_agent.scenarios.report_files import write_report
from webmcp_agent.scenarios.report_page import json_in_html, page_of, write_page

ABOUT = About(command="test", model="Script", began="2026-02-03 10:00", wall_ms=61_000.0)
ACCESSIBILITY = Path(__file__).with_name("accessibility.js").read_text(encoding="utf-8")

OpenReport = Callable[..., Awaitable[tuple[Page, list[str]]]]


@pytest.fixture
async def open_report(chromium: Browser) -> AsyncGenerator[OpenReport]:
    """Opens a file; what it asks for, says and runs into is in the list."""
    async with AsyncExitStack() as stack:

        async def open_at(
            path: Path, *, width: int = 1280, colours: Literal["light", "dark"] = "light"
        ) -> tuple[Page, list[str]]:
            context = await stack.enter_async_context(
                await chromium.new_context(
                    viewport={"width": width, "height": 900}, color_scheme=colours
                )
            )
            page = await context.new_page()
            seen: list[str] = []
            page.on("request", lambda request: seen.append(f"request {request.url[:200]}"))
            page.on("requestfailed", lambda request: seen.append(f"failed {request.failure}"))
            page.on("dialog", lambda dialog: seen.append(f"dialog {dialog.message}"))
            page.on("console", lambda message: seen.append(f"console {message.text}"))
            page.on("pageerror", lambda error: seen.append(f"error {error}"))
            await page.goto(path.as_uri())
            assert seen.pop(0) == f"request {path.as_uri()}"
            return page, seen

        yield open_at


@pytest.fixture(scope="module")
def sixty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    return write_report(folder, ABOUT, write_cases(folder / "cases", 60))


# --- what it shows -----------------------------------------------------------------------------


async def test_the_overview_says_how_many_passed_how_sure_that_is_and_why_not(
    sixty: Path, open_report: OpenReport
) -> None:
    page, seen = await open_report(sixty)
    assert await page.title() == "50 of 60 passed – webmcp-agent test"
    assert await page.locator("h1").inner_text() == "✗\n50 of 60 passed"
    cards = [await card.inner_text() for card in await page.locator(".card").all()]
    titles = [card.split("\n")[0] for card in cards]
    assert titles == ["Pass rate", "Why cases failed", "Time of a case", "Tokens"]
    assert "84.7 %" in cards[0]
    low, high = Rate(50, 59).interval
    assert f"95 %: {low * 100:.1f} % to {high * 100:.1f} %" in cards[0]
    assert [line for line in cards[1].split("\n") if line.isalpha() or " " in line][1:] == [
        "wrong answer", "no stop", "wrong tool", "wrong argument", "not judged",
    ]  # fmt: skip
    assert "223,200" in cards[3]
    groups = page.locator("tbody tr")
    assert await groups.count() == 4
    assert (await groups.first.inner_text()).split("\t")[:2] == ["shop/cart-evals.json", "13 of 15"]
    assert seen == []


async def test_failed_cases_come_first_and_are_filtered_searched_and_ordered(
    sixty: Path, open_report: OpenReport
) -> None:
    page, _ = await open_report(sixty)

    async def shown() -> list[str]:
        return await page.locator(".case:visible").evaluate_all(
            "items => items.map((item) => `${item.classList[1]} ${item.id.slice(5)}`)"
        )

    everything = await shown()
    assert everything[:10] == [*(f"failed {n}" for n in range(4, 61, 7)), "error 50"]
    assert [line.split()[0] for line in everything[10:]] == ["passed"] * 50
    which = page.get_by_role("group", name="Which cases")
    await which.get_by_role("button", name="Not judged").click()
    assert await shown() == ["error 50"]
    await which.get_by_role("button", name="All").click()
    await page.get_by_label("Search").fill("Product 42  ADD_TO_cart")
    assert await shown() == ["passed 43"]
    assert await page.get_by_role("status").inner_text() == "1 of 60 cases"
    await page.get_by_label("Search").fill("nowhere to be found")
    assert await shown() == []
    assert await page.get_by_text("No case is like that.").is_visible()
    await page.get_by_label("Search").fill("")
    await page.get_by_label("Order").select_option("As they ran")
    assert (await shown())[:4] == ["passed 1", "passed 2", "passed 3", "failed 4"]
    await page.locator(".cause").first.click()
    assert await page.get_by_label("Cause").input_value() == "wrong-answer"
    assert len(await shown()) == 3


async def test_a_case_opens_to_its_steps_with_prompt_reply_call_and_answer(
    sixty: Path, open_report: OpenReport
) -> None:
    page, seen = await open_report(sixty)
    assert await page.locator(".step").count() == 0
    await page.locator(".row").first.click()
    case = page.locator(".case").first
    assert await case.locator(".failures").inner_text() == (
        "calls: wrong-argument\ncall 3: add_to_cart: quantity is 2, not 3"
    )
    assert await case.locator(".ask").inner_text() == (
        "Find product 3 and put two of it into my cart, please."
    )
    assert await case.locator("h4").all_inner_texts() == [f"Step {n}" for n in range(1, 5)]
    third = case.locator(".step").nth(2)
    assert await third.locator(".reply pre").inner_text() == (
        '<tool_call>\n{"name": "add_to_cart", "arguments": {"quantity": 2}}\n</tool_call>'
    )
    call = third.locator(".call")
    assert (await call.inner_text()).split("\n") == [
        "Call 3", "add_to_cart", "ok", "72 ms", '{"quantity":2}',
        "2 × product 3 are in the cart.", "", "call 3: add_to_cart: quantity is 2, not 3",
    ]  # fmt: skip
    assert "is-wrong" in (await call.get_attribute("class") or "")
    prompt = third.locator("details")
    assert await prompt.locator("pre").count() == 0
    await prompt.locator("summary").click()
    await prompt.locator("pre").first.wait_for()
    texts = await prompt.locator("pre").all_inner_texts()
    assert texts[0].startswith("You are the assistant on this web page.")
    assert texts[1] == "Find product 3 and put two of it into my cart, please."
    roles = await prompt.locator(".turn-role").all_inner_texts()
    assert [role.split("\n")[0] for role in roles] == [
        "system", "user", *["assistant", "tool, search_products", "user"],
        *["assistant", "tool, open_product", "user"], "tools shown",
    ]  # fmt: skip
    assert [("new in this step" in role) for role in roles] == [
        *[False] * 5, True, True, False, False,
    ]  # fmt: skip
    await case.get_by_role("button", name="Show all").first.click()
    assert await case.get_by_role("button", name="Show less").first.is_visible()
    assert seen == []


async def test_the_address_names_the_open_case(sixty: Path, open_report: OpenReport) -> None:
    page, _ = await open_report(sixty)
    await page.locator("#case-11 .row").click()
    assert page.url == f"{sixty.as_uri()}#case-11"
    await page.reload()
    assert await page.locator(".body:visible").count() == 1
    assert await page.locator("#case-11 .body").is_visible()


async def test_the_keyboard_goes_from_case_to_case_and_opens_them(
    sixty: Path, open_report: OpenReport
) -> None:
    page, _ = await open_report(sixty)
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.textContent") == "Skip to the cases"
    await page.keyboard.press("Enter")
    for _ in range(10):
        await page.keyboard.press("Tab")
        if await page.evaluate("document.activeElement.classList.contains('row')"):
            break
    for key, case in (("ArrowDown", 11), ("ArrowUp", 4), ("End", 59), ("Home", 4)):
        await page.keyboard.press(key)
        focused = "document.activeElement.closest('.case').id"
        assert await page.evaluate(focused) == f"case-{case}", key
    await page.keyboard.press("Enter")
    assert await page.locator("#case-4 .body").is_visible()
    await page.keyboard.press("Space")
    assert not await page.locator("#case-4 .body").is_visible()


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
async def test_weak_eyes_and_screen_readers_find_their_way(
    sixty: Path, open_report: OpenReport, width: int, colours: Literal["light", "dark"]
) -> None:
    page, _ = await open_report(sixty, width=width, colours=colours)
    await page.locator(".row").first.click()
    for summary in await page.locator("summary").all():
        await summary.click()
    await page.locator(".folded-body pre").first.wait_for()
    landmarks = ["body > header", "main", "body > footer"]
    own = {"name": "webmcp-agent test", "landmarks": landmarks, "skip": "#cases"}
    assert await page.evaluate(ACCESSIBILITY, own) == []


async def test_colours_follow_the_system_until_one_is_chosen(
    sixty: Path, open_report: OpenReport
) -> None:
    page, _ = await open_report(sixty, colours="dark")
    behind = "getComputedStyle(document.body).backgroundColor"
    assert await page.evaluate(behind) == "rgb(16, 18, 21)"
    await page.get_by_role("button", name="Light").click()
    assert await page.evaluate(behind) == "rgb(255, 255, 255)"
    await page.reload()
    assert await page.evaluate(behind) == "rgb(255, 255, 255)"
    await page.emulate_media(media="print")
    assert not await page.locator("#themes").is_visible()


async def test_cases_that_were_repeated_say_which_time_it_was_and_who_passed_always(
    tmp_path: Path, open_report: OpenReport
) -> None:
    folders: list[Path] = []
    wrong: JsonObject = {"check": "calls", "kind": "no-call", "message": "nothing was called"}
    for name, repeat, passed in (("A", 1, 1), ("A", 2, 0), ("B", 1, 1), ("B", 2, 1)):
        with closing(RunFolder(tmp_path / f"{name}{repeat}")) as files:
            failures = [] if passed else [wrong]
            files.summary(case_summary(name, repeat=repeat, why="no-call", failures=failures))
        folders.append(files.path)
    page, _ = await open_report(write_report(tmp_path, ABOUT, folders))
    assert "1 of 2 cases passed all 2 times" in await page.locator(".card").first.inner_text()
    names = await page.locator(".what-name").all_inner_texts()
    assert [re.sub(r"\s+", " ", name) for name in names] == [
        "Failed: A2 of 2", "Passed: A1 of 2", "Passed: B1 of 2", "Passed: B2 of 2",
    ]  # fmt: skip


async def test_a_report_without_cases_says_so(tmp_path: Path, open_report: OpenReport) -> None:
    page, seen = await open_report(write_report(tmp_path, ABOUT, []))
    assert await page.locator("h1").inner_text() == "!\n0 of 0 passed"
    assert await page.get_by_text("There are none.").is_visible()
    assert seen == []


async def test_one_run_is_shown_whole_with_its_answer(
    tmp_path: Path, open_report: OpenReport
) -> None:
    with closing(RunFolder(tmp_path / "run")) as files:
        story = Story(files, "Find mugs.")
        story.call("search", {"query": "mug"}, "three")
        story.answer("There are three mugs.")
        files.summary({"type": "summary", "finish": "stop", "answer": "There are three mugs.",
            "calls": story.calls, "steps": 2, "ms": {"total": 900, "model": 600, "page": 200,
            "own": 100}, "tokens": {"prompt": 0, "cached": 0, "completion": 0}})  # fmt: skip
    about = About(command="run", title="Find mugs.")
    write_page(tmp_path / "run" / "report.html", about, [tmp_path / "run"])
    page, seen = await open_report(tmp_path / "run" / "report.html")
    assert await page.locator("h1").inner_text() == "✓\nDone"
    assert await page.locator(".answer-card pre").inner_text() == "There are three mugs."
    assert await page.locator(".case-calls").inner_text() == "1 call ran: search"
    assert await page.locator(".step").count() == 2
    assert seen == []


async def test_films_and_pictures_beside_the_report_are_shown_and_nothing_else_is_loaded(
    tmp_path: Path, open_report: OpenReport
) -> None:
    case = tmp_path / "cases" / "001 “mug” #1"
    with closing(RunFolder(case)) as files:
        Story(files, "Find mugs.").answer("There are three.")
        files.summary(case_summary("Mugs"))
    pixel = (
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
        "08d763f8ffff3f0005fe02fea735818a0000000049454e44ae426082"
    )
    (case / "step-1.png").write_bytes(bytes.fromhex(pixel))
    (case / "video.mp4").write_bytes(b"no film, and never played")
    (case / "video.gif").write_bytes(b"the film again")
    (case / "video.png").write_bytes(bytes.fromhex(pixel))
    (case / "files").mkdir()
    (case / "files" / "offered.png").write_bytes(b"a download of the page")
    page, seen = await open_report(write_report(tmp_path, ABOUT, [case]))
    await page.locator(".row").click()
    picture = page.locator(".step img")
    await picture.scroll_into_view_if_needed()
    await page.wait_for_function("document.querySelector('.step img').naturalWidth === 1")
    pictures = [f"request {(case / name).as_uri()}" for name in ("step-1.png", "video.png")]
    assert sorted(seen) == pictures
    assert await page.locator("video").evaluate("film => decodeURI(film.src)") == (
        f"file://{case}/video.mp4".replace("#", "%23")
    )
    assert await page.locator("figure.medium").count() == 2


# --- what it keeps out -------------------------------------------------------------------------

ALERT = "alert('reached')"
HOSTILE = (
    f"</script><script>{ALERT}</script>"
    f"<img src=http://127.0.0.1:9/x onerror={ALERT}><svg onload={ALERT}>"
    f"<a href='javascript:{ALERT}'>javascript:{ALERT}</a><style>@import 'http://127.0.0.1:9/'</style>"
    "<!--<script>]]>\x1b[2J\x1b]0;owned\x07\u202eevil\u2066\u200b\u2028\u2029\x00\x85"
    "\U000e0041{{x}}${alert(1)}[[data]][[script]]&lt;b&gt;\"'`"
)
LONG = HOSTILE + "A" * 100_000 + HOSTILE


def hostile_case(folder: Path, text: str) -> None:
    """A case with `text` in each place that a page, a model or a file can write to."""
    with closing(RunFolder(folder)) as files:
        story = Story(files, text)
        story.trace("warning", text=text)
        story.step(text, system=text, tools=(text, text))
        story.trace("parsed", calls=[], errors=[], repairs=[text])
        story.trace("args", tool=text, changes=[text], warnings=[text])
        story.trace("repair", kind=text, text=text, used=False)
        story.trace("correction", kind=text, text=text)
        story.trace("repeat", name=text, args={text: text}, count=1)
        story.call(text, {text: [text, {text: text}]}, json.dumps({text: text}), {text: text})
        story.call(text, {"path": text}, ToolError("c3.1", text, "failed", text, True))
        files.trace(TraceEvent("reply", 3, {"text": text, "ms": 1.0}, text))
        story.answer(text)
        files.summary(
            case_summary(
                text,
                file=text,
                why=text,
                failures=[{"check": text, "kind": text, "message": text, "call": 1}],
                calls=[{"name": text, "args": {text: text}, "outcome": text}],
                answer=text,
            )
            | {"url": text, "finish": text, "out": text}
        )


@pytest.mark.parametrize(
    "text", [HOSTILE, LONG, f"javascript:{ALERT}"], ids=["short", "100 kB", "address"]
)
async def test_no_text_of_a_page_becomes_markup_script_or_request(
    text: str, tmp_path: Path, open_report: OpenReport
) -> None:
    hostile_case(tmp_path / "case", text)
    about = About(command=text, title=text, model=text, began=text)
    report = write_report(tmp_path, about, [tmp_path / "case"])
    page, seen = await open_report(report)
    await page.locator(".row").click()
    for summary in await page.locator("summary").all():
        await summary.click()
    while await page.get_by_role("button", name="Show all").count():
        await page.get_by_role("button", name="Show all").first.click()
    await page.get_by_label("Search").fill("javascript")
    assert await page.locator(".case:visible").count() == 1
    shown = await page.locator("body").inner_text()
    assert f"javascript:{ALERT}" in shown
    assert await page.locator(
        "a, img, video, iframe, object, embed, style, script, link"
    ).evaluate_all("found => found.map((each) => each.outerHTML.slice(0, 60).split('>')[0])") == [
        '<link rel="icon" href="data:,"',
        "<style",
        '<a class="skip" href="#cases"',
        '<script type="application/json" id="data"',
        "<script",
    ]
    assert (
        await page.evaluate(
            "[...document.querySelectorAll('*')].flatMap((each) => [...each.attributes])"
            ".filter(({ name }) => name.startsWith('on') || name === 'style').length"
        )
        == 0
    )
    assert seen == []


@pytest.mark.parametrize("text", [HOSTILE], ids=["short"])
async def test_characters_that_hide_or_reorder_are_shown_by_their_numbers(
    text: str, tmp_path: Path, open_report: OpenReport
) -> None:
    hostile_case(tmp_path / "case", text)
    page, _ = await open_report(write_report(tmp_path, ABOUT, [tmp_path / "case"]))
    await page.locator(".row").click()
    answer = await page.locator(".reply pre").last.inner_text()
    assert r"\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}evil\u{2066}\u{200b}\u{2028}\u{2029}" in answer
    assert r"\u{0}\u{85}\u{e0041}" in answer
    raw = "[^\n\t\x20-\x7e\u00a0-\u061b\u061d-\u200a\u2010-\u2027\u2030-\u205f\u2070-\ufefe]"
    assert re.findall(raw, await page.locator("body").inner_text()) == []
    source = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (
        re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", source)
        == []
    )


def test_json_in_the_page_reads_the_same_and_holds_nothing_of_html() -> None:
    value: JsonObject = {HOSTILE: [HOSTILE, "\ud800", "ü😀", 1.5, None]}
    text = json_in_html(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029\u202e\x7f\ud800")
    assert "ü😀" in text


async def test_the_page_itself_forbids_markup_from_texts_and_every_request(
    sixty: Path, open_report: OpenReport
) -> None:
    page, seen = await open_report(sixty)
    refused = await page.evaluate(
        """async () => {
            const tried = [];
            try { document.body.innerHTML = "<b>x</b>"; } catch (error) { tried.push(error.name); }
            try { await fetch("http://127.0.0.1:9/"); } catch (error) { tried.push(error.name); }
            const image = new Image();
            const failed = new Promise((resolve) => image.onerror = () => resolve("image"));
            image.src = "http://127.0.0.1:9/x.png";
            tried.push(await failed);
            const script = document.createElement("script");
            try { script.text = "globalThis.ran = 1"; document.body.append(script); }
            catch (error) { tried.push(error.name); }
            tried.push(globalThis.ran === undefined);
            return tried;
        }"""
    )
    assert refused == ["TypeError", "TypeError", "image", "TypeError", True]
    assert [line for line in seen if not line.startswith("console ")] == [
        "request http://127.0.0.1:9/x.png",
        "failed csp",
    ]


# --- size and files ----------------------------------------------------------------------------


async def test_500_cases_are_listed_at_once_and_stay_under_10_mb(
    tmp_path: Path, open_report: OpenReport
) -> None:
    report = write_report(tmp_path, ABOUT, write_cases(tmp_path / "cases", 500))
    assert report.stat().st_size < 10_000_000
    page, seen = await open_report(report)
    assert await page.locator("h1").inner_text() == "✗\n420 of 500 passed"
    assert await page.locator(".case").count() == 500
    assert await page.locator(".step").count() == 0
    assert await page.evaluate("document.querySelectorAll('*').length") < 20_000
    await page.get_by_label("Search").fill("product 499")
    assert await page.get_by_role("status").inner_text() == "1 of 500 cases"
    assert seen == []


def test_a_page_that_would_be_too_big_cuts_long_texts_then_the_steps_of_what_passed(
    tmp_path: Path,
) -> None:
    folders: list[Path] = []
    for number in range(2):
        with closing(RunFolder(tmp_path / f"{number}")) as files:
            story = Story(files, "Find mugs.")
            story.call("search", {}, f"{number} " + "long " * 10_000)
            failures: list[JsonValue] = [{"check": "calls", "kind": "no-call", "message": "No."}]
            files.summary(case_summary("Mugs", failures=failures if number else []))
        folders.append(files.path)
    cases = [read_case(folder, tmp_path) for folder in folders]
    whole = page_of(ABOUT, cases)
    assert '"text_limit":20000' in whole
    assert "(50002 characters)" in whole
    short = page_of(ABOUT, cases, size_limit=len(whole) - 5_000)
    assert '"text_limit":4000' in short
    assert len(short) < len(whole) - 5_000
    least = page_of(ABOUT, cases, size_limit=1)
    assert '"text_limit":200' in least
    assert (least.count('"requests":null'), least.count('"requests":[')) == (1, 1)


def test_the_report_is_its_owners_alone_and_says_the_same_in_each_of_its_files(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "report"
    folders = write_cases(folder / "cases", 4)
    (cut_off := folder / "cases" / "005-cut-off").mkdir()
    report = write_report(folder, ABOUT, [*folders, cut_off])
    assert report == folder / "report.html"
    files = ["junit.xml", "report.html", "results.jsonl"]
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == files
    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert [(folder / name).stat().st_mode & 0o777 for name in files] == [0o600] * 3
    lines = [
        json.loads(line) for line in (folder / "results.jsonl").read_text("utf-8").splitlines()
    ]
    assert lines[:4] == [json.loads((case / "summary.json").read_text("utf-8")) for case in folders]
    assert lines[4]["failures"][0]["message"] == "it was cut off before it had a result"
    assert lines[5] == {"type": "summary", "passed": 3, "failed": 1, "errors": 1}
    xml = (folder / "junit.xml").read_text("utf-8")
    assert '<testsuites name="webmcp-agent" tests="5" failures="1" errors="1"' in xml
