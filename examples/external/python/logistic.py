#!/usr/bin/env python3
"""A party's program: Bayesian logistic regression in NumPy (docs/own-model.md).

Reads a request (.npz) on standard input and writes the answer (.npz) to standard
output. Natural parameters are, for d weights: mean/variance, then -1/(2 variance).
"""
import io
import json
import sys

import numpy as np

# sigma(a) is close to a mixture of eight probits ([MS89] in docs/references.md), so its
# expectation over a Gaussian activation needs no sampling.
WEIGHT = np.array([0.003246343272134, 0.051517477033972, 0.195077912673858, 0.315569823632818,
                   0.274149576158423, 0.131076880695470, 0.027912418727972, 0.001449567805354])
SCALE = np.array([1.365340806296348, 1.059523971016916, 0.830791313765644, 0.650732166639391,
                  0.508135425366489, 0.396313345166341, 0.308904252267995, 0.238212616409306])


def normal_cdf(u):
    """Abramowitz and Stegun 26.2.17, good to 7.5e-8."""
    t = 1 / (1 + 0.2316419 * np.abs(u))
    poly = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-u * u / 2) / np.sqrt(2 * np.pi) * poly
    return np.where(u >= 0, 1 - tail, tail)


def sigmoid_moments(mu, var):
    """E sigma(a) and E sigma'(a) for a ~ N(mu, var)."""
    r = 1 / np.sqrt(1 / SCALE**2 + var[:, None])
    u = mu[:, None] * r
    mean = normal_cdf(u) @ WEIGHT
    slope = (r * np.exp(-u * u / 2) / np.sqrt(2 * np.pi)) @ WEIGHT
    return mean, slope


def optimum(x, y, global_, cavity, steps, rate):
    """A few Adam steps on the local free energy, in (mean, log sd), from global_."""
    d = x.shape[1]
    var = -0.5 / global_[d:]
    theta = np.concatenate([global_[:d] * var, 0.5 * np.log(var)])
    h, precision = cavity[:d], -2 * cavity[d:]
    first, second = np.zeros(2 * d), np.zeros(2 * d)
    for step in range(1, steps + 1):
        mean, var = theta[:d], np.exp(2 * theta[d:])
        p, slope = sigmoid_moments(x @ mean, (x * x) @ var)
        gradient = np.concatenate([x.T @ (y - p) + h - precision * mean,
                                   -var * ((x * x).T @ slope + precision) + 1])
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        theta = theta + rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    mean, var = theta[:d], np.exp(2 * theta[d:])
    return np.concatenate([mean / var, -0.5 / var])


def main():
    request = np.load(io.BytesIO(sys.stdin.buffer.read()))
    header = json.loads(request["header"].tobytes())
    if header["version"] != 1:
        sys.exit("request of version %s, want 1" % header["version"])
    config = header["config"]
    update = np.zeros((header["shards"], header["dim"]))
    for k in range(header["shards"]):
        mine = request["shard"] == k  # a shard's update may come from its own records alone
        update[k] = optimum(request["x"][mine], request["y"][mine], request["global"], request["cavity"][k],
                            config["steps"], config["learning_rate"]) - request["global"]
    answer = json.dumps({"version": 1, "round": header["round"]}).encode()
    out = io.BytesIO()
    np.savez(out, header=np.frombuffer(answer, np.uint8), update=update)
    sys.stdout.buffer.write(out.getvalue())


if __name__ == "__main__":
    main()
