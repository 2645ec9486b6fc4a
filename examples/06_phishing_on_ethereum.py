"""Real data from end to end: phishing accounts on Ethereum, trained on the past and tested on later accounts.

    python examples/06_phishing_on_ethereum.py FOLDER [epochs]

FOLDER holds transactions.parquet (from, to, timestamp, value_eth, has_call_data) and labels.csv (account, label), as
docs/results.md describes the data set ethereum_phishing.
"""

import sys
from pathlib import Path

import pyarrow.csv
from sklearn.metrics import average_precision_score

import gtea

folder, epochs = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20
store = gtea.ingest(
    folder / "transactions.parquet",
    src="from",
    dst="to",
    time="timestamp",
    features=["value_eth", "has_call_data"],
    out="ethereum.store",
    overwrite=True,
)
labels = pyarrow.csv.read_csv(folder / "labels.csv")
accounts, phishing = labels["account"].to_pylist(), [label == "phishing" for label in labels["label"].to_pylist()]

# When did each account appear? Train on the first 80 %, as the graph was when the last of them appeared.
view = store.as_of()
first = {account: int(view.neighbours(account).first_time[0]) for account in accounts}
order = sorted(range(len(accounts)), key=lambda i: first[accounts[i]])
train, test = order[: int(0.8 * len(order))], order[int(0.8 * len(order)) :]
cut = first[accounts[train[-1]]] + 1
print(f"{len(train)} accounts before {store.date(cut)} train, {len(test)} later ones test")

model = gtea.GTEAClassifier(store, as_of=cut, epochs=epochs)
model.fit([accounts[i] for i in train], [phishing[i] for i in train])

# Later accounts are scored with all events so far: nothing about them was seen in training.
scores = model.predict_proba([accounts[i] for i in test], as_of=store.end)[:, 1]
truth = [phishing[i] for i in test]
chance = sum(truth) / len(truth)
print(f"average precision {average_precision_score(truth, scores):.3f} (by chance {chance:.3f})")
for i, score in sorted(zip(test, scores, strict=True), key=lambda pair: -pair[1])[:5]:
    print(f"{score:.4f}  {accounts[i]}  {'phishing' if phishing[i] else 'normal'}")
