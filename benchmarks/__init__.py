"""Speed, memory, growth: ratios printed with the hardware they were measured on."""
