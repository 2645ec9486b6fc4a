"""Who will deal with whom? Learn who met in April, and ask who meets in May.

python examples/03_links.py [accounts epochs]

Writes payments.store and links.model to the current folder.
"""

import sys

from sklearn.metrics import roc_auc_score

import gtea
from gtea.datasets.payments import PaymentsSpec, generate_payments

accounts, epochs = map(int, sys.argv[1:] or (600, 8))
transactions, _ = generate_payments(PaymentsSpec(accounts=accounts, events=20 * accounts))
store = gtea.ingest(
    transactions, src="payer", dst="payee", time="timestamp", features=["amount"], out="payments.store", overwrite=True
)

# Pairs that have a payment from 1 April to 1 May, about as many that have none, and 1 or 0 for each.
pairs, y = gtea.link_examples(store, as_of="2024-04-01", until="2024-05-01")
print(f"{len(y)} pairs, {y.sum()} of which have a payment in April; the first is {pairs[0][0]} to {pairs[0][1]}")

# as_of: the model sees nothing from April on.
model = gtea.GTEALinkPredictor(store, as_of="2024-04-01", epochs=epochs, d_node=32, d_edge=32)
model.fit(pairs, y)

# A month later the same model is asked about May. It is told what happened in April, and not trained again.
later, truth = gtea.link_examples(store, as_of="2024-05-01", until="2024-06-01")
chance = model.predict_proba(later, as_of="2024-05-01")[:, 1]
print(f"May: ROC-AUC {roc_auc_score(truth, chance):.3f}")

# The same folder that gtea train --task links makes; gtea score --pairs reads it.
model.save("links.model")
