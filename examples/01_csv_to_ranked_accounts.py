"""From a CSV file of payments and a few labelled accounts to a ranked list of accounts.

    python examples/01_csv_to_ranked_accounts.py [accounts epochs]

Writes events.csv, payments.store and ranking.csv to the current folder.
"""

import sys

import pyarrow as pa
import pyarrow.csv

import gtea
from gtea.datasets.payments import PaymentsSpec, generate_payments

accounts, epochs = map(int, sys.argv[1:] or (1000, 10))

# Your own data would be here already. These payments are made up: some accounts gamble with each other at night.
transactions, labels = generate_payments(PaymentsSpec(accounts=accounts, events=20 * accounts, illicit_share=0.3))
pyarrow.csv.write_csv(transactions, "events.csv")

# A store keeps, for every pair of accounts, all that passed between the two. It is made once and opened in no time.
store = gtea.ingest(
    "events.csv", src="payer", dst="payee", time="timestamp", features=["amount"], out="payments.store", overwrite=True
)
print(store)

# Suppose that three quarters of the accounts have been looked at, and we want to know about the rest.
known, rest = labels.slice(0, 3 * len(labels) // 4), labels.slice(3 * len(labels) // 4)
model = gtea.GTEAClassifier(store, epochs=epochs, lr=0.003).fit(known["account"], known["label"])

# The columns of predict_proba are those of classes_: ['illicit', 'normal'].
score = model.predict_proba(rest["account"])[:, list(model.classes_).index("illicit")]
ranking = pa.table({"account": rest["account"], "score": score, "truth": rest["label"]})
ranking = ranking.sort_by([("score", "descending")])
pyarrow.csv.write_csv(ranking, "ranking.csv")
for row in ranking.slice(0, 10).to_pylist():
    print(f"{row['score']:.3f}  {row['account']}  {row['truth']}")
