"""Choir from Python: one file, for scripts and notebooks.

It runs the choir program (the environment variable CHOIR, or choir on the PATH) and returns
what the program prints as JSON. Arrays need NumPy; everything else needs the standard library
alone. Errors are ChoirError, with the program's message, hint and exit code.
"""

import csv
import json
import os
import pathlib
import subprocess
import tempfile
import warnings

try:
    import numpy as np
except ImportError:  # arrays are out of reach; plans, accounting and verification are not
    np = None

__all__ = ["ChoirError", "Model", "account", "demo", "plan_check", "run", "sum_rows", "verify"]

CLASSES = {1: "failed", 2: "connection", 3: "timeout", 4: "bad input", 5: "quorum lost",
           6: "privacy budget refused", 7: "integrity failure"}


class ChoirError(RuntimeError):
    """A failure of the program: code is its exit code, hint its advice or ""."""

    def __init__(self, code, message, hint=""):
        self.code, self.hint = code, hint
        text = f"{message} ({CLASSES.get(code, 'failed')}, exit code {code})"
        super().__init__(text + (f"; {hint}" if hint else ""))


def run(*args, **flags):
    """Runs a verb with --format json and returns its result.

    Flags are keyword arguments: run("account", sigma=2.0, clip=1) is
    choir account --sigma 2.0 --clip 1 --format json. A list repeats its flag, True stands for a
    flag without a value, and None leaves it out.
    """
    line = [os.environ.get("CHOIR", "choir"), *map(str, args)]
    for name, value in {**flags, "format": "json"}.items():
        flag = "--" + name.replace("_", "-")
        for v in value if isinstance(value, (list, tuple)) else [value]:
            if v is True:
                line.append(flag)
            elif v is not None and v is not False:
                line.append(f"{flag}={v}")
    try:
        done = subprocess.run(line, capture_output=True, text=True, encoding="utf-8", check=False)
    except (FileNotFoundError, PermissionError):
        raise ChoirError(4, f"no program {line[0]}", "set CHOIR to its path") from None
    if done.returncode:
        raise _error(done)
    return json.loads(done.stdout)


def _error(done):
    for text in reversed(done.stderr.splitlines()):
        try:
            e = json.loads(text)["error"]
        except (ValueError, KeyError, TypeError):
            continue
        return ChoirError(done.returncode, e["message"], e.get("hint", ""))
    return ChoirError(done.returncode, done.stderr.strip() or "no message")


def sum_rows(rows, computes=3, sigma=None):
    """The secure sum of a matrix, one party a row, as an array."""
    _need_numpy()
    try:
        matrix = np.atleast_2d(np.asarray(rows, dtype=float))
    except (TypeError, ValueError):
        raise ChoirError(4, "rows want numbers, as many in each", "") from None
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "rows.npy")
        np.save(path, matrix)
        result = run("sum", input=path, computes=computes, sigma=sigma)
    return np.array([float(v) for v in result["sum"]])


def account(**flags):
    """Epsilon of a mechanism: account(sigma=28.9, clip=1, relation="replace", steps=15,
    delta=1e-5)["epsilon"]. The flags are those of choir account."""
    return run("account", **flags)


def demo(**flags):
    """A whole session on this machine; the flags are those of choir demo."""
    return run("demo", **flags)


def plan_check(path):
    """The guarantees of a plan that all members have signed."""
    return run("plan", "check", path)


def verify(folder):
    """Verifies a session from its transcript alone; raises ChoirError with code 7 if it fails."""
    return run("verify", folder)


class Model:
    """The model in a session's results, a demonstration's folder, or a model file."""

    def __init__(self, path):
        path = pathlib.Path(path)
        if not path.exists():
            raise ChoirError(4, f"no folder or file {path}", "name the folder with a session's results")
        self.folder = path if path.is_dir() else path.parent
        self.path = path / "model.json" if path.is_dir() else path
        header = self.folder / "model.json"
        if not header.is_file():
            raise ChoirError(4, f"no file {header}", "name the folder with a session's results")
        self.header = json.loads(header.read_text(encoding="utf-8"))
        schema = self.header.get("schema") or {}
        self.features = [c["name"] for c in schema.get("columns", [])]
        self.target = schema.get("target", {}).get("name")
        self.classes = schema.get("target", {}).get("categories")
        self.warnings = self.header.get("warnings", [])  # what the session's public states show to be wrong

    @property
    def weights(self):
        """Mean and standard deviation of the encoded columns' weights: two arrays."""
        _need_numpy()
        return np.array(self.header["mean"]), np.array(self.header["sd"])

    def predict(self, rows):
        """Predictions as a dictionary of arrays: mean (for classes the probability of the second
        one), mean_sd, sd, and remark, which names values that were missing, unknown or clipped. rows
        is a CSV file's path, a list of dictionaries, a dictionary of columns, or a data frame. A row
        without a prediction has NaN."""
        _need_numpy()
        with tempfile.TemporaryDirectory() as folder:
            if isinstance(rows, (str, os.PathLike)):
                path = rows
            else:
                path = pathlib.Path(folder, "rows.csv")
                _write_csv(path, _records(rows))
            made = run("predict", model=self.path, data=path)["rows"]
        keys = ("mean", "mean_sd", "sd")
        out = {k: np.array([float("nan") if r.get("none") else r[k] for r in made]) for k in keys}
        return {**out, "remark": np.array([r.get("remark", "") for r in made])}

    def predict_proba(self, rows):
        """Probabilities of the two classes, an array with two columns."""
        if not self.classes:
            raise ChoirError(4, f"the target {self.target} is a number: use predict")
        p = self.predict(rows)["mean"]
        return np.column_stack([1 - p, p])

    def coefficients(self, level=0.95):
        """The coefficients on the original scale of the columns, with central intervals: a list
        of dictionaries with name, mean, sd, lower, upper and, for classes, odds ratios. The model's
        warnings are issued as Python's."""
        for text in self.warnings:
            warnings.warn(text, stacklevel=2)
        return run("model", "show", self.folder, level=level)["coefficients"]

    def differences(self, level=0.95):
        """The differences of each category's levels from its first one, as coefficients()."""
        return run("model", "show", self.folder, level=level).get("differences", [])


def _need_numpy():
    if np is None:
        raise ChoirError(4, "NumPy is not installed", "pip install numpy")


def _records(rows):
    if hasattr(rows, "to_dict"):  # a data frame
        return rows.to_dict("records")
    if isinstance(rows, dict):
        sizes = {name: len(v) if hasattr(v, "__len__") else 0 for name, v in rows.items()}
        texts = any(isinstance(v, str) for v in rows.values())
        if texts or len(set(sizes.values())) > 1 or 0 in sizes.values():
            raise ChoirError(4, f"columns want lists of one length, these have {sizes}", "a row is [{...}]")
        return [dict(zip(rows, values)) for values in zip(*rows.values())]
    rows = list(rows) if hasattr(rows, "__iter__") else [rows]
    if not all(isinstance(r, dict) for r in rows):
        raise ChoirError(4, "rows without the columns' names", "give dictionaries or a data frame")
    return rows


def _write_csv(path, records):
    if not records:
        raise ChoirError(4, "no rows")
    names = dict.fromkeys(name for r in records for name in r)  # those of all rows, in order
    with open(path, "w", newline="", encoding="utf-8") as f:
        out = csv.DictWriter(f, fieldnames=list(names))
        out.writeheader()
        for r in records:
            # A missing value is an empty cell, whatever the caller's mark for it is.
            out.writerow({k: "" if _missing(v) else v for k, v in r.items()})


def _missing(value):
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither equal to itself nor unequal
        return True
