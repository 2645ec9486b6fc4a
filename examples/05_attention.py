"""Which partners did the model look at? GTEA weighs an account's partners, and sparsemax gives most of them nothing.

python examples/05_attention.py [accounts epochs]

This goes below the estimators: a batch, the network, and the weights of Eq. 5 in the paper.
"""

import sys

import numpy as np

import gtea
from gtea.datasets.payments import PaymentsSpec, generate_payments
from gtea.sampling.collate import collator_for
from gtea.sampling.neighbours import NeighbourSampler

accounts, epochs = map(int, sys.argv[1:] or (1000, 10))
transactions, labels = generate_payments(PaymentsSpec(accounts=accounts, events=20 * accounts, illicit_share=0.3))
store = gtea.ingest(
    transactions, src="payer", dst="payee", time="timestamp", features=["amount"], out="payments.store", overwrite=True
)
x, y = labels["account"].to_numpy(), labels["label"].to_numpy() == "illicit"
model = gtea.GTEAClassifier(store, epochs=epochs, lr=0.003).fit(x, y)

# The account that looks most suspicious.
account = x[model.predict_proba(x)[:, 1].argmax()]
node = np.array([store.node(account)])

# What the network is given for it: a batch of one account. Drawing is a pure function of seed and account, so a sampler
# of the same settings names the very partners that the batch was made from.
trained, view = model.model_, store.as_of()
settings = trained.config.sampling
batch = collator_for(store, view.cut, trained.preprocessing, trained.config).batch(node)
sampler = NeighbourSampler(view, settings.fanout, batch.num_layers, settings.strategy, trained.config.train.seed)
partners = sampler.sample(node).nodes

weights = trained.gtea.embed(batch).alpha[0].tolist()
print(f"{account} and its partners")
for weight, place in sorted(zip(weights, batch.neighbour[0].tolist(), strict=True), reverse=True):
    if place >= 0:  # an account with few partners leaves places empty
        partner = store.account(int(partners[place]))
        print(f"{weight:.3f}  {partner}  {len(view.history(account, partner))} payments")
