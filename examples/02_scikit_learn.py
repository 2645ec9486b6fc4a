"""GTEA in scikit-learn's hands: cross-validation, a grid search, and embeddings for another classifier.

python examples/02_scikit_learn.py [accounts epochs]

Every fold trains a network: this takes as long as all of them together.
"""

import sys

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gtea
from gtea.datasets.payments import PaymentsSpec, generate_payments

accounts, epochs = map(int, sys.argv[1:] or (600, 15))
transactions, labels = generate_payments(PaymentsSpec(accounts=accounts, events=20 * accounts, illicit_share=0.3))
store = gtea.ingest(
    transactions, src="payer", dst="payee", time="timestamp", features=["amount"], out="payments.store", overwrite=True
)

# An example is the id of an account. All else comes from the store, which all copies of the estimator share.
x, y = labels["account"].to_numpy(), labels["label"].to_numpy() == "illicit"
model = gtea.GTEAClassifier(store, epochs=epochs, lr=0.01, batch_size=32, d_node=32, d_edge=32, max_events=16)

# All folds see the same graph and differ in whose labels are known. To be evaluated on accounts that appear later, as
# a model is in use, run gtea train: it splits by time.
scores = cross_val_score(model, x, y, cv=3, scoring="average_precision")
print(f"average precision {scores.mean():.3f} +- {scores.std():.3f}, by chance {y.mean():.3f}")

# Which encoder reads a history best? The names are those of the settings of gtea train.
search = GridSearchCV(model, {"encoder": ["lstm", "statistics"]}, cv=2, scoring="average_precision").fit(x, y)
for choice, mean in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
    print(f"{choice['encoder']:<10} {mean:.3f}")

# In a pipeline GTEA hands on its embeddings.
pipeline = make_pipeline(model, StandardScaler(), LogisticRegression()).fit(x, y)
width = pipeline[0].transform(x[:1]).shape[1]
print(f"logistic regression on embeddings of {width} numbers, on the accounts it knows: {pipeline.score(x, y):.3f}")
