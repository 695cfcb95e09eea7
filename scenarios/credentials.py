"""What looks like a credential in a text: by its key, by its shape, or by where it stands.

Errs on the side of masking: what is written to a file or a log may be read by others later. Pure,
and in time that grows with the text alone.
"""

import re

MASK = "***"

_WORDS = {
    "accesskey", "accesstoken", "apikey", "authorization", "authtoken", "bearer", "cardnumber",
    "cookie", "credential", "credentials", "cvc", "cvv", "jwt", "otp", "passcode", "passphrase",
    "passwd", "password", "pin", "privatekey", "pwd", "secret", "secretkey", "sessionid", "token",
}  # fmt: skip
_PAIRS = {
    ("access", "key"), ("api", "key"), ("auth", "key"), ("card", "number"), ("private", "key"),
    ("security", "code"), ("session", "id"), ("session", "key"), ("signing", "key"),
}  # fmt: skip
_QUERY_KEYS = {"auth", "key", "session", "sid", "sig", "signature"}
"""Ordinary words that hold a credential when they stand in the query of an address."""
_COUNTED = {"count", "limit", "length", "type", "usage", "budget"}
"""`token_count` and its like say something about tokens."""

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_USER_INFO = re.compile(r"(?<![\w+.-])([A-Za-z][A-Za-z0-9+.-]{1,20}://)[^\s/@\"'<>]{1,300}@")
_HEADER = re.compile(
    r"\b((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]{0,30}(?:key|token))"
    r"(\\*[\"']?\s*+[:=]\s*+\\*[\"']?)(?:(?!\\+[rn\"'])[^\r\n\"'])+",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(bearer|basic)(\s++)(?=\S*[\d._=-])[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_KEY = re.compile(r"(?<![\w-])([A-Za-z_][\w-]{0,63})(\\*[\"'])?\s{0,20}([:=])\s{0,20}")
_QUOTED = re.compile(
    r"(\\+[\"'])(?P<nested>.{0,4000}?)(?:\1|\Z)"
    r"|\"(?P<double>(?:\\.|[^\"\\])*)(?:\"|\Z)"
    r"|'(?P<single>(?:\\.|[^'\\])*)(?:'|\Z)",
    re.DOTALL,
)
_BARE = re.compile(r"[^\s&;,\"'<>()\[\]{}\\]+")
_ELEMENT = re.compile(r"<(?:parameter=)?([A-Za-z][\w-]{0,63})>([^<]+)(?=<|\Z)")
_SAID = re.compile(
    r"\b(password|passphrase|passcode|pin|secret|token|api key)(\s{1,5}(?:is|was|=|:)\s{1,5})"
    r"(?=\S*[\d!@#$%^&*_])[^\s,;\"'<>]+",
    re.IGNORECASE,
)
# Of known makes: OpenAI, Stripe, GitHub, GitLab, Slack, Hugging Face, npm, PyPI, Shopify, AWS,
# Google; and JSON web tokens.
_MAKES = re.compile(
    r"\b(?:(?:sk|pk|rk|gh[opusr]|glpat|xox[abeprs]|hf|npm|pypi|shp(?:at|ca|pa|ss)|whsec|github_pat)"
    r"[-_](?=[\w-]*\d)[\w-]{12,}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}"
    r"|eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?)"
)
_LONG = re.compile(r"(?<![\w+/=-])[A-Za-z0-9_-]{32,512}(?![\w-])")
_DIGITS = re.compile(r"(?<![\w.-])[2-6](?:[ -]?[0-9]){12,18}(?![\w-]|\.[0-9])")


def is_credential_key(name: str, *, in_query: bool = False) -> bool:
    """Whether what stands under `name` is a credential: `password`, `apiKey`, `X-Auth-Token`."""
    parts = [part.casefold() for part in _PART.findall(name[:200])]
    if _COUNTED & set(parts):
        return False
    if _WORDS & set(parts) or any(pair in _PAIRS for pair in zip(parts, parts[1:], strict=False)):
        return True
    return in_query and len(parts) == 1 and parts[0] in _QUERY_KEYS


def mask_credentials(text: str) -> str:
    """`text` with each credential in it as `***`; what is masked already stays as it is."""
    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY.sub(MASK, text)
    if "@" in text:
        text = _USER_INFO.sub(rf"\1{MASK}@", text)
    text = _HEADER.sub(rf"\1\2{MASK}", text)
    text = _BEARER.sub(rf"\1\2{MASK}", text)
    text = _by_key(text)
    if "<" in text:
        text = _ELEMENT.sub(_element, text)
    text = _SAID.sub(rf"\1\2{MASK}", text)
    text = _MAKES.sub(MASK, text)
    text = _LONG.sub(lambda found: MASK if _is_random(found[0]) else found[0], text)
    return _DIGITS.sub(lambda found: MASK if _is_card(found[0]) else found[0], text)


def _by_key(text: str) -> str:
    """What stands behind `key=` and `"key": ` is masked where the key says so."""
    kept, at = list[str](), 0
    for found in _KEY.finditer(text):
        start = found.end()
        if found.start() < at:
            continue
        in_query = text[found.start() - 1 : found.start()] in {"?", "&"} and found[3] == "="
        if not is_credential_key(found[1], in_query=in_query):
            continue
        if (value := _QUOTED.match(text, start)) is not None:
            quote = value[1] or text[start]
            inner = value["nested"] or value["double"] or value["single"]
            masked = f"{quote}{MASK}{quote}" if inner else value[0]
        elif (value := _BARE.match(text, start)) is not None:
            masked = MASK if _is_bare_value(found, value[0]) else value[0]
        else:
            continue
        kept += text[at:start], masked
        at = value.end()
    return "".join(kept) + text[at:]


def _is_bare_value(key: re.Match[str], value: str) -> bool:
    """Whether a word behind a key is its value: `password: string` says what it is to be."""
    if key[3] == "=":
        return True
    return key[2] is not None or (len(value) > 3 and not value.isalpha())


def _element(found: re.Match[str]) -> str:
    if not is_credential_key(found[1]) or not found[2].strip():
        return found[0]
    return found[0].replace(found[2], MASK)


def _is_random(text: str) -> bool:
    """Whether a long word is neither words nor one number: small and large letters and digits."""
    kinds = [sum(map(test, text)) for test in (str.isupper, str.islower, str.isdigit)]
    return min(kinds) >= 3


def _is_card(text: str) -> bool:
    """Whether digits are a card's number by its check digit (ISO/IEC 7812-1, annex B)."""
    digits = [int(each) for each in text if each.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(doubled) + sum(digits[-1::-2])) % 10 == 0
