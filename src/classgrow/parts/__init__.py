"""The mathematics of one batch: heads, losses, scales, selections, rules. A part knows no epoch, device or file."""
