"""What each data set must be: counts, and hashes where a file was there to compute them from.

The files were checked against the paper's data table; `verifying.graph_sha256` and
`splits_sha256` made the hashes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Expected:
    """Counts and hashes of a data set; None where one is not known for certain."""

    nodes: int
    edges: int
    """With self-loops, each undirected edge once."""
    classes: int
    features: int
    splits: int = 10
    self_loops: int | None = None
    class_sizes: tuple[int, ...] | None = None
    graph_sha256: str | None = None
    splits_sha256: str | None = None


EXPECTED = {
    "texas": Expected(
        nodes=183,
        edges=295,
        classes=5,
        features=1_703,
        self_loops=16,
        class_sizes=(33, 1, 18, 101, 30),
        graph_sha256="4c99ae971f7511211554737d2a692e0b6594a452ac24e343b8779f3b9b3c738c",
        splits_sha256="50767e296ba0948be721803a908a0e004dca86a4c0c50382b5cf47cda7a2e041",
    ),
    "squirrel": Expected(
        nodes=5_201,
        edges=198_493,
        classes=5,
        features=2_089,
        self_loops=140,
        class_sizes=(1_042, 1_040, 1_039, 1_040, 1_040),
        graph_sha256="9be8a3801c70680f44a7fd7cf9005ab65462303cca9eb40347124264e76a0392",
        splits_sha256="b13031628bfb67a1e4232bd29bc1ac2c6c4deb9d95b44ba31d257b28775fe96b",
    ),
    "chameleon": Expected(
        nodes=2_277,
        edges=31_421,
        classes=5,
        features=2_325,
        self_loops=50,
        class_sizes=(456, 460, 453, 521, 387),
        graph_sha256="fe96a69bafe1d19c108e6495a8ba2e4dc309c2c29dd48611084e0de5df9edaed",
        splits_sha256="ea1c65357702205844405c5418ff8fa2b994cf271e2175b9397fc33faf495f08",
    ),
    "citeseer": Expected(
        nodes=3_327,
        edges=4_676,
        classes=6,
        features=3_703,
        self_loops=124,
        class_sizes=(264, 590, 668, 701, 596, 508),
        graph_sha256="926bf998516ed212a21b70d9932a0ab35ca61e51e006ba32ced0df318f03a253",
        splits_sha256="8d289fdcd6486b4fbbce466f0f75d3a77701c914888a891268f56ee1c848eb2f",
    ),
    "pubmed": Expected(
        nodes=19_717,
        edges=44_327,
        classes=3,
        features=500,
        self_loops=3,
        class_sizes=(4_103, 7_739, 7_875),
        graph_sha256="3a88b0fc6a5e5a12d633e3a1ada28c4f77728342ff1698d6d994ba9056bb0e3e",
        splits_sha256="9dcd5b960347d951fbfe8311028c94e823a3e417d37d363be8634c5e4832ec6a",
    ),
    "cora": Expected(
        nodes=2_708,
        edges=5_278,
        classes=7,
        features=1_433,
        self_loops=0,
        class_sizes=(351, 217, 418, 818, 426, 298, 180),
        graph_sha256="0c2ceb5a063deb365d0c9e09284b63e8b03e05eab75a16e2cece8751b01fa27e",
        splits_sha256="aa5ea9241a8914f7c98b0d9c898849bfbbb7b0e5dc404b239bd9138cde560ddf",
    ),
    "wisconsin": Expected(
        nodes=251,
        edges=466,
        classes=5,
        features=1_703,
        self_loops=16,
        class_sizes=(10, 70, 118, 32, 21),
        graph_sha256="465707a27b0d17041e558ad97b120518ffcefb94b87e9e151a2a2d1985f8b1e8",
        splits_sha256="be56dbada30fdfc6ac2ff0ff33253b0d4b26101be34a93a070315c9d737199f9",
    ),
    "actor": Expected(
        nodes=7_600,
        edges=26_752,
        classes=5,
        features=932,
        self_loops=93,
        class_sizes=(853, 1_337, 1_630, 1_815, 1_965),
        graph_sha256="19cb39d11bb498ab833d3d2f3d9aa03ea3e49e8cd831aee52a817cbbeea9ab7d",
        splits_sha256="62020e840f235b3ef454d7a0396e13ce36eb55883b72f1f738279ce7a703caaa",
    ),
    "squirrel_filtered": Expected(
        nodes=2_223,
        edges=46_998,
        classes=5,
        features=2_089,
        self_loops=0,
        class_sizes=(756, 516, 397, 321, 233),
        graph_sha256="610b5d2a272961323e625d584e2d44f5ea199f1712d9d6de01578b9699c420f8",
        splits_sha256="70159e51f06a8fc02328512e2dd4308726eb9c69c68822e3596694ede7cbed44",
    ),
    "chameleon_filtered": Expected(
        nodes=890,
        edges=8_854,
        classes=5,
        features=2_325,
        self_loops=0,
        class_sizes=(242, 134, 209, 164, 141),
        graph_sha256="7ec2f9f4d3d89e1df8f63159615bd6f923d7875344b93088d0fa49787e77a269",
        splits_sha256="1d0abe4521233adc034c185ab4e06ffdf6bcc4253c11a78eb3c15ca28513c3b6",
    ),
    # Documented counts only: PyG's WebKB and the edges of geom-gcn; the README of yandex-research.
    "cornell": Expected(nodes=183, edges=280, classes=5, features=1_703, self_loops=3),
    "roman_empire": Expected(nodes=22_662, edges=32_927, classes=18, features=300),
    "amazon_ratings": Expected(nodes=24_492, edges=93_050, classes=5, features=300),
    "minesweeper": Expected(nodes=10_000, edges=39_402, classes=2, features=7),
    "tolokers": Expected(nodes=11_758, edges=519_000, classes=2, features=10),
    "questions": Expected(nodes=48_921, edges=153_540, classes=2, features=301),
}
