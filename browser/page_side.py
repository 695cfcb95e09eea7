"""The object of `bridge.js` in one document, and the two ways to reach it.

In a child frame it is Playwright's handle, in the main frame an object of the protocol session
that also witnesses calls: the same command, without what Playwright does around it, which took a
tenth of a call with one tool.
"""

from typing import Protocol

from playwright.async_api import Error, Frame, JSHandle
from pydantic import JsonValue

from webmcp_agent.browser.cdp import CdpSession, Event


class PageSide(Protocol):
    """The object in its document. All raise Playwright's `Error`."""

    async def ask(self, function: str, argument: str) -> JsonValue:
        """What one of its functions gives for the argument, which is JSON."""
        ...

    async def release(self) -> None:
        """Let it go."""
        ...


class MainSide:
    """In the main frame."""

    def __init__(self, cdp: CdpSession, object_id: str) -> None:
        self._cdp = cdp
        self._object_id = object_id

    @staticmethod
    async def made(cdp: CdpSession, source: str) -> "MainSide":
        """A new one in the document that is there now; `source` is the text of `bridge.js`."""
        answer = await cdp.send("Runtime.evaluate", {"expression": f"({source})()"})
        return MainSide(cdp, _of(answer)["objectId"])

    async def ask(self, function: str, argument: str) -> JsonValue:
        answer = await self._cdp.send(
            "Runtime.callFunctionOn",
            {
                "functionDeclaration": f"function (a) {{ return this.{function}(JSON.parse(a)) }}",
                "objectId": self._object_id,
                "arguments": [{"value": argument}],
                "awaitPromise": True,
                "returnByValue": True,
                "userGesture": True,  # as Playwright: a tool may open a window
            },
        )
        return _of(answer).get("value")

    async def release(self) -> None:
        await self._cdp.send("Runtime.releaseObject", {"objectId": self._object_id})


class ChildSide:
    """In a frame of the page."""

    def __init__(self, handle: JSHandle) -> None:
        self._handle = handle

    @staticmethod
    async def made(frame: Frame, source: str) -> "ChildSide":
        """A new one in the document that is there now; `source` is the text of `bridge.js`."""
        return ChildSide(await frame.evaluate_handle(source))

    async def ask(self, function: str, argument: str) -> JsonValue:
        return await self._handle.evaluate(f"(b, a) => b.{function}(JSON.parse(a))", argument)

    async def release(self) -> None:
        await self._handle.dispose()


def _of(answer: Event) -> Event:
    """The result of an evaluation. Raises `Error` with what it threw."""
    if (details := answer.get("exceptionDetails")) is not None:
        raise Error(details.get("exception", {}).get("description") or details["text"])
    return answer["result"]
