"""Parts of GPUs as other projects have them: their inventories, requests and annotations as slices and claims."""
