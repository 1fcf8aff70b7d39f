"""Shows recorded episodes step by step, and stores people's annotations."""
