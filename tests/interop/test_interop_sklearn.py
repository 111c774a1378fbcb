"""scikit-learn in its default configuration, array-API dispatch off: Arrays work as ndarrays.

Source: scikit-learn's user guide, "Model selection and evaluation".  Row selection indexes the
Array
with ndarrays; everything else uses ``__array__``.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import interchange as ix

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def sk():
    """Return scikit-learn, in the configuration that it starts with."""
    sklearn = pytest.importorskip("sklearn", minversion="1.9")
    assert not sklearn.get_config()["array_api_dispatch"]
    for name in (
        *("calibration", "cluster", "compose", "ensemble", "feature_selection", "inspection"),
        *("linear_model", "metrics", "model_selection", "naive_bayes", "neighbors", "pipeline"),
        *("preprocessing", "svm", "tree", "utils"),
    ):
        __import__(f"sklearn.{name}")
    return sklearn


def data(wrap=lambda x: x):
    """Return features, classes, targets, weights and groups of 48 samples."""
    random = np.random.default_rng(0)
    rows = np.abs(random.normal(size=(48, 4)))
    made = {
        "rows": rows,
        "classes": (rows[:, 0] > rows[:, 1]).astype(np.int64),
        "targets": rows @ np.arange(4.0),
        "weights": np.linspace(1.0, 2.0, 48),
        "groups": np.arange(48) % 4,
    }
    return SimpleNamespace(**{name: wrap(one) for name, one in made.items()})


def taken(readonly):
    """Return a function that imports an ndarray, which may be written or not."""

    def take(memory):
        memory.flags.writeable = not readonly
        return ix.from_dlpack(memory)

    return take


def scaled(sk):
    """Return a pipeline of a scaler and a support vector machine."""
    return sk.pipeline.make_pipeline(sk.preprocessing.StandardScaler(), sk.svm.SVC())


def columns(sk):
    """Return a transformer of columns that are picked by every kind of key."""
    scale = sk.preprocessing.StandardScaler()
    picks = [[0], slice(1, 3), np.array([3]), np.array([True, False, False, True])]
    named = [(f"{place}", scale, pick) for place, pick in enumerate(picks)]
    return sk.compose.ColumnTransformer(named)


CALLS = {
    "train_test_split": lambda sk, d: sk.model_selection.train_test_split(
        d.rows, d.classes, d.weights, stratify=d.classes, random_state=0
    ),
    "train_test_split in order": lambda sk, d: sk.model_selection.train_test_split(
        d.rows, d.classes, shuffle=False
    ),
    "shuffle": lambda sk, d: sk.utils.shuffle(d.rows, d.classes, random_state=0),
    "resample": lambda sk, d: sk.utils.resample(
        d.rows, d.classes, stratify=d.classes, random_state=0
    ),
    "cross_val_score": lambda sk, d: sk.model_selection.cross_val_score(
        sk.linear_model.LogisticRegression(), d.rows, d.classes, params={"sample_weight": d.weights}
    ),
    "cross_val_score of groups": lambda sk, d: sk.model_selection.cross_val_score(
        scaled(sk), d.rows, d.classes, groups=d.groups, cv=sk.model_selection.GroupKFold(4)
    ),
    "cross_val_predict": lambda sk, d: sk.model_selection.cross_val_predict(
        sk.naive_bayes.GaussianNB(), d.rows, d.classes, method="predict_proba"
    ),
    "learning_curve": lambda sk, d: sk.model_selection.learning_curve(
        sk.naive_bayes.GaussianNB(), d.rows, d.classes, cv=3
    ),
    "GridSearchCV": lambda sk, d: (
        sk.model_selection.GridSearchCV(scaled(sk), {"svc__C": [0.1, 1.0]}, cv=3)
        .fit(d.rows, d.classes)
        .predict(d.rows)
    ),
    "RandomizedSearchCV": lambda sk, d: (
        sk.model_selection.RandomizedSearchCV(
            sk.linear_model.Ridge(), {"alpha": [0.1, 1.0, 9.0]}, n_iter=2, random_state=0
        )
        .fit(d.rows, d.targets)
        .best_score_
    ),
    "KFold by hand": lambda sk, d: [
        scaled(sk).fit(d.rows[train], d.classes[train]).score(d.rows[test], d.classes[test])
        for train, test in sk.model_selection.StratifiedKFold(3).split(d.rows, d.classes)
    ],
    "permutation_importance": lambda sk, d: (
        sk.inspection.permutation_importance(
            sk.linear_model.Ridge().fit(d.rows, d.targets), d.rows, d.targets, random_state=0
        ).importances_mean
    ),
    "ColumnTransformer": lambda sk, d: columns(sk).fit_transform(d.rows),
    "SequentialFeatureSelector": lambda sk, d: sk.feature_selection.SequentialFeatureSelector(
        sk.linear_model.Ridge(), n_features_to_select=2
    ).fit_transform(d.rows, d.targets),
    "StackingClassifier": lambda sk, d: (
        sk.ensemble.StackingClassifier(
            [("vectors", sk.svm.SVC()), ("bayes", sk.naive_bayes.GaussianNB())]
        )
        .fit(d.rows, d.classes)
        .predict(d.rows)
    ),
    "CalibratedClassifierCV": lambda sk, d: (
        sk.calibration.CalibratedClassifierCV(sk.naive_bayes.GaussianNB())
        .fit(d.rows, d.classes)
        .predict_proba(d.rows)
    ),
    "Ridge": lambda sk, d: (
        sk.linear_model.Ridge().fit(d.rows, d.targets, d.weights).predict(d.rows)
    ),
    "KMeans": lambda sk, d: sk.cluster.KMeans(3, n_init=1, random_state=0).fit_predict(d.rows),
    "KNeighborsClassifier": lambda sk, d: (
        sk.neighbors.KNeighborsClassifier().fit(d.rows, d.classes).predict_proba(d.rows)
    ),
    "DecisionTreeClassifier": lambda sk, d: (
        sk.tree.DecisionTreeClassifier(random_state=0)
        .fit(d.rows, d.classes, d.weights)
        .predict(d.rows)
    ),
    "RandomForestRegressor": lambda sk, d: (
        sk.ensemble.RandomForestRegressor(5, random_state=0).fit(d.rows, d.targets).predict(d.rows)
    ),
    "metrics": lambda sk, d: [
        sk.metrics.f1_score(d.classes, d.classes),
        sk.metrics.roc_auc_score(d.classes, d.targets),
        sk.metrics.mean_squared_error(d.targets, d.weights),
        sk.metrics.silhouette_score(d.rows, d.groups),
    ],
}


def assert_same(ours, theirs):
    """Hold results against each other, through lists and tuples."""
    if isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    else:
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


@pytest.mark.parametrize("readonly", [False, True], ids=["writable", "read-only"])
@pytest.mark.parametrize("call", CALLS)
def test_with_dispatch_off_arrays_are_as_ndarrays(sk, call, readonly):
    """Fitted models and selected rows are identical to the last digit."""
    ours = data(taken(readonly))

    assert_same(CALLS[call](sk, ours), CALLS[call](sk, data()))


def test_rows_that_are_picked_are_arrays(sk):
    """A split returns Arrays, in their own memory."""
    ours = data(taken(readonly=False))
    parts = sk.model_selection.train_test_split(ours.rows, ours.classes, random_state=0)

    assert {type(part) for part in parts} == {ix.Array}
    assert sum(part.shape[0] for part in parts[:2]) == ours.rows.shape[0]
    assert not any(np.shares_memory(np.asarray(part), np.asarray(ours.rows)) for part in parts)
