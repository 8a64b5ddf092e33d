"""Admission: the chain, and the checks that kube-apiserver has built in."""
