"""Writes digits.txt: handwritten digits of 8 x 8 pixels from scikit-learn, for the examples.

python digits.py > digits.txt
Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak 1998, UCI Machine Learning Repository,
https://doi.org/10.24432/C50P49, CC BY 4.0. The first 1000 of scikit-learn's copy; a line is the digit, a space and
64 pixels from 0 to g (0 to 16).
"""

from sklearn.datasets import load_digits

digits = load_digits()
for image, label in list(zip(digits.data, digits.target))[:1000]:
    print(label, "".join("0123456789abcdefg"[int(pixel)] for pixel in image))
