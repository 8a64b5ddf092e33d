"""The data of the example: small pictures of the ten digits, drawn anew from a seed.

Each picture is a digit of a 5 x 7 font, put somewhere on 10 x 10 pixels, made brighter or darker,
blurred, and covered with noise. Nothing is downloaded and nothing is stored.
"""

import numpy as np

FONT = """
.###. ..#.. .###. .###. ...#. ##### ..##. ##### .###. .###.
#...# .##.. #...# #...# ..##. #.... .#... ....# #...# #...#
#..## ..#.. ....# ....# .#.#. ####. #.... ...#. #...# #...#
#.#.# ..#.. ...#. ..##. #..#. ....# ####. ..#.. .###. .####
##..# ..#.. ..#.. ....# ##### ....# #...# .#... #...# ....#
#...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ...#.
.###. .###. ##### .###. ...#. .###. .###. .#... .###. .##..
"""
SIDE = 10
CLASSES = 10
NOISE = 0.25


def glyphs():
    """The font as an array of 10 digits x 7 rows x 5 columns, 0 or 1."""
    rows = [row.split() for row in FONT.split("\n") if row]
    drawn = [[[float(dot == "#") for dot in row[digit]] for row in rows] for digit in range(CLASSES)]
    return np.array(drawn)


def pictures(count, seed):
    """`count` pictures as rows of 100 numbers, and the digit that each shows."""
    random = np.random.default_rng(seed)
    shapes = glyphs()
    height, width = shapes.shape[1:]
    labels = random.integers(0, CLASSES, count)
    images = np.zeros((count, SIDE, SIDE))
    tops = random.integers(0, SIDE - height + 1, count)
    lefts = random.integers(0, SIDE - width + 1, count)
    for image, label, top, left in zip(images, labels, tops, lefts):
        image[top : top + height, left : left + width] = shapes[label]
    images[:, :, 1:] += 0.4 * images[:, :, :-1]
    images[:, 1:, :] += 0.4 * images[:, :-1, :]
    images *= random.uniform(0.6, 1.2, (count, 1, 1))
    images += random.normal(0, NOISE, images.shape)
    return images.reshape(count, SIDE * SIDE), labels


def training_pictures():
    """What the model learns from."""
    return pictures(15_000, seed=1)


def unseen_pictures():
    """What the model is judged by; it never learns from these."""
    return pictures(2000, seed=2)
