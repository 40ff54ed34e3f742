"""Controllers that run inside the bridge: they keep objects of others in order, and write what they find into them."""
