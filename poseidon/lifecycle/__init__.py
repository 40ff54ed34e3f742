"""The way of a pod through the bridge, from first seen to bound and gone; without input or output."""
