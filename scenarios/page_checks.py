"""The checks of a page's state: what an expression gives, what elements show, what is stored.

Each is asked again until it holds or its time is over, since a page may need a moment. They see the
main frame only.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from playwright.async_api import Error, Page
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    TypeAdapter,
    model_validator,
)

from webmcp_agent.scenarios.matching import (
    Matcher,
    Patterns,
    Texts,
    mismatch,
    occurs,
    same_value,
    shown,
)
from webmcp_agent.scenarios.outcome import Failure

PAUSE_MS = 50
"""Between two looks at the page."""
LOOK_LIMIT_MS = 10_000
"""Of each look, so that a page that answers late is not taken for one that answers wrongly."""
WITHIN_MS = 2_000
"""How long the page is given where the file does not say."""

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)

Look = Callable[[], Awaitable[str | None]]
"""Looks at the page once; returns what is wrong, None when it is as it should be."""


async def wrong_until(look: Look, within_ms: int) -> str | None:
    """What is still wrong when the time is over; None as soon as nothing is."""
    limit = time.monotonic() + within_ms / 1000
    while True:
        wrong = await _looked(look)
        if wrong is None or time.monotonic() >= limit:
            return wrong
        await asyncio.sleep(PAUSE_MS / 1000)


async def _looked(look: Look) -> str | None:
    try:
        async with asyncio.timeout(LOOK_LIMIT_MS / 1000):
            return await look()
    except TimeoutError:
        return "gave no answer"
    except Error as exc:
        reason = (exc.message.strip().splitlines() or [""])[0]
        return f"could not be evaluated ({reason.partition(': ')[2] or reason})"


class _PageCheck(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )

    within_ms: int = Field(default=WITHIN_MS, ge=0)
    """How long the page is given."""

    async def judge(self, page: Page) -> list[Failure]:
        """What is wrong with the page's state."""
        wrong = await wrong_until(lambda: self._look(page), self.within_ms)
        return [] if wrong is None else [Failure("page", "wrong-page", f"{self._about()} {wrong}")]

    def _about(self) -> str:
        raise NotImplementedError

    async def _look(self, page: Page) -> str | None:
        raise NotImplementedError


class _ValueCheck(_PageCheck):
    """A value of the page, compared with one of two measures."""

    equals: JsonValue = None
    """The value as a whole."""
    like: Matcher = None
    """What the value has to match: objects as subsets, operators such as `$gte`."""

    @model_validator(mode="after")
    def _one_measure(self) -> "_ValueCheck":
        if len({"equals", "like"} & self.model_fields_set) != 1:
            raise ValueError("give either 'equals' or 'like'")
        return self

    def _wrong(self, value: JsonValue) -> str | None:
        if "like" in self.model_fields_set:
            wrong = mismatch(self.like, value)
            # A difference inside of the value begins with its place.
            return wrong if wrong is None or wrong.startswith("is ") else f"differs: {wrong}"
        if same_value(value, self.equals):
            return None
        return f"is {shown(value)}, not {shown(self.equals)}"


class JsCheck(_ValueCheck):
    """What a JavaScript expression gives on the page, as JSON."""

    js: str = Field(min_length=1)
    """The expression; a promise is waited for."""

    def _about(self) -> str:
        return self.js

    async def _look(self, page: Page) -> str | None:
        # As JSON text, so that what arrives is what JSON knows and nothing else.
        wrapped = f"(async () => JSON.stringify(await (\n{self.js}\n)))()"
        text = await page.evaluate(wrapped)
        if isinstance(text, str):
            return self._wrong(_JSON.validate_json(text))
        wanted = self.like if "like" in self.model_fields_set else self.equals
        return f"is undefined, not {shown(wanted)}"


class StorageCheck(_ValueCheck):
    """What the page's origin keeps in `localStorage`."""

    local_storage: str = Field(min_length=1)
    """The key. Its value is read as JSON where it is some, else as the text it is; null when there
    is none."""

    def _about(self) -> str:
        return f"localStorage {self.local_storage!r}"

    async def _look(self, page: Page) -> str | None:
        text = await page.evaluate("key => localStorage.getItem(key)", self.local_storage)
        try:
            value = _JSON.validate_python(json.loads(text)) if isinstance(text, str) else None
        except ValueError:
            value = str(text)
        return self._wrong(value)


