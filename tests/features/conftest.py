import numpy as np
import pytest

from gtea.store.memory import store_in_memory


@pytest.fixture(scope="session")
def random_store():
    """Makes small stores with ties in time, hubs, self-loops, two features, a category and a node table."""

    def make(seed=0, num_events=400, num_accounts=30, directed=False, unit="s"):
        generator = np.random.default_rng(seed)
        names = [f"account-{i}" for i in range(num_accounts)]
        popular = (num_accounts * generator.random(num_events) ** 2).astype(int)
        src = [names[i] for i in popular]
        dst = [names[i] for i in generator.integers(0, num_accounts, num_events)]
        return store_in_memory(
            src,
            dst,
            generator.integers(0, 200, num_events),
            features={"amount": generator.lognormal(3, 2, num_events), "fee": generator.normal(size=num_events)},
            categorical={"kind": [["card", "cash", "wire"][i] for i in generator.integers(0, 3, num_events)]},
            nodes={name: [float(i), i % 3] for i, name in enumerate(names[::2])} | {"nobody": [0.0, 1.0]},
            node_features=["age", "tier"],
            directed=directed,
            unit=unit,
        )

    return make
