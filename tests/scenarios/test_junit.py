"""Results of cases as JUnit XML."""

from xml.etree import ElementTree

from run_folders import case_summary

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.junit import junit_xml

WRONG: JsonObject = {"check": "calls", "kind": "wrong-tool", "message": "call 1: open was called"}
HOSTILE = "\x1b[2J</failure>\x00]]>\u202e\ud800 & \ufffe"


def test_each_file_is_a_suite_and_each_case_a_test_with_properties() -> None:
    text = junit_xml(
        [
            case_summary("Mugs", calls=[{"name": "search", "args": {}, "outcome": "ok"}]),
            case_summary("Mugs", repeat=2, why="wrong-tool", failures=[WRONG]),
            case_summary(
                "Pens",
                file="shop/pens.scenario.yaml",
                failures=[{"check": "error", "kind": "error", "message": "no page"}],
            ),
        ]
    )
    root = ElementTree.fromstring(text)
    assert root.attrib == {
        "name": "webmcp-agent", "tests": "3", "failures": "1", "errors": "1", "skipped": "0",
        "time": "9.000",
    }  # fmt: skip
    assert [(s.get("name"), s.get("tests"), s.get("failures"), s.get("errors")) for s in root] == [
        ("shop/evals.json", "2", "1", "0"),
        ("shop", "1", "0", "1"),
    ]
    cases = list(root.iter("testcase"))
    assert [(c.get("classname"), c.get("name"), c.get("time")) for c in cases] == [
        ("shop/evals.json", "Mugs", "3.000"),
        ("shop/evals.json", "Mugs [2]", "3.000"),
        ("shop", "Pens", "3.000"),
    ]
    assert {p.get("name"): p.get("value") for p in cases[0].iter("property")} == {
        "file": "shop/evals.json", "repeat": "1", "steps": "2", "finish": "stop",
        "url": "http://127.0.0.1:8000/", "ms.total": "3000.0", "ms.model": "2700.0",
        "ms.page": "240.0", "ms.own": "60.0", "tokens.prompt": "3600", "tokens.cached": "2800",
        "tokens.completion": "120", "calls": "search",
    }  # fmt: skip
    assert [[(e.tag, e.attrib, e.text) for e in case][1:] for case in cases] == [
        [],
        [
            (
                "failure",
                {"type": "wrong-tool", "message": "calls: call 1: open was called"},
                "calls: call 1: open was called",
            )
        ],
        [("error", {"type": "not-judged", "message": "error: no page"}, "error: no page")],
    ]


def test_text_of_a_page_stays_text_and_characters_that_xml_lacks_are_shown() -> None:
    failure: JsonObject = {"check": "answer", "kind": "wrong-answer", "message": HOSTILE}
    root = ElementTree.fromstring(junit_xml([case_summary(HOSTILE, failures=[failure])]))
    (case,) = root.iter("testcase")
    shown = r"\u{1b}[2J</failure>\u{0}]]>\u{202e}\u{d800} & \u{fffe}"
    assert case.get("name") == shown
    assert [(child.tag, child.text) for child in case] == [
        ("properties", "\n        "),
        ("failure", f"answer: {shown}"),
    ]
