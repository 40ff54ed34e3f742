"""Devices as Koordinator has them: GPUs in parts, RDMA and FPGA devices, and several of them on one PCIe switch."""
