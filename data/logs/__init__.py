"""Logs of a business, and the cases made of them."""
