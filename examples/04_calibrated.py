"""Probabilities that mean what they say: of accounts with a score of 0.3, three in ten should be illicit.

    python examples/04_calibrated.py [accounts epochs]

GTEA weighs both classes alike, so that a rare one is learnt. Its scores are meant to rank; as probabilities of a rare
class they need to be calibrated, on accounts that it was not trained on. The surer a model is, the less there is to do.
"""

import sys

from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import average_precision_score, brier_score_loss
from sklearn.model_selection import train_test_split

import gtea
from gtea.datasets.payments import PaymentsSpec, generate_payments

accounts, epochs = map(int, sys.argv[1:] or (1200, 8))
transactions, labels = generate_payments(PaymentsSpec(accounts=accounts, events=20 * accounts, illicit_share=0.15))
store = gtea.ingest(
    transactions, src="payer", dst="payee", time="timestamp", features=["amount"], out="payments.store", overwrite=True
)
x, y = labels["account"].to_numpy(), labels["label"].to_numpy() == "illicit"
x_rest, x_test, y_rest, y_test = train_test_split(x, y, test_size=0.3, stratify=y, random_state=0)
x_train, x_fresh, y_train, y_fresh = train_test_split(x_rest, y_rest, test_size=0.3, stratify=y_rest, random_state=0)

plain = gtea.GTEAClassifier(store, epochs=epochs, lr=0.01, d_node=32, d_edge=32, max_events=16).fit(x_train, y_train)
# Frozen: the model stays as it is, and only the curve from scores to probabilities is fitted.
calibrated = CalibratedClassifierCV(FrozenEstimator(plain)).fit(x_fresh, y_fresh)

print(f"{'':<12}{'mean score':>12}{'Brier':>10}{'average precision':>20}   (illicit: {y_test.mean():.3f})")
for name, model in (("plain", plain), ("calibrated", calibrated)):
    score = model.predict_proba(x_test)[:, 1]
    ranking = average_precision_score(y_test, score)
    print(f"{name:<12}{score.mean():>12.3f}{brier_score_loss(y_test, score):>10.3f}{ranking:>20.3f}")
