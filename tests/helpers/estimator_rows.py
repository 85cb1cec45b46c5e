"""The rows of generated/estimators_table.md: the outcomes of each estimator and metric in words."""

import re

from helpers import estimators as sweep

KINDS = (
    sweep.RIGHT,
    sweep.FLAT,
    sweep.WARNS,
    sweep.LEAVES,
    sweep.UNTOLD,
    sweep.REFUSES,
    sweep.WRONG,
)


def by_word(outcomes):
    """Return a dict from each word of an Outcome to the methods and attributes with that word."""
    found = {word: [] for word in KINDS}
    for name, outcome in outcomes.items():
        found[outcome.word].append(name)
    return found


def in_one_word(outcomes):
    """Return the one word that summarises the outcomes of an estimator."""
    found = by_word(outcomes)
    if found[sweep.WRONG]:
        return "WRONG"
    if [*outcomes] == ["fit"]:
        return "refuses"
    if not found[sweep.RIGHT] and not found[sweep.WARNS] and not found[sweep.LEAVES]:
        return "constant" if found[sweep.FLAT] else "refuses"
    rest = found[sweep.WARNS] + found[sweep.LEAVES] + found[sweep.REFUSES] + found[sweep.UNTOLD]
    if not found[sweep.RIGHT]:
        return "warns" if found[sweep.WARNS] else "leaves"
    return "in part" if rest else "yes"


def listed(names, outcomes=None):
    """Join names with commas; where the error exceeds the tolerance, the error follows the name."""
    errors = {name: outcomes[name].error if outcomes else 0.0 for name in names}
    rough = {name: f" ({e:.0e})" if e > sweep.TOLERANCE else "" for name, e in errors.items()}
    return ", ".join(f"`{name}`{text}" for name, text in rough.items())


def row(name, outside, inside):
    """Return the row of an estimator from its outcomes outside and inside ``interop.sklearn()``."""
    found = by_word(inside)
    rest = []
    for word, text in ((sweep.WRONG, "WRONG"), (sweep.WARNS, "warns"), (sweep.LEAVES, "NumPy data"),
                       (sweep.UNTOLD, "not told by differences")):  # fmt: skip
        if found[word]:
            rest.append(f"{text}: {listed(found[word])}")
    if found[sweep.REFUSES]:
        own = inside[found[sweep.REFUSES][0]].text
        names = "" if found[sweep.REFUSES] == ["fit"] else listed(found[sweep.REFUSES]) + " "
        rest.append(f"{names}refused: {reason(own)}")
    return (
        f"| {name} | {in_one_word(outside)} | {listed(found[sweep.RIGHT], inside)} | "
        f"{listed(found[sweep.FLAT])} | {'; '.join(rest)} |"
    )


def reason(text):
    """Return the first sentence of an error, without its class, paths and source location."""
    text = re.sub(r"^\w+: ", "", text)
    text = re.sub(r"\[at [^\]]*\]?", "", text)
    text = re.sub(r"'?/[^ ,')]*", "...", text)
    text = text.partition(". ")[0].strip().rstrip(":")
    text = text if len(text) <= 130 else text[:127].rsplit(" ", 1)[0] + " ..."
    return text.replace("|", "\\|")


def estimator_row(name):
    estimator = sweep.made(name)
    data, target = sweep.takes(name, estimator)
    truth = None if data is None else sweep.truth_of(name, estimator, (data, target))
    return row(name, sweep.outcomes(name, False, truth), sweep.outcomes(name, True, truth))


def metric_row(name):
    outside, inside = [in_word(sweep.metric_outcome(name, where)) for where in (False, True)]
    return f"| {name} | {outside} | {inside} |"


def in_word(outcome):
    words = {sweep.RIGHT: "yes", sweep.FLAT: "constant", sweep.LEAVES: "leaves"}
    if outcome.word == sweep.REFUSES:
        return f"refuses: {reason(outcome.text)}"
    if outcome.word == sweep.FLAT and outcome.text:
        return f"constant, {outcome.text}"
    return words.get(outcome.word, outcome.word)
