import pytest

from webmcp_agent.browser.policy import Decision, Mode, Policy, origin_of
from webmcp_agent.browser.tools import PageTool

PLAIN = PageTool("list_trips", "")
READING = PageTool("list_trips", "", read_only=True, untrusted=True)
PAYING = PageTool("pay_bill", "", consequential=True)
LYING = PageTool("pay_bill", "", consequential=True, read_only=True)
FORM = PageTool("send_form", "", declarative=True)


@pytest.mark.parametrize(
    ("mode", "tool", "decision"),
    [
        pytest.param("ask", PLAIN, "ask", id="nothing is allowed by itself"),
        pytest.param("ask", READING, "ask", id="read_only skips no question"),
        pytest.param("ask", PAYING, "ask", id="consequential is asked"),
        pytest.param("yes", PLAIN, "allow", id="yes allows"),
        pytest.param("yes", READING, "allow", id="yes allows what is read only"),
        pytest.param("yes", FORM, "allow", id="a form is a tool like others"),
        pytest.param("yes", PAYING, "ask", id="yes asks before what is consequential"),
        pytest.param("yes", LYING, "ask", id="read_only does not outweigh consequential"),
        pytest.param("all", PAYING, "allow", id="all allows everything"),
    ],
)
def test_hints_only_tighten_what_the_mode_allows(
    mode: Mode, tool: PageTool, decision: Decision
) -> None:
    """C-57."""
    assert Policy(mode=mode).decide(tool) == decision


@pytest.mark.parametrize(
    ("allow", "deny", "tool", "decision"),
    [
        pytest.param(("list_*",), (), PLAIN, "allow", id="a glob allows"),
        pytest.param(("LIST_*",), (), PLAIN, "ask", id="case counts"),
        pytest.param(("other",), (), PLAIN, "ask", id="another name does not"),
        pytest.param(("*",), (), PAYING, "ask", id="a glob is not enough for consequential"),
        pytest.param(("pay_bill",), (), PAYING, "allow", id="its full name is"),
        pytest.param(("list_trips",), ("list_*",), PLAIN, "deny", id="deny wins"),
        pytest.param((), ("pay_*",), PAYING, "deny", id="deny alone"),
    ],
)
def test_allow_and_deny_take_globs_of_names(
    allow: tuple[str, ...], deny: tuple[str, ...], tool: PageTool, decision: Decision
) -> None:
    """C-57."""
    assert Policy(allow=allow, deny=deny).decide(tool) == decision


def test_deny_wins_over_every_mode() -> None:
    assert Policy(mode="all", deny=("list_trips",)).decide(PLAIN) == "deny"


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://shop.example/a?b#c", "http://shop.example"),
        ("http://SHOP.example:80/", "http://shop.example"),
        ("https://shop.example:443", "https://shop.example"),
        ("https://shop.example:8443/x", "https://shop.example:8443"),
        ("https://shop.example./x", "https://shop.example"),
        ("http://shop.example:8001@evil.example/", "http://evil.example"),
        ("http://127.0.0.1:80010/", None),
        ("http://[::1]:8000/", "http://[::1]:8000"),
        ("blob:https://shop.example/1-2-3", "https://shop.example"),
        ("file:///tmp/page.html", "file://"),
        ("about:blank", None),
        ("data:text/html,hi", None),
        ("javascript:1", None),
        ("chrome-error://chromewebdata/", None),
        ("shop.example", None),
        ("", None),
    ],
)
def test_an_origin_is_parsed_and_has_one_form(url: str, origin: str | None) -> None:
    assert origin_of(url) == origin


def test_an_origin_that_is_none_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="'shop.example' is no origin"):
        Policy(origins=("shop.example",))


def test_allowed_origins_have_one_form() -> None:
    policy = Policy(origins=("https://PAY.example:443/checkout", "http://localhost:1"))
    assert policy.allowed_origins() == {"https://pay.example", "http://localhost:1"}
