"""What the paper leaves open about its ablations, and our choice; their cards say it."""

RULE = (
    "The paper does not state the weight. Ours (`strength`) is that of the loss's own paper, divided by the classes "
    "seen: there it stands beside a loss summed over outputs, here beside a mean over them."
)

LEFT_OPEN: dict[str, tuple[str, ...]] = {
    "fgp-ce": (
        "The learning rate and λ stay FGP's: the paper names no others. This loss is not a mean over classes, so the "
        "graph is lighter beside it; `strength` is λ.",
    ),
    "fgp-dist-bce": (f"{RULE} Of iCaRL, 1.",),
    "fgp-dist-kl": (f"{RULE} Of End-to-End, 1.", "Temperature 2: the paper states none."),
    "fgp-dist-lucir": (
        f"{RULE} Of Hou19, 5·√(old/new).",
        "The old rows are not frozen: only the distillation loss changes.",
    ),
    "fgp-dist-bce-weighted": (
        "Edges are p = exp(−d/2), at most 1 − 1e-6, as only the discrepancy changes; λ stays FGP's.",
    ),
    "norm-icarl": ("η returns to 1 in every phase, as in FGP: the paper does not say.",),
}
