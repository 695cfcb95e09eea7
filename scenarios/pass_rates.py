"""How often cases pass, how sure that is, and why they fail: rates with intervals, causes, times.

Cases that could not be judged count in no rate. Repeats of one case resemble each other more than
different cases do, so the interval of a whole test is for these cases, not for others like them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import comb, sqrt
from statistics import fmean
from typing import Literal

from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.results import CaseRecord

Z = 1.959964
"""Of the two-sided 95 % interval of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of some passed."""

    passed: int
    total: int

    @property
    def share(self) -> float:
        """0 to 1; 0 of none."""
        return self.passed / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true rate is, with 95 % confidence: the score interval of E. B. Wilson (1927).

        Unlike the textbook's interval it stays within 0 to 1 and is never empty."""
        if not self.total:
            return 0.0, 1.0
        n, share = self.total, self.share
        middle = share + Z * Z / (2 * n)
        half = Z * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
        low, high = (middle - half) / (1 + Z * Z / n), (middle + half) / (1 + Z * Z / n)
        return (0.0 if not self.passed else low), (1.0 if self.passed == n else high)

    def to_json(self) -> JsonObject:
        """The rate as a JSON object."""
        return {
            "passed": self.passed,
            "total": self.total,
            "rate": round(self.share, 4),
            "interval": [round(bound, 4) for bound in self.interval],
        }


def all_of(rates: Iterable[Rate], k: int) -> float | None:
    """pass^k: how probable it is that a case passes `k` times in a row, over all cases.

    The unbiased estimate from n repeats with c passes, C(c, k) / C(n, k) (S. Yao et al.,
    tau-bench, 2024). Cases with fewer repeats are left out; None when that is all."""
    known = [comb(rate.passed, k) / comb(rate.total, k) for rate in rates if rate.total >= k]
    return fmean(known) if known else None


@dataclass(frozen=True)
class Statistics:
    """What results say together."""

    records: Sequence[CaseRecord] = field(repr=False)

    @cached_property
    def judged(self) -> list[CaseRecord]:
        """Those that say something about model and page."""
        return [record for record in self.records if record.judged]

    @property
    def rate(self) -> Rate:
        """Of all repeats of all cases."""
        return _rate(self.judged)

    @property
    def errors(self) -> int:
        """How many could not be judged."""
        return len(self.records) - len(self.judged)

    @cached_property
    def cases(self) -> dict[tuple[str, str], list[CaseRecord]]:
        """The judged repeats of each case, by file and name, in their order."""
        found: dict[tuple[str, str], list[CaseRecord]] = {}
        for record in self.judged:
            found.setdefault((record.file, record.case), []).append(record)
        return found

    @property
    def rates(self) -> dict[tuple[str, str], Rate]:
        """Of each case."""
        return {name: _rate(records) for name, records in self.cases.items()}

    @property
    def powers(self) -> dict[int, float]:
        """pass^k for each k up to the smallest number of repeats, of at least one case."""
        repeats = min((len(records) for records in self.cases.values()), default=0)
        found = ((k, all_of(self.rates.values(), k)) for k in range(1, repeats + 1))
        return {k: power for k, power in found if power is not None}

    @property
    def ms(self) -> dict[str, float]:
        """Mean times of a case."""
        return {name: _mean(getattr(r.ms, name) for r in self.judged) for name in _TIMES}

    @property
    def tokens(self) -> dict[str, float]:
        """Mean tokens of a case."""
        return {name: _mean(getattr(r.tokens, name) for r in self.judged) for name in _TOKENS}

    def to_json(self) -> JsonObject:
        """All of it as a JSON object."""
        cases: list[JsonValue] = [
            {
                "file": file,
                "case": case,
                **_rate(records).to_json(),
                "why": {**causes_of(records)},
            }
            for (file, case), records in self.cases.items()
        ]
        return {
            **self.rate.to_json(),
            "pass_k": {str(k): round(power, 4) for k, power in self.powers.items()},
            "why": {**causes_of(self.judged)},
            "ms": {name: round(value, 1) for name, value in self.ms.items()},
            "tokens": {name: round(value, 1) for name, value in self.tokens.items()},
            "cases": cases,
        }


_TIMES = ("total", "model", "page", "own")
_TOKENS = ("prompt", "cached", "completion")


def _rate(records: Sequence[CaseRecord]) -> Rate:
    return Rate(sum(record.passed for record in records), len(records))


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else 0.0


def causes_of(records: Iterable[CaseRecord]) -> dict[str, int]:
    """How often each cause came up, the most frequent first."""
    counted = Counter[str](record.why for record in records if record.why is not None)
    return dict(counted.most_common())


Verdict = Literal["better", "worse", "undecided"]


@dataclass(frozen=True)
class Comparison:
    """Two results side by side: of two models, two versions of a site, two settings.

    Only cases that both of them judged are compared."""

    before: Statistics
    after: Statistics

    @staticmethod
    def of(before: Sequence[CaseRecord], after: Sequence[CaseRecord]) -> "Comparison":
        """The comparison of two results. Cases are the same when file and name are, or the name
        alone where it is there once on both sides: files may have moved."""
        names = _same_cases(Statistics(before).cases, Statistics(after).cases)
        renamed = [
            record.model_copy(update=dict(zip(("file", "case"), names[key], strict=True)))
            for record in before
            if (key := (record.file, record.case)) in names
        ]
        kept = set(names.values())
        return Comparison(
            Statistics(renamed),
            Statistics([record for record in after if (record.file, record.case) in kept]),
        )

    @property
    def difference(self) -> float:
        """Of the pass rates, -1 to 1; above 0 is better."""
        return self.after.rate.share - self.before.rate.share

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true difference is, with 95 % confidence: R. G. Newcombe's hybrid of two score
        intervals (1998, method 10)."""
        old, new = self.before.rate, self.after.rate
        (old_low, old_high), (new_low, new_high) = old.interval, new.interval
        down = sqrt((new.share - new_low) ** 2 + (old_high - old.share) ** 2)
        up = sqrt((new_high - new.share) ** 2 + (old.share - old_low) ** 2)
        return self.difference - down, self.difference + up

    @property
    def verdict(self) -> Verdict:
        """What can be said with that confidence."""
        low, high = self.interval
        return "better" if low > 0 else "worse" if high < 0 else "undecided"

    @property
    def changed(self) -> dict[tuple[str, str], tuple[Rate, Rate]]:
        """The cases whose rate differs, with both rates."""
        old, new = self.before.rates, self.after.rates
        return {
            name: (old[name], new[name])
            for name in new
            if name in old and old[name].share != new[name].share
        }

    def to_json(self) -> JsonObject:
        """All of it as a JSON object."""
        return {
            "verdict": self.verdict,
            "difference": round(self.difference, 4),
            "interval": [round(bound, 4) for bound in self.interval],
            "before": self.before.to_json(),
            "after": self.after.to_json(),
        }


_Name = tuple[str, str]


def _same_cases(
    before: Mapping[_Name, object], after: Mapping[_Name, object]
) -> dict[_Name, _Name]:
    """For each earlier case the later one that is the same."""
    once_before = Counter(case for _, case in before)
    once_after = Counter(case for _, case in after)
    by_case = {case: (file, case) for file, case in after if once_after[case] == 1}
    names: dict[_Name, _Name] = {}
    for name in before:
        if name in after:
            names[name] = name
        elif once_before[name[1]] == 1 and name[1] in by_case:
            names[name] = by_case[name[1]]
    return names
