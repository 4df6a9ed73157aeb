"""What goes wrong, in sentences: what was expected, what came, what to do."""


class HeadwidgetsError(Exception):
    """Any error that headwidgets raises on purpose."""


class InputError(HeadwidgetsError, ValueError):
    """An argument cannot be used as it is."""


class UnsupportedError(HeadwidgetsError, NotImplementedError):
    """The model (family, layer, device) cannot do what was asked; the message names it."""


class VerificationError(HeadwidgetsError, AssertionError):
    """A number that should agree with an independent one does not."""


class MemoryLimitError(HeadwidgetsError, MemoryError):
    """The job would not fit in memory; the message says how to make it fit."""


class Cancelled(HeadwidgetsError):
    """A job was cancelled before it was done."""
