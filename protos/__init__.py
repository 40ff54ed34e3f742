"""The contract between bridge and solver: `.proto` sources and the code generated from them."""
