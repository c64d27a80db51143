"""Operations on datasets that are there (W1): each refuses before it touches a blob, changes blobs and `dataset.json`
in an order that a kill leaves readable, and holds the dataset's claim while it writes.
"""
