"""Does an attribution say what the model does?"""

from headwidgets.attribution.faithfulness.checks import faithfulness
from headwidgets.attribution.faithfulness.report import Faithfulness

__all__ = ["Faithfulness", "faithfulness"]
