"""Devices that tasks claim (Kubernetes' dynamic resource allocation): inventory, requests, search, ledger and rule."""
