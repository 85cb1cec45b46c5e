"""Mathieu and spheroidal wave functions, which mpmath has not."""

from arraytape.special._statement import STATEMENTS

REFERENCES: dict = {}
CHECKED = "compared with differences in test_bessel.py: mpmath has no such function"
BY_DIFFERENCES = {
    name: CHECKED for name in STATEMENTS if name.startswith(("mathieu_", "pro_", "obl_"))
}
