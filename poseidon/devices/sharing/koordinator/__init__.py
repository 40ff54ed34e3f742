"""Translates Koordinator's devices: parts of GPUs, RDMA and FPGA devices, and several of these on one PCIe switch."""
