"""Looks at recorded episodes step by step, and takes down what people say of them."""
