import pytest
from playwright.async_api import Browser

from webmcp_agent.browser.launch import open_page
from webmcp_agent.browser.look_alikes import look_alikes


@pytest.mark.parametrize(
    ("names", "pairs"),
    [
        (["open_valve", "open-valve"], [("open_valve", "open-valve")]),
        (["pay_all", "pay_aIl", "pay_a1l"], [("pay_all", "pay_aIl"), ("pay_all", "pay_a1l")]),
        (["order", "0rder"], [("order", "0rder")]),
        (["modern", "modem"], [("modern", "modem")]),
        (["Delete", "delete"], [("Delete", "delete")]),
        (["add_to_cart", "add_two_carts", "cart", "start"], []),
        (["tool_1", "tool_2", "tool_10"], []),
        (["same", "same"], []),
    ],
)
def test_names_of_one_shape_look_alike(names: list[str], pairs: list[tuple[str, str]]) -> None:
    """C-59."""
    assert list(look_alikes(names)) == pairs


async def test_names_that_look_alike_get_a_warning_and_odd_ones_are_left_out(
    chromium: Browser, site: str
) -> None:
    """C-59."""
    async with open_page(chromium, f"{site}/changing.html") as tools:
        await tools.page.evaluate(
            """async () => {
              const odd = ['open\\u200bvalve', '\\u043epen-valve'];
              for (const name of ['open-valve', 'open_valve', ...odd])
                await document.modelContext.registerTool(
                  { name, description: 'x', execute: () => 'x' }).catch(() => {});
            }"""
        )
        names = [tool.name for tool in await tools.list_tools()]
        warnings = tools.warnings
    assert [name for name in names if "valve" in name] == ["open-valve", "open_valve"]
    assert "the tools open-valve and open_valve have names that look alike" in warnings
