"""What a site was asked for, and a wait for the next one."""

import asyncio
import threading

PATIENCE_S = 100


class Asked(list[str]):
    """Addresses in the order in which they were asked for; grows in another thread."""

    def __init__(self) -> None:
        super().__init__()
        self._more = threading.Condition()

    def note(self, address: str) -> None:
        """Add one."""
        with self._more:
            self.append(address)
            self._more.notify_all()

    async def has(self, address: str) -> None:
        """Return once `address` was asked for."""
        await asyncio.to_thread(self._wait, address)

    def _wait(self, address: str) -> None:
        with self._more:
            assert self._more.wait_for(lambda: address in self, PATIENCE_S), f"no {address}"
