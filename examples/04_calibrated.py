"""Probabilities that mean what they say: of accounts with a score of 0.3, three in ten should be illicit.

    python examples/04_calibrated.py [accounts epochs]

GTEA weighs both classes alike, so that a rare one is learnt. Its scores rank well and are too high as probabilities.
"""

import sys

from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import average_precision_score, brier_score_loss
from sklearn.model_selection import train_test_split

import gtea
from gtea.data.payments import PaymentsSpec, generate_payments

accounts, epochs = map(int, sys.argv[1:] or (800, 8))
transactions, labels = generate_payments(PaymentsSpec(accounts=accounts, events=20 * accounts, illicit_share=0.15))
store = gtea.ingest(
    transactions, src="payer", dst="payee", time="timestamp", features=["amount"], out="payments.store", overwrite=True
)
x, y = labels["account"].to_numpy(), labels["label"].to_numpy() == "illicit"
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.3, stratify=y, random_state=0)

plain = gtea.GTEAClassifier(store, epochs=epochs, lr=0.003, d_node=32, d_edge=32)
# Two models, each calibrated on the accounts that the other was trained on; their mean is the answer.
calibrated = CalibratedClassifierCV(plain, cv=2)

print(f"{'':<12}{'mean score':>12}{'Brier':>10}{'average precision':>20}   (illicit: {y_test.mean():.3f})")
for name, model in (("plain", plain), ("calibrated", calibrated)):
    score = model.fit(x_train, y_train).predict_proba(x_test)[:, 1]
    ranking = average_precision_score(y_test, score)
    print(f"{name:<12}{score.mean():>12.3f}{brier_score_loss(y_test, score):>10.3f}{ranking:>20.3f}")
