"""Examples in packs: what is shared, what is predicted, and in which order."""

from webmcp_agent.providers.packing import SHORTEST_PREFIX, TokenExample, pack, packed

SHARED = tuple(range(100, 100 + SHORTEST_PREFIX))


def example(*own: int, replies: tuple[tuple[int, int], ...]) -> TokenExample:
    return TokenExample(SHARED + own, replies)


def test_a_shared_beginning_is_computed_once_and_positions_go_on_from_it() -> None:
    n = SHORTEST_PREFIX
    first = example(1, 2, 3, 4, replies=((n + 2, n + 4),))
    second = example(5, 6, 7, replies=((n + 1, n + 3),))
    both = pack([first, second])
    # The last token of a reply is only predicted, nothing is predicted from it.
    assert both.ids == [*SHARED, 1, 2, 3, 5, 6]
    assert both.positions == [*range(n), n, n + 1, n + 2, n, n + 1]
    assert both.prefix == n
    assert both.segments == [(n, n + 3), (n + 3, n + 5)]
    assert both.predicting == [n + 1, n + 2, n + 3, n + 4]
    assert both.targets == [3, 4, 6, 7]
    assert both.replies == [2, 2]


def test_one_example_alone_shares_nothing() -> None:
    alone = pack([example(1, 2, replies=((SHORTEST_PREFIX + 1, SHORTEST_PREFIX + 2),))])
    assert alone.prefix == 0
    assert alone.ids == [*SHARED, 1]
    assert alone.segments == [(0, SHORTEST_PREFIX + 1)]
    assert alone.targets == [2]


def test_several_replies_of_one_conversation_are_all_predicted() -> None:
    one = TokenExample((1, 2, 3, 4, 5, 6, 7), ((2, 4), (6, 7)))
    made = pack([one])
    assert made.ids == [1, 2, 3, 4, 5, 6]
    assert made.predicting == [1, 2, 5]
    assert made.targets == [3, 4, 7]


def test_a_short_shared_beginning_is_not_shared() -> None:
    made = pack([TokenExample((1, 2, 3), ((2, 3),)), TokenExample((1, 9, 4), ((2, 3),))])
    assert made.prefix == 0
    assert made.ids == [1, 2, 1, 9]


def test_packs_hold_every_example_once_and_keep_to_their_size() -> None:
    examples = [TokenExample((n, n + 1, n + 2), ((2, 3),)) for n in range(0, 60, 3)]
    packs = packed(examples, 8, seed=1)
    assert sorted(target for one in packs for target in one.targets) == [
        each.ids[2] for each in examples
    ]
    assert all(one.tokens <= 8 for one in packs)


def test_more_examples_at_the_end_leave_the_first_packs_as_they_were() -> None:
    examples = [TokenExample((n, n + 1, n + 2), ((2, 3),)) for n in range(2000)]
    short, long = packed(examples[:600], 40, seed=3), packed(examples, 40, seed=3)
    assert short[:20] == long[:20]
    assert packed(examples, 40, seed=4) != long
