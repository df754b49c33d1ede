# A session from Python, as a notebook. Run it cell by cell in an editor that knows "# %%", or as
# a script: python3 example.py FOLDER, where FOLDER is the result of a session.

# %% What a mechanism costs
import sys

import choir

spent = choir.account(sigma=28.9, clip=1, relation="replace", steps=15, delta=1e-5)
print(f"15 releases cost epsilon {spent['epsilon']:.4f} at delta {spent['delta']}")

# %% One secure sum: nobody sees a row
import numpy as np

rows = np.array([[1.5, 2, 3], [4, 5, 6.25]])
print("sum of the rows:", choir.sum_rows(rows))
assert np.allclose(choir.sum_rows(rows), rows.sum(axis=0))

# %% The result of a session: verify it before you use it
folder = sys.argv[1] if len(sys.argv) > 1 else "trial/result"
report = choir.verify(folder)
print("verified plan", report["plan"][:16])

# %% Coefficients on the original scale
model = choir.Model(folder)
for c in model.coefficients(level=0.9):
    print(f"{c['name']:12} {c['mean']:9.4f}  [{c['lower']:.4f}, {c['upper']:.4f}]")

# %% Predict for new rows; None is a missing value
new = [dict.fromkeys(model.features), dict.fromkeys(model.features)]
p = model.predict_proba(new)
print(f"probability of {model.classes[1]}:", p[:, 1])
assert p.shape == (2, 2) and np.allclose(p.sum(axis=1), 1)
