"""Drafts of what a reply may go on with, looked up in the prompt and in the reply itself.

What a model writes into a call it has mostly read before: ids, names, texts. Where the newest
tokens stood earlier, those that followed there are a guess which costs nothing to make, and the
model checks several in one pass, which costs it little more than one token. Only what the model
itself would have written is kept (Saxena, Prompt Lookup Decoding, 2023).
"""

from collections.abc import Sequence

LONGEST, SHORTEST = 3, 2
"""Tokens that have to be equal; where more are, the guess is better."""

DRAFT = 6
"""Tokens of a draft: a call's values are short, and what is wrong was computed for nothing."""


class PromptLookup:
    """The tokens so far, and where each group of them stood last."""

    def __init__(self, tokens: Sequence[int] = ()) -> None:
        self._tokens: list[int] = []
        self._behind: dict[tuple[int, ...], int] = {}
        self.add(tokens)

    def add(self, tokens: Sequence[int]) -> None:
        """Read on."""
        for token in tokens:
            end = len(self._tokens)
            # Noted only now that something stands behind it: the newest group never finds itself.
            for length in range(SHORTEST, min(LONGEST, end) + 1):
                self._behind[tuple(self._tokens[end - length :])] = end
            self._tokens.append(token)

    def draft(self, most: int = DRAFT) -> list[int]:
        """The tokens that followed where the newest ones stood last, at most so many."""
        for length in range(min(LONGEST, len(self._tokens)), SHORTEST - 1, -1):
            found = self._behind.get(tuple(self._tokens[-length:]))
            if found is not None:
                return self._tokens[found : found + max(0, most)]
        return []
