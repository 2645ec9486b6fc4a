"""How accounts stand, made up."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from gtea.live.live_standing import LiveStanding
from gtea.store.strings import table_of


def standing_of(scores: Mapping[str, float]) -> LiveStanding:
    """Accounts with these scores; alerts begin at 0.7, and equal scores are ranked in this order."""
    places = {account: place for place, account in enumerate(scores)}
    return LiveStanding(
        table_of(pa.array(list(scores), pa.large_string())),
        lambda account: places.get(account, -1),
        np.array(list(scores.values()), dtype=np.float64),
        np.zeros(len(scores), dtype=np.bool_),
        np.arange(len(scores)),
        0.7,
        0,
    )
