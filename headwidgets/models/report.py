"""What `verify` found: one line for each comparison."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One line of a report.

    Attributes:
        name: What was compared.
        passed: None where the family lacks what the check needs; `detail` says what.
        detail: A sentence.
        error: The largest difference found; None where nothing is measured.
        tolerance: What it may be.
    """

    name: str
    passed: bool | None
    detail: str = ""
    error: float | None = None
    tolerance: float | None = None

    def __str__(self) -> str:
        word = {True: "ok", False: "WRONG", None: "lacks"}[self.passed]
        number = "" if self.error is None else f"{self.error:.1e} of {self.tolerance or 0:.0e} allowed"
        said = " ".join(filter(None, [number, self.detail]))
        return f"{word:6s} {self.name}" + (f": {said}" if said else "")


@dataclass(frozen=True)
class VerificationReport:
    """What `HeadModel.verify` found; prints as a table.

    Attributes:
        model: The model's class.
        family: Its type, as its configuration names it.
        versions: Of torch and transformers.
        checks: One for each comparison, in order.
    """

    model: str
    family: str
    versions: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether no number was wrong."""
        return not self.wrong

    @property
    def wrong(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self.checks if check.passed is False]

    @property
    def lacks(self) -> list[Check]:
        """What the family does not offer."""
        return [check for check in self.checks if check.passed is None]

    def __str__(self) -> str:
        head = f"{self.model} ({self.family}), {self.versions}: " + ("verified" if self.ok else "WRONG NUMBERS")
        return "\n".join([head, *(f"  {check}" for check in self.checks)])
