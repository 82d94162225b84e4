//! The pure heart of callgate: policy model, identity, detectors, budgets, task state, decisions.
