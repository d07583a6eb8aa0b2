"""What the paper leaves open about its ablations, and our choice; their cards say it."""

LEFT_OPEN: dict[str, tuple[str, ...]] = {
    "fgp-ce": ("The learning rate stays FGP's: the paper names no other.",),
    "fgp-dist-bce": ("Divided by the classes seen, as the loss beside it; weight 1: the paper states neither.",),
    "fgp-dist-kl": ("Temperature 2, mean over the batch, weight 1: the paper states none of them.",),
    "fgp-dist-lucir": (
        "λ is 5/seen · √(old/new): Hou19's 5 belongs to a summed loss and would swamp an averaged one.",
        "The old rows are not frozen: only the distillation loss changes.",
    ),
    "fgp-dist-bce-weighted": (
        "Edges are p = exp(−d/2), at most 1 − 1e-6, as only the discrepancy changes; λ stays FGP's.",
    ),
    "norm-icarl": ("η returns to 1 in every phase, as in FGP: the paper does not say.",),
}
