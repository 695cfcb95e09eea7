"""The English words and sentence patterns by which a request or a reply is judged.

Data only; what follows from a match is decided in `corrections.py`. All patterns ignore case and
are meant for one sentence as `words.sentences` gives it. In another language nothing here matches.
Each pattern is linear: no repeated group can match the same text in two ways.
"""

import re

from webmcp_agent.agent.words import stem


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


def _any(listed: str) -> str:
    """One of the listed words."""
    return "|".join(listed.split())


# --- requests -------------------------------------------------------------------------------

ACTION_VERBS = frozenset(
    stem(verb)
    for verb in (
        "add apply approve archive assign book buy calculate call cancel change check checkout "
        "choose clear click close compare complete confirm continue copy create delete disable "
        "download edit enable enter fill filter find finish follow get give go help hide insert "
        "join leave like list log look make mark message move open order pay pick place play post "
        "publish purchase put register remove rename reply report reserve reset restore resume "
        "save schedule search see select send set share show sign skip sort start stop submit "
        "subscribe switch take tell track try turn undo unsubscribe update upload use view vote "
        "write"
    ).split()
)
"""Stems of the verbs that open a request for something to be done."""

NO_ACTION_VERBS = frozenset({"get", "is", "has"})
"""First words of tool names that say nothing of what is asked."""

LEAD_INS = _pattern(
    r"(?:(?:ok|okay|yes|yep|sure|great|thanks|thank you|hi|hey|hello|now|then|and|so|also|just"
    r"|please|pls)\b(?!')[\s,;.!–—-]*)+"
)
"""What may stand before the words that count, at the start of a sentence."""

QUESTION_OPENER = _pattern(
    r"(?:what|who|when|where|why|which|how|is|are|was|were|do|does|did|has|have|should|may|might)"
    r"(?:n't)?\b"
)
"""The start of a sentence that asks for no action, `don't` included."""

ASK_FORM = _pattern(
    r"\b(?:"
    r"(?P<bare>i(?:'d| would) like\b|i (?:want|need)\b)"
    r"|(?:(?:can|could|would|will) you(?:,? (?:please|just)\b,?)*|let's|help me(?: to)?"
    r"|go ahead and)"
    r" (?P<verb>[a-z]+)"
    r")"
)
"""A wish, or (group `verb`) a form that asks for an action when an action verb follows."""

GO_AHEAD = _pattern(
    r"(?:(?:yes|ok|okay|sure|yep)\b[\s,.!]*)?(?:please\b[\s,]*)?"
    r"(?:do it|do that|do so|go ahead|go for it|please do|proceed|yes|yep|sure|ok|okay)"
    r"(?:[\s,]+please)?[\s.!]*"
)
"""A whole request that only agrees to what was offered."""

# --- replies that hand the work back --------------------------------------------------------

TELL_WORDS = _pattern(
    r"\b(?:you (?:can|could|should|need to|have to|must|may|might|will need to)|you'll need to"
    r"|please|simply|just|try|click|press|tap|hit|select|choose|use|using|go to|head to|visit|open"
    r"|navigate|clicking|pressing|tapping|selecting)\b"
)
"""A sentence that says what the person can do."""

OWN_WORDS = _pattern(r"(?:i|done)\b")
"""The start of a sentence in which the model speaks of itself."""

ANNOUNCEMENT = _pattern(
    r"(?:\bi(?:'ll| will| need to| have to| must| should|'m going to| am going to)|\blet me)"
    r"(?: (?:now|just|first|also|then|try to|have to|need to)\b)* (?P<verb>[a-z]+)"
)
"""A sentence in which the model says what it is about to do, and (group `verb`) how it begins."""

CALLING = frozenset("call use try run invoke execute".split())
"""Verbs that announce the use of a tool, whatever it does."""

JUDGEMENT = _pattern(
    r"(?:yes|no|ok|okay)?[\s,.]*(?:the|this|that) (?:(?:tool|function|page|call)(?:'s)? )?"
    r"(?:results?|output|response|content)(?: above)?(?: (?:already|now|fully))?"
    r" (?:do(?:es)?(?: not|n't) )?(?:answers?|satisf(?:y|ies)|fulfil(?:l|ls|s))\b[^.!?:\d]*[.!?\s]*"
)
"""A whole reply that only says whether the result answers the request."""

# --- failures -------------------------------------------------------------------------------

FAILURE_WORDS = _pattern(
    r"\b(?:can't|cannot|can not|could not|couldn't|unable|(?:was|did|is|are|do|does)(?: not|n't)"
    r"|won't|fail\w*|error\w*|problems?|denied|declined|refused|rejected|invalid|missing"
    r"|unavailable|unknown|sorry|no longer"
    r"|not (?:found|available|possible|allowed|there|here|on this page)"
    r"|timed out|timeout|went wrong|try again)\b"
)
"""A sentence that admits that something did not work."""

# --- claims ---------------------------------------------------------------------------------

NOT_YET = _pattern(r"\b(?:will|would|can|could|should|must|need to)(?:n't)?\b|'ll\b")
"""A sentence about what has not happened."""

CONDITION = _pattern(r"(?:if|once|when|after|before|to|until|unless)\b")
"""The start of a sentence about what may happen."""

_NO_PAST = _any(
    "need indeed proceed succeed exceed speed feed seed tried wanted decided noticed assumed "
    "needed supposed interested limited based related called named titled located"
)
_IRREGULAR = _any(
    "begun bought brought cancelled chosen chose done drawn found given gave got hidden kept left "
    "made paid picked placed put read rebooked reset run saved sent set shown sold taken took told "
    "turned updated withdrawn written wrote"
)
# A word of four letters or more that ends in "ed", or an irregular participle.
_PAST = rf"(?:(?!(?:{_NO_PAST})\b)[a-z]{{2,}}ed\b|(?:{_IRREGULAR})\b)"
_STATE = _any(
    "confirmed complete completed booked placed reserved ordered saved sent submitted scheduled "
    "cancelled canceled updated added removed set ready"
)
_IT_IS = "it is|it's|that is|that's|everything is"

CLAIM_STARTS = (
    _pattern(
        rf"(?:(?:{_IT_IS}) )?(?:now )?(?:all )?(?:done|finished|completed|success)(?=[.!,:;]|$)"
    ),
    _pattern(rf"(?:(?:{_IT_IS}|you are|you're|all) )(?:all )?set\b"),
)
"""Starts of sentences that claim success."""

CLAIMS = (
    _pattern(rf"\b(?:i have|i've|i) (?:(?:now|just|already|also|successfully) )*{_PAST}"),
    _pattern(rf"\b(?:has|have) (?:(?:now|just|already) )?been (?:(?:successfully|now) )?{_PAST}"),
    _pattern(rf"\b(?:was|were) (?:successfully|now) {_PAST}"),
    _pattern(rf"(?:\b(?:is|are)|'s) now (?:(?:in|on|off|set|open)\b|{_PAST})"),
    _pattern(r"\bsuccessfully\b"),
    _pattern(rf"\byour(?: \S++){{1,3}} (?:is|are|was|were) (?:now )?(?:{_STATE})\b"),
)
"""Anywhere in a sentence: it claims that something was done."""
