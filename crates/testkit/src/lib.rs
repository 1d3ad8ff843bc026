//! Brute-force oracles, history generators and the corpus, for tests only.
