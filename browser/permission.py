"""Whether a call may be sent: the policy, then the person; or what it is answered with instead."""

import asyncio
import json

from webmcp_agent.browser.answers import message
from webmcp_agent.browser.policy import PendingCall, Policy
from webmcp_agent.browser.tools import PageTool, StopSignal, ToolFail, ToolOk

DRY_RUN = "Dry run: nothing was sent."

NOT_SENT = ToolFail(
    "cancelled", "The person pressed Stop; nothing was sent.", may_have_happened=False
)
_SAID_NO = ToolFail("denied", "The person said no.")


class Permission:
    """What is asked before each call; it remembers what the person allowed for good."""

    def __init__(self) -> None:
        self._always: set[str] = set()
        self.withheld: list[PendingCall] = []
        """Calls that a dry run answered in place of the page, oldest first."""

    async def ask(
        self, policy: Policy, tool: PageTool, text: str, signal: StopSignal
    ) -> ToolOk | ToolFail | None:
        """What a call is answered with instead of being sent; None when it may be sent.

        `text` are the arguments as JSON, exactly as they would be sent."""
        args = json.loads(text)
        secrets = tuple(policy.secrets_in(args))
        decision = policy.decide(tool, secrets)
        if decision == "deny":
            return ToolFail("blocked", f"The tool {tool.name} is on the list of denied ones.")
        if (broken := policy.outside_limits(tool, args)) is not None:
            return ToolFail("blocked", message(broken))
        if policy.withholds(tool):
            self.withheld.append(PendingCall(tool, args, secrets))
            return ToolOk(f"{DRY_RUN} It would have been: {tool.name} {text}")
        if decision == "allow":
            return None
        remembers = policy.remembers_always(tool, secrets)
        if remembers and tool.fingerprint in self._always:
            return None
        if policy.approve is None:
            how = policy.how_to_allow(tool, secrets)
            gets = f", which would get {' and '.join(secrets)}" if secrets else ""
            return ToolFail("denied", f"Nobody could be asked about {tool.name}{gets}. {how}")
        asking = asyncio.ensure_future(policy.approve(PendingCall(tool, args, secrets)))
        stop = asyncio.ensure_future(signal.wait())
        try:
            await asyncio.wait({asking, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                return NOT_SENT
            answer = asking.result()
        except Exception as exc:  # noqa: BLE001  # the approver is foreign code, and no is safe
            return ToolFail("denied", message(f"The question could not be asked: {exc}"))
        finally:
            asking.cancel()
            stop.cancel()
        if answer == "stop" or signal.aborted:
            return NOT_SENT
        if answer == "always" and remembers:
            self._always.add(tool.fingerprint)
        return None if answer in {"yes", "always"} else _SAID_NO