class ElementCheck(_PageCheck):
    """What the elements that a selector finds show; without a selector, the whole page."""

    selector: str = Field(default="body", min_length=1)
    """As Playwright knows them: CSS, `text=…`, `role=…`."""
    text: Texts = Field(default_factory=list[str])
    """Each of these stands in the text of one of the elements; blanks count as one."""
    not_text: Texts = Field(default_factory=list[str])
    """None of these stands in the text of any of the elements."""
    matches: Patterns = Field(default_factory=list[str])
    """Each of these patterns occurs in the text of one of the elements."""
    count: int | None = Field(default=None, ge=0)
    """How many elements there are."""
    visible: bool | None = None
    """Whether one of them can be seen; false: none can."""
    value: str | None = None
    """What stands in one of them that is a field of a form."""
    attributes: dict[str, str | None] = Field(default_factory=dict[str, str | None])
    """Attributes that one of them has, all together; null for one that it does not have."""

    @model_validator(mode="after")
    def _measure_something(self) -> "ElementCheck":
        if self.model_fields_set <= {"selector", "within_ms"}:
            raise ValueError("there is nothing to check: give text, count, visible, value, …")
        return self

    def _about(self) -> str:
        return "the page" if self.selector == "body" else self.selector

    async def _look(self, page: Page) -> str | None:
        found = await page.locator(self.selector).evaluate_all(_READ, [*self.attributes])
        return self._wrong([_Element.model_validate(each) for each in found])

    def _wrong(self, found: "list[_Element]") -> str | None:
        texts = [" ".join(each.text.split()) for each in found]
        said = shown(texts[0]) if len(texts) == 1 else f"{len(texts)} elements"
        for text in self.text:
            if not any(" ".join(text.split()) in each for each in texts):
                return f"does not say {text!r} but {said}"
        for pattern in self.matches:
            if not any(occurs(pattern, each) for each in texts):
                return f"does not match {pattern!r}: {said}"
        for text in self.not_text:
            if any(" ".join(text.split()) in each for each in texts):
                return f"says {text!r}"
        return self._wrong_state(found)

    def _wrong_state(self, found: "list[_Element]") -> str | None:
        if self.count is not None and len(found) != self.count:
            return f"is there {len(found)} times, not {self.count} times"
        if self.visible is not None and self.visible != any(each.visible for each in found):
            return "can be seen" if not self.visible else "cannot be seen"
        if self.value is not None and all(each.value != self.value for each in found):
            values = [each.value for each in found]
            return f"holds {shown([*values])}, not {shown(self.value)}"
        if self.attributes and all(each.attributes != self.attributes for each in found):
            held: list[JsonValue] = [{**each.attributes} for each in found]
            return f"has {shown(held)}, not {shown({**self.attributes})}"
        return None


_READ = """(elements, names) => elements.map((element) => ({
  text: element.innerText ?? element.textContent ?? "",
  visible: element.checkVisibility?.({ visibilityProperty: true }) ?? true,
  value: typeof element.value === "string" ? element.value : null,
  attributes: Object.fromEntries(names.map((name) => [name, element.getAttribute(name)])),
}))"""


class _Element(BaseModel):
    text: str
    visible: bool
    value: str | None
    attributes: dict[str, str | None]


def _kind(value: Any) -> str:
    # Tags become steps of where a mistake is, so that none may be called like a key.
    if isinstance(value, JsCheck) or (isinstance(value, dict) and "js" in value):
        return "<js>"
    if isinstance(value, StorageCheck) or (isinstance(value, dict) and "local_storage" in value):
        return "<local_storage>"
    return "<element>"


PageCheck = Annotated[
    Annotated[JsCheck, Tag("<js>")]
    | Annotated[StorageCheck, Tag("<local_storage>")]
    | Annotated[ElementCheck, Tag("<element>")],
    Discriminator(_kind),
]
