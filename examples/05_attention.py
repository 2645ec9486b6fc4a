"""Which partners did the network read? GTEA weighs an account's partners, and sparsemax gives most of them zero.

    python examples/05_attention.py [accounts epochs]

The weights are Eq. 5 of the paper, over all partners of an account.
"""

import sys

import gtea
from gtea.datasets.payments import PaymentsSpec, generate_payments

accounts, epochs = map(int, sys.argv[1:] or (1000, 10))
transactions, labels = generate_payments(PaymentsSpec(accounts=accounts, events=20 * accounts, illicit_share=0.3))
store = gtea.ingest(
    transactions, src="payer", dst="payee", time="timestamp", features=["amount"], out="payments.store", overwrite=True
)
x, y = labels["account"].to_numpy(), labels["label"].to_numpy() == "illicit"
model = gtea.GTEAClassifier(store, epochs=epochs, lr=0.003).fit(x, y)

# The account with the highest score, and its partners: an illicit account gambles with two of them.
account = x[model.predict_proba(x)[:, 1].argmax()]
view = store.as_of()
print(f"{account} and its partners")
for partner, weight in model.attention_weights(account).items():
    print(f"{weight:.3f}  {partner}  {len(view.history(account, partner))} payments")
